"""Write a shipment in the carrier's form.

This covers the quote's query, and the bodies of quotes and bookings.
"""

import json
from decimal import ROUND_CEILING, Decimal
from typing import Any

from shipping_portal.carrier.contract import ADDRESS, PARTS, Contract
from shipping_portal.carrier.messages import Item, Measures, Party, Shipment
from shipping_portal.carrier.values import load_json, read_text, value_at

Body = dict[str, Any]  # a request's JSON

QUERIED = ("suburb", "postcode", "country", "line1", "line2")
KILOGRAMS = {
    "kg": Decimal(1),
    "g": Decimal("0.001"),
    "lb": Decimal("0.45359237"),
    "oz": Decimal("0.028349523125"),
}
CENTIMETRES = {"cm": Decimal(1), "in": Decimal("2.54")}
# Parcels to and from these states are domestic, but the post office needs a customs form for them:
# military posts, and the Pacific unless a parcel stays in one territory. The Caribbean needs none.
MILITARY, PACIFIC = {"AA", "AE", "AP"}, {"AS", "FM", "GU", "MH", "MP", "PW"}


def needs_contents_quote(shipment: Shipment, contract: Contract) -> bool:
    """Return whether the quote must be a POST, as it always is with contents.

    Across a border or with Extra Cover but without contents, it depends on the contract.
    """
    abroad = contract.post_quote_abroad and shipment.sender.country != shipment.receiver.country
    covered = contract.post_quote_with_cover and shipment.cover is not None
    return contract.post_quote or abroad or covered or bool(shipment.contents)


def quote_query(shipment: Shipment, contract: Contract, partner_id: str) -> dict[str, str]:
    """Return the query of GET quote, without blank values."""
    measures = _write_measures(shipment.measures, contract, "query_")
    values = {
        f"query_{side}_{part}": str(getattr(party, part))
        for side, party in (("sender", shipment.sender), ("receiver", shipment.receiver))
        for part in QUERIED
    }
    values |= {f"query_{name}": _write_digits(value) for name, value in measures.items()}
    values["query_packaging"] = contract.packaging_word
    values["partner_query"] = partner_id
    return {
        getattr(contract, name): value
        for name, value in values.items()
        if getattr(contract, name) and value
    }


def quote_body(shipment: Shipment, contract: Contract) -> bytes:
    """Return the body of POST quote.

    It has addresses, measures, contents and cover, but nothing about people.
    """
    body: Body = {}
    _put_parties(body, contract, shipment, ADDRESS)
    _put_parcel(body, contract, shipment)
    return write_bytes(body)


def booking_body(shipment: Shipment, contract: Contract, partner_id: str) -> bytes:
    """Return a booking's body. The same shipment always gives the same bytes, in this order."""
    body: Body = {}
    _put_parties(body, contract, shipment, PARTS)
    set_path(body, contract.description, shipment.description)
    _put_parcel(body, contract, shipment)
    set_path(body, contract.product_code, shipment.product_code)
    if shipment.pickup_date and not contract.ends_with(shipment.product_code, "dropoff_suffix"):
        set_path(body, contract.pickup_date, shipment.pickup_date.isoformat())
    set_path(body, contract.customer_reference, shipment.customer_reference)
    set_path(body, contract.partner_field, partner_id)
    set_path(body, contract.order_key, shipment.order_key)
    return write_bytes(body)


def _put_parties(
    body: Body, contract: Contract, shipment: Shipment, parts: tuple[str, ...]
) -> None:
    for side, party in (("sender", shipment.sender), ("receiver", shipment.receiver)):
        for part in parts:
            set_path(body, getattr(contract, f"{side}_{part}"), getattr(party, part))


def _put_parcel(body: Body, contract: Contract, shipment: Shipment) -> None:
    for name, value in _write_measures(shipment.measures, contract, "").items():
        set_path(body, getattr(contract, name), _write_number(value, contract))
    set_path(body, contract.packaging, contract.packaging_word)
    if shipment.cover is not None:
        as_text = contract.cover_number == "string"
        set_path(
            body,
            contract.cover_amount,
            _write_digits(shipment.cover) if as_text else _json_number(shipment.cover),
        )
    set_path(body, contract.contents, [_item_row(item, contract) for item in shipment.contents])
    set_path(body, contract.contents_type, shipment.contents_type)


def _item_row(item: Item, contract: Contract) -> Body:
    row: Body = {}
    set_path(row, contract.item_description, item.description)
    set_path(row, contract.item_value, _write_number(item.value, contract))
    set_path(row, contract.item_quantity, item.quantity)
    set_path(row, contract.item_origin, item.origin)
    set_path(row, contract.item_hs_code, item.hs_code)
    return row


def needs_customs(start: Party, end: Party) -> bool:
    """Return whether customs, or the US post office, ask what is in a parcel."""
    if start.country != end.country:
        return True
    states = {start.state, end.state} if start.country == "US" else set[str]()
    return bool(states & MILITARY) or (len(states) > 1 and bool(states & PACIFIC))


def set_path(body: Body, path: str, value: Any) -> None:
    """Set a value at a dotted path, unless it is blank or the contract turns the path off."""
    if not path or value in ("", None, []):
        return
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value


def _write_measures(
    measures: Measures, contract: Contract, prefix: str
) -> dict[str, Decimal | str]:
    """Return weight and sizes with units, converted to metric and rounded up if necessary.

    It is necessary if the contract says so, or if no unit is sent: then the carrier assumes
    kilograms and centimetres.
    """
    weight, units, sizes = measures.weight, measures.weight_units, measures.dimension_units
    scale, is_metric = Decimal(1), contract.units == "metric"
    if is_metric or not getattr(contract, f"{prefix}weight_units"):
        weight = _round_up(weight * KILOGRAMS[units], "0.001") if units != "kg" else weight
        units = "kg"
    if is_metric or not getattr(contract, f"{prefix}dimension_units"):
        scale, sizes = CENTIMETRES[sizes], "cm"
    length, width, height = (
        _round_up(side * scale, "0.1") if scale != 1 else side
        for side in (measures.length, measures.width, measures.height)
    )
    return {
        "weight": weight,
        "weight_units": units,
        "length": length,
        "width": width,
        "height": height,
        "dimension_units": sizes,
    }


def _round_up(value: Decimal, step: str) -> Decimal:
    """Round up, so that a converted parcel is never declared smaller than it is."""
    return value.quantize(Decimal(step), ROUND_CEILING)


def _write_digits(value: Decimal | str) -> str:
    return format(value, "f") if isinstance(value, Decimal) else value


def _write_number(value: Decimal | str, contract: Contract) -> str | int | float:
    numeric = isinstance(value, Decimal) and contract.numbers == "number"
    return _json_number(Decimal(value)) if numeric else _write_digits(value)


def _json_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def write_bytes(body: Body) -> bytes:
    """Encode as ASCII JSON, so that the stored bytes are what is sent."""
    return json.dumps(body, separators=(",", ":")).encode("ascii")


def write_party(party: Party, names: dict[str, str]) -> dict[str, str]:
    """Return a party's filled parts under another carrier's names."""
    return {theirs: value for theirs, ours in names.items() if (value := getattr(party, ours))}


def order_key_of(body: bytes, contract: Contract) -> str:
    """Return our key from a booking body we are about to send, to compare with the reply."""
    return read_text(value_at(load_json(body, strict=False), contract.order_key), 200)
