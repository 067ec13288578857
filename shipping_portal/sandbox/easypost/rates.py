"""Price a shipment: a base plus an amount per ounce, by service and country."""

import secrets
from decimal import Decimal
from typing import Any, NamedTuple

CENT = Decimal("0.01")
CUSTOMS_AT_HOME = ("AA", "AE", "AP", "AS", "GU", "MP")
COMPLETE = ("street1", "city", "zip", "country")


class Service(NamedTuple):
    """A carrier's service. ``billing`` says who bills it: EasyPost, or the carrier itself."""

    carrier: str
    name: str
    base: str
    an_ounce: str
    days: int | None
    currency: str = "USD"
    billing: str = "easypost"


AT_HOME = {
    "US": [
        Service("USPS", "GroundAdvantage", "5.40", "0.045", 4),
        Service("USPS", "Priority", "8.15", "0.062", 2),
        Service("USPS", "Express", "29.30", "0.110", 1),
    ],
    "AU": [
        Service("AustraliaPost", "ParcelPost", "9.20", "0.030", 5, "AUD", "carrier"),
        Service("AustraliaPost", "ExpressPost", "12.60", "0.048", 2, "AUD", "carrier"),
    ],
    "CA": [
        Service("CanadaPost", "RegularParcel", "11.75", "0.041", 6, "CAD", "carrier"),
        Service("CanadaPost", "Xpresspost", "16.90", "0.066", 2, "CAD", "carrier"),
    ],
}
ABROAD = {
    "US": [
        Service("USPS", "FirstClassPackageInternationalService", "15.20", "0.210", None),
        Service("USPS", "PriorityMailInternational", "38.45", "0.260", 8),
    ],
    "AU": [
        Service("AustraliaPost", "InternationalStandard", "24.10", "0.190", 12, "AUD", "carrier")
    ],
    "CA": [
        Service("CanadaPost", "SmallPacketInternationalAir", "13.60", "0.220", 10, "CAD", "carrier")
    ],
}


def rates_for(
    body: dict[str, Any], shipment_id: str, mode: str, now: str, change: Decimal
) -> list[dict[str, Any]]:
    """Return a shipment's rates with new ids, or none if the shipment is incomplete."""
    sender, receiver = (_object(body, name) for name in ("from_address", "to_address"))
    weight = _object(body, "parcel").get("weight")
    is_whole = all(address.get(name) for address in (sender, receiver) for name in COMPLETE)
    if not is_whole or not isinstance(weight, int | float) or lacks_customs(body):
        return []
    table = AT_HOME if sender["country"] == receiver["country"] else ABROAD
    ounces = Decimal(str(weight))
    return [
        _rate(service, ounces, shipment_id, mode, now, change)
        for service in table.get(str(sender["country"]), [])
    ]


def lacks_customs(body: dict[str, Any]) -> bool:
    """Return whether the shipment crosses a border without a list of its contents."""
    countries = {_object(body, name).get("country") for name in ("from_address", "to_address")}
    return len(countries) > 1 and not _object(body, "customs_info").get("customs_items")


def lacks_customs_at_home(body: dict[str, Any]) -> bool:
    """Return whether a parcel to or from a US military post or the Pacific lacks contents."""
    states = {_object(body, name).get("state") for name in ("from_address", "to_address")}
    is_asked = len(states) > 1 and any(state in CUSTOMS_AT_HOME for state in states)
    return is_asked and not _object(body, "customs_info").get("customs_items")


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _rate(
    service: Service, ounces: Decimal, shipment_id: str, mode: str, now: str, change: Decimal
) -> dict[str, Any]:
    amount = (Decimal(service.base) + Decimal(service.an_ounce) * ounces + change).quantize(CENT)
    return {
        "id": f"rate_{secrets.token_hex(16)}",
        "object": "Rate",
        "created_at": now,
        "updated_at": now,
        "mode": mode,
        "service": service.name,
        "carrier": service.carrier,
        "rate": str(amount),
        "currency": service.currency,
        "retail_rate": None,
        "retail_currency": None,
        "list_rate": str(amount),
        "list_currency": service.currency,
        "billing_type": service.billing,
        "delivery_days": service.days,
        "delivery_date": None,
        "delivery_date_guaranteed": False,
        "est_delivery_days": service.days,
        "shipment_id": shipment_id,
        "carrier_account_id": f"ca_sandbox_{service.carrier.lower()}",
    }
