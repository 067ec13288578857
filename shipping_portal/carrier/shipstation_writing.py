"""Write a shipment in the ShipStation API's form: estimates, rates and purchases."""

import uuid
from datetime import datetime

from shipping_portal.carrier.messages import Measures, Shipment
from shipping_portal.carrier.writing import Body, needs_customs, write_bytes, write_party

PLACE = {
    "city_locality": "suburb",
    "state_province": "state",
    "postal_code": "postcode",
    "country_code": "country",
}
PERSON = {
    "name": "name",
    "company_name": "company",
    "phone": "phone",
    "email": "email",
    "address_line1": "line1",
    "address_line2": "line2",
}
UNITS = {"kg": "kilogram", "g": "gram", "lb": "pound", "oz": "ounce", "cm": "centimeter"}
UNITS |= {"in": "inch"}
CURRENCIES = {"AU": "aud", "CA": "cad", "GB": "gbp", "US": "usd"}


def new_external_id(shipment: Shipment) -> str:
    """Return our order's key with a unique ending, at most 50 characters.

    An external id is accepted only once, even for a shipment that is never bought.
    """
    return f"{shipment.order_key}.{uuid.uuid4().hex[:8]}"


def estimate_body(shipment: Shipment, carrier_ids: list[str], now: datetime) -> bytes:
    """Return the body that asks for estimates: places and measures, but nothing about people."""
    sides = {"from": shipment.sender, "to": shipment.receiver}
    places = {
        f"{side}_{name}": value
        for side, party in sides.items()
        for name, value in write_party(party, PLACE).items()
    }
    written = {"carrier_ids": carrier_ids, "ship_date": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    return write_bytes(written | places | _write_measures(shipment.measures))


def rates_body(shipment: Shipment, carrier_ids: list[str], external_id: str) -> bytes:
    """Return the body that makes a shipment and asks for its rates."""
    package: Body = {"package_code": "package", **_write_measures(shipment.measures)}
    written: Body = {
        "external_shipment_id": external_id,
        "validate_address": "no_validation",
        "ship_from": write_party(shipment.sender, PLACE | PERSON),
        "ship_to": write_party(
            shipment.receiver, PLACE | PERSON | {"instructions": "instructions"}
        ),
        "packages": [package],
    }
    currency = CURRENCIES.get(shipment.sender.country, "usd")
    if shipment.is_return and shipment.sender.country == shipment.receiver.country:
        written["is_return"] = True  # it sells return labels within one country
    if shipment.customer_reference:
        package["label_messages"] = {"reference1": shipment.customer_reference}
    if shipment.cover is not None:
        written["insurance_provider"] = "shipsurance"
        package["insured_value"] = {"currency": currency, "amount": float(shipment.cover)}
    if shipment.contents and needs_customs(shipment.sender, shipment.receiver):
        written["customs"] = _write_customs(shipment)
        package["products"] = _write_products(shipment, currency)
    options = {"carrier_ids": carrier_ids, "package_types": ["package"]}
    return write_bytes({"shipment": written, "rate_options": options})


def purchase_body(rate_id: str, external_id: str) -> bytes:
    """Return the exact bytes of the purchase. Separate fields say which shipment it is."""
    label = {"label_format": "pdf", "label_layout": "4x6", "label_download_type": "url"}
    return write_bytes(label | {"custom_field1": external_id, "custom_field2": rate_id})


def _write_measures(measures: Measures) -> Body:
    sides = {name: float(getattr(measures, name)) for name in ("length", "width", "height")}
    return {
        "weight": {"value": float(measures.weight), "unit": UNITS[measures.weight_units]},
        "dimensions": {"unit": UNITS[measures.dimension_units], **sides},
    }


def _write_customs(shipment: Shipment) -> dict[str, str]:
    kind = shipment.contents_type.lower().replace(" ", "_") or "merchandise"
    explained = {"contents_explanation": shipment.description} if shipment.description else {}
    return {"contents": kind, "non_delivery": "return_to_sender", **explained}


def _write_products(shipment: Shipment, currency: str) -> list[Body]:
    """Return the contents, each with the value of one piece."""
    return [
        {
            "description": item.description[:100],
            "quantity": item.quantity,
            "value": {"currency": currency, "amount": float(item.value)},
            **({"country_of_origin": item.origin} if item.origin else {}),
            **({"harmonized_tariff_code": item.hs_code} if item.hs_code else {}),
        }
        for item in shipment.contents
    ]
