"""Write a shipment in EasyPost's form: addresses, the parcel in ounces and inches, and customs."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from shipping_portal.carrier.messages import Measures, Shipment
from shipping_portal.carrier.writing import (
    CENTIMETRES,
    KILOGRAMS,
    Body,
    needs_customs,
    write_bytes,
    write_party,
)

PLACE = {
    "street1": "line1",
    "street2": "line2",
    "city": "suburb",
    "state": "state",
    "zip": "postcode",
    "country": "country",
}
PERSON = {"name": "name", "company": "company", "phone": "phone", "email": "email"}
CURRENCIES = {"AU": "AUD", "CA": "CAD", "US": "USD"}
# The exemption from an export filing: to Canada, or up to 2,500 US dollars to elsewhere.
NO_FILING, NO_FILING_TO_CANADA, MOST_WITHOUT_FILING = "NOEEI 30.37(a)", "NOEEI 30.36", Decimal(2500)


def quote_body(shipment: Shipment) -> bytes:
    """Return the body that asks for rates. It contains nothing about people."""
    return _shipment_body(shipment, PLACE)


def shipment_body(shipment: Shipment) -> bytes:
    """Return the body of the shipment that will be bought, under our order's key."""
    options = {
        "print_custom_1": shipment.customer_reference,
        "handling_instructions": shipment.receiver.instructions,
    }
    return _shipment_body(shipment, PLACE | PERSON, options, signer=shipment.sender.name)


def purchase_body(shipment: Shipment, order_id: str, rate_id: str) -> bytes:
    """Return the exact bytes of the purchase. A rate belongs to a shipment, so both are stored."""
    body: Body = {"rate": {"id": rate_id, "shipment_id": order_id}}
    if shipment.cover is not None:
        body["insurance"] = f"{shipment.cover:.2f}"
    return write_bytes(body)


def _shipment_body(
    shipment: Shipment,
    names: dict[str, str],
    options: dict[str, str] | None = None,
    *,
    signer: str = "",
) -> bytes:
    parcel = _write_parcel(shipment.measures)
    # EasyPost swaps a return's addresses itself, so it gets those of the outward trip.
    ends = (shipment.sender, shipment.receiver)
    start, end = reversed(ends) if shipment.is_return else ends
    written = {
        "from_address": write_party(start, names),
        "to_address": write_party(end, names),
        "parcel": parcel,
        "options": (
            {"label_format": "PDF"}
            | {name: value for name, value in (options or {}).items() if value}
        ),
    }
    if shipment.is_return:
        written["is_return"] = True
    if signer and shipment.order_key:
        written["reference"] = shipment.order_key
    if shipment.contents and needs_customs(shipment.sender, shipment.receiver):
        written["customs_info"] = _write_customs(shipment, Decimal(str(parcel["weight"])), signer)
    return write_bytes({"shipment": written})


def _write_parcel(measures: Measures) -> dict[str, float]:
    """Return inches and ounces, rounded up, so that no parcel is declared smaller than it is."""
    inches = CENTIMETRES[measures.dimension_units] / CENTIMETRES["in"]
    ounces = KILOGRAMS[measures.weight_units] / KILOGRAMS["oz"]
    sides = {name: getattr(measures, name) * inches for name in ("length", "width", "height")}
    written = {
        name: float(side.quantize(Decimal("0.01"), ROUND_CEILING)) for name, side in sides.items()
    }
    return written | {
        "weight": float((measures.weight * ounces).quantize(Decimal("0.1"), ROUND_CEILING))
    }


def _write_customs(shipment: Shipment, ounces: Decimal, signer: str) -> Body:
    pieces = sum(item.quantity for item in shipment.contents)
    rows = [
        {
            "description": item.description,
            "quantity": item.quantity,
            "value": float(item.value * item.quantity),
            "currency": CURRENCIES.get(shipment.sender.country, "USD"),
            # This is the weight of all pieces. We only know the whole parcel's weight, so each item
            # gets a share.
            "weight": float(
                (ounces * item.quantity / pieces).quantize(Decimal("0.001"), ROUND_FLOOR)
            ),
            "origin_country": item.origin,
            "hs_tariff_number": item.hs_code,
        }
        for item in shipment.contents
    ]
    written = {
        "customs_items": [{name: value for name, value in row.items() if value} for row in rows],
        "contents_type": shipment.contents_type.lower().replace(" ", "_") or "merchandise",
        "contents_explanation": shipment.description,
        "restriction_type": "none",
        "non_delivery_option": "return",
    }
    if shipment.sender.country == "US":
        written |= _write_filing(shipment)
    return written | ({"customs_certify": True, "customs_signer": signer} if signer else {})


def _write_filing(shipment: Shipment) -> dict[str, str]:
    """Return the exemption, if one applies; otherwise the carrier says what it needs."""
    if shipment.receiver.country == "CA":
        return {"eel_pfc": NO_FILING_TO_CANADA}
    worth = sum(item.value * item.quantity for item in shipment.contents)
    return {"eel_pfc": NO_FILING} if worth <= MOST_WITHOUT_FILING else {}
