"""Write a shipment in the carrier's form.

The quote's query, and the bodies of quote and booking.
"""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, Decimal
from typing import Any

from shipping_portal.carrier.contract import ADDRESS, PARTS, Contract
from shipping_portal.carrier.messages import Item, Measures, Party, Shipment
from shipping_portal.carrier.values import at, load_json, text

QUERIED = ("suburb", "postcode", "country", "line1", "line2")
KILOGRAMS = {"kg": Decimal(1), "g": Decimal("0.001"), "lb": Decimal("0.45359237"), "oz": Decimal("0.028349523125")}
CENTIMETRES = {"cm": Decimal(1), "in": Decimal("2.54")}


def needs_contents_quote(shipment: Shipment, contract: Contract) -> bool:
    """Return whether the quote must be POSTed: always with contents.

    Across a border and with Extra Cover as the contract says.
    """
    abroad = contract.post_quote_abroad and shipment.sender.country != shipment.receiver.country
    covered = contract.post_quote_with_cover and shipment.cover is not None
    return abroad or covered or bool(shipment.contents)


def quote_query(shipment: Shipment, contract: Contract, partner_id: str) -> dict[str, str]:
    """Return the query of GET quote, without blank values."""
    measures = _measured(shipment.measures, contract, "query_")
    values = {
        f"query_{side}_{part}": str(getattr(party, part))
        for side, party in (("sender", shipment.sender), ("receiver", shipment.receiver))
        for part in QUERIED
    }
    values |= {f"query_{name}": _digits(value) for name, value in measures.items()}
    values["query_packaging"] = contract.packaging_word
    values["partner_query"] = partner_id
    return {getattr(contract, name): value for name, value in values.items() if getattr(contract, name) and value}


def quote_body(shipment: Shipment, contract: Contract) -> bytes:
    """Return the body of POST quote.

    Addresses, measures, contents and cover, nothing about people.
    """
    body: dict[str, Any] = {}
    for side, party in (("sender", shipment.sender), ("receiver", shipment.receiver)):
        _put_party(body, contract, side, party, ADDRESS)
    _put_parcel(body, contract, shipment)
    return _bytes(body)


def booking_body(shipment: Shipment, contract: Contract, partner_id: str) -> bytes:
    """Return a booking's body. The same shipment always gives the same bytes, in this order."""
    body: dict[str, Any] = {}
    for side, party in (("sender", shipment.sender), ("receiver", shipment.receiver)):
        _put_party(body, contract, side, party, PARTS)
    _put(body, contract.description, shipment.description)
    _put_parcel(body, contract, shipment)
    _put(body, contract.product_code, shipment.product_code)
    if shipment.pickup_date and not contract.ends_with(shipment.product_code, "dropoff_suffix"):
        _put(body, contract.pickup_date, shipment.pickup_date.isoformat())
    _put(body, contract.customer_reference, shipment.customer_reference)
    _put(body, contract.partner_field, partner_id)
    _put(body, contract.order_key, shipment.order_key)
    return _bytes(body)


def _put_party(body: dict[str, Any], contract: Contract, side: str, party: Party, parts: tuple[str, ...]) -> None:
    for part in parts:
        _put(body, getattr(contract, f"{side}_{part}"), getattr(party, part))


def _put_parcel(body: dict[str, Any], contract: Contract, shipment: Shipment) -> None:
    for name, value in _measured(shipment.measures, contract, "").items():
        _put(body, getattr(contract, name), _number(value, contract))
    _put(body, contract.packaging, contract.packaging_word)
    if shipment.cover is not None:
        as_text = contract.cover_number == "string"
        _put(body, contract.cover_amount, _digits(shipment.cover) if as_text else _json_number(shipment.cover))
    _put(body, contract.contents, [_item(item, contract) for item in shipment.contents])
    _put(body, contract.contents_type, shipment.contents_type)


def _item(item: Item, contract: Contract) -> dict[str, Any]:
    row: dict[str, Any] = {}
    _put(row, contract.item_description, item.description)
    _put(row, contract.item_value, _number(item.value, contract))
    _put(row, contract.item_quantity, item.quantity)
    _put(row, contract.item_origin, item.origin)
    _put(row, contract.item_hs_code, item.hs_code)
    return row


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a dotted path, unless it is blank or the contract turned the path off."""
    if not path or value in ("", None, []):
        return
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value


def _measured(measures: Measures, contract: Contract, prefix: str) -> dict[str, Decimal | str]:
    """Return weight and sizes with units, converted to metric and rounded up if the contract says
    so.

    Also converted if no unit is sent: such a carrier assumes kilograms and centimetres.
    """
    weight, units, sizes = measures.weight, measures.weight_units, measures.dimension_units
    scale, is_metric = Decimal(1), contract.units == "metric"
    if is_metric or not getattr(contract, f"{prefix}weight_units"):
        weight = _up(weight * KILOGRAMS[units], "0.001") if units != "kg" else weight
        units = "kg"
    if is_metric or not getattr(contract, f"{prefix}dimension_units"):
        scale, sizes = CENTIMETRES[sizes], "cm"
    length, width, height = (
        _up(side * scale, "0.1") if scale != 1 else side for side in (measures.length, measures.width, measures.height)
    )
    return {
        "weight": weight,
        "weight_units": units,
        "length": length,
        "width": width,
        "height": height,
        "dimension_units": sizes,
    }


def _up(value: Decimal, step: str) -> Decimal:
    """Round up, so that a converted parcel is never declared smaller than it is."""
    return value.quantize(Decimal(step), ROUND_CEILING)


def _digits(value: Decimal | str) -> str:
    return format(value, "f") if isinstance(value, Decimal) else value


def _number(value: Decimal | str, contract: Contract) -> str | int | float:
    numeric = isinstance(value, Decimal) and contract.numbers == "number"
    return _json_number(Decimal(value)) if numeric else _digits(value)


def _json_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _bytes(body: dict[str, Any]) -> bytes:
    """Encode as ASCII JSON, so that the stored bytes are what is sent."""
    return json.dumps(body, separators=(",", ":")).encode("ascii")


def order_key_of(body: bytes, contract: Contract) -> str:
    """Return our key in a booking body we are about to send, to compare with the reply."""
    return text(at(load_json(body, strict=False), contract.order_key), 200)
