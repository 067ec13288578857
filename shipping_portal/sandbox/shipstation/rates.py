"""Price a parcel: a base plus an amount per ounce, by carrier, service and country."""

import secrets
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

OUNCES = {"ounce": 1.0, "pound": 16.0, "gram": 0.035274, "kilogram": 35.274}


class Service(NamedTuple):
    """A carrier's service, for parcels at home or abroad, in one kind of packaging."""

    carrier_id: str
    carrier: str
    code: str
    country: str
    abroad: bool
    base: str
    an_ounce: str
    currency: str
    other: str = "0"
    package: str | None = "package"


SERVICES = (
    Service("se-1001", "usps", "usps_ground_advantage", "US", False, "5.40", "0.045", "usd"),
    Service("se-1001", "usps", "usps_priority_mail", "US", False, "8.15", "0.062", "usd"),
    Service(
        "se-1001",
        *("usps", "usps_priority_mail", "US", False, "4.10", "0", "usd", "0"),
        package="small_flat_rate_box",
    ),
    Service("se-1002", "ups", "ups_ground", "US", False, "7.05", "0.051", "usd", "2.15", None),
    Service("se-1001", "usps", "usps_priority_abroad", "US", True, "38.45", "0.260", "usd"),
    Service("se-1003", "australia_post", "parcel_post", "AU", False, "9.20", "0.030", "aud"),
    Service("se-1003", "australia_post", "parcel_abroad", "AU", True, "24.10", "0.190", "aud"),
)


def rates_for(
    place: tuple[str, str], parcel: dict[str, Any], carrier_ids: list[str], change: float
) -> list[dict[str, Any]]:
    """Return the rates from one country to another, with new ids."""
    weight = parcel["weight"]
    ounces = Decimal(str(weight["value"] * OUNCES[weight["unit"]]))
    return [
        _rate(service, ounces, parcel, Decimal(str(change)))
        for service in SERVICES
        if service.carrier_id in carrier_ids
        and (service.country, service.abroad) == (place[0], place[0] != place[1])
    ]


def _rate(
    service: Service, ounces: Decimal, parcel: dict[str, Any], change: Decimal
) -> dict[str, Any]:
    def money(amount: Decimal | str | float) -> dict[str, Any]:
        return {"currency": service.currency, "amount": round(float(amount), 2)}

    insured = (parcel.get("insured_value") or {}).get("amount", 0)
    return {
        "rate_id": f"se-{secrets.randbelow(10**12)}",
        "rate_type": "shipment",
        "carrier_id": service.carrier_id,
        "shipping_amount": money(
            Decimal(service.base) + Decimal(service.an_ounce) * ounces + change
        ),
        "insurance_amount": money(insured * 0.01),
        "confirmation_amount": money(0),
        "other_amount": money(service.other),
        "zone": None,
        "package_type": service.package,
        "delivery_days": 3,
        "guaranteed_service": False,
        "estimated_delivery_date": f"{datetime.now(UTC).date() + timedelta(days=3)}T00:00:00Z",
        "service_type": _service_name(service),
        "service_code": service.code,
        "trackable": True,
        "carrier_code": service.carrier,
        "carrier_nickname": "Sandbox",
        "carrier_friendly_name": _carrier_name(service),
        "validation_status": "valid",
        "warning_messages": [],
        "error_messages": [],
    }


def _service_name(service: Service) -> str:
    """Return how a carrier writes its service: USPS Ground Advantage."""
    words = service.code.removeprefix(f"{service.carrier}_").replace("_", " ")
    return f"{_carrier_name(service)} {words.title()}"


def _carrier_name(service: Service) -> str:
    is_short = "_" not in service.carrier
    return service.carrier.upper() if is_short else service.carrier.replace("_", " ").title()
