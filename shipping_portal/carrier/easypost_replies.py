"""Read EasyPost's replies: rates, shipments, refunds, trackers, and errors by field."""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from shipping_portal.carrier import easypost_writing, reading
from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.easypost_points import DETAILS, LABEL_SIZES
from shipping_portal.carrier.easypost_writing import PERSON, PLACE
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import (
    Booked,
    Cancelled,
    LabelLink,
    Prepared,
    Product,
    Quoted,
    Scan,
    Shipment,
    Tracked,
)
from shipping_portal.carrier.outcomes import outcome_of, read_successful, unknown_outcome
from shipping_portal.carrier.scrubbing import scrub_body, scrub_value, without_signed
from shipping_portal.carrier.values import (
    ORDER_ID,
    match_text,
    normalise_word,
    read_day,
    read_number,
    read_price,
    read_text,
    value_at,
    weekdays_after,
)

EXISTS = "SHIPMENT.POSTAGE.EXISTS"
# Error codes after which a purchase's outcome is unknown, whatever the status.
UNCLEAR = {
    "SHIPMENT.PURCHASE.IN_PROGRESS",
    "SHIPMENT.POSTAGE.TIMED_OUT",
    "SHIPMENT.POSTAGE.NO_RESPONSE",
}
# What a refund's status means for a cancellation. This is decided only here.
REFUNDS = {
    "refunded": "cancelled",
    "submitted": "asked",
    "rejected": "refused",
    "not_applicable": "refused",
}
SIDES = {"from_address": "sender", "to_address": "receiver"}
FIELDS = PLACE | PERSON | {"address": "line1", "from_address": "line1", "to_address": "line1"}
MEASURES = {"weight": "weight", "length": "length", "width": "width", "height": "height"}
OTHERS = MEASURES | {
    "insurance": "cover",
    "contents_type": "contents_type",
    "customs_items": "contents",
}
ITEM = {
    "description": "description",
    "value": "value",
    "quantity": "quantity",
    "origin_country": "origin",
}
ITEM |= {"hs_tariff_number": "hs_code", "weight": "quantity"}
SCANS = uuid.UUID("b4a0f0b6-6a4e-5f0c-9a57-2f0b3c6f6d11")  # the namespace of our scan ids
MOST_SENTENCES = 5
NO_TRACKER: dict[str, Any] = {"tracking_details": []}


def _read_error(reply: Reply, document: Any, contract: Contract) -> CarrierError:
    """Return a reply's error, with its messages under our field names."""
    error = outcome_of(reply, contract)
    code = read_text(value_at(document, "error.code"), 100)
    if code in UNCLEAR:
        return unknown_outcome(reply, contract, f"the purchase has no clear end: {code}")
    if not isinstance(error, Rejected) and code != EXISTS:
        return error
    found: dict[str, list[str]] = {}
    errors = value_at(document, "error.errors")
    rows = errors.items() if isinstance(errors, dict) else map(_about_field, _as_list(errors))
    for field, words in rows:
        for text in _sentences(words):
            found.setdefault(_our_field(read_text(field, 100)), []).append(text)
    text = "; ".join(_sentences(value_at(document, "error.message")))
    if isinstance(error, Rejected) and not found and not text:
        return error
    return Rejected(reply.status, code, text, found, scrub_body(reply.body, contract))


_read_document = partial(read_successful, kind=dict, read_error=_read_error)


def _about_field(row: Any) -> tuple[Any, Any]:
    """Return a field and its text from {"field": …, "message": …}, {field: text}, or just text."""
    if not isinstance(row, dict):
        return "", row
    return (
        (row.get("field"), row.get("message"))
        if "message" in row
        else next(iter(row.items()), ("", ""))
    )


def _our_field(path: str) -> str:
    """Return our name for a field, or the carrier's name if we have none.

    An address that isn't said to be either side's is the receiver's: the sender's was accepted
    before.
    """
    steps = re.findall(r"[a-z_]+\d?|\d+", path.lower())
    leaf = steps[-1] if steps else ""
    if "customs_items" in steps[:-1] and leaf in ITEM:
        row = next((f"{int(step) + 1}_" for step in steps if step.isdecimal()), "")
        return f"item_{row}{ITEM[leaf]}"
    if leaf in FIELDS:
        side = next((SIDES[step] for step in steps if step in SIDES), "receiver")
        return f"{side}_{FIELDS[leaf]}"
    return OTHERS.get(leaf, path)


def _sentences(words: Any) -> Iterator[str]:
    """Return the texts in a message, which may be a list or an object of them."""
    if isinstance(words, str) and (text := without_signed(read_text(words))):
        yield text
    for member in words.values() if isinstance(words, dict) else _as_list(words):
        yield from _sentences(member)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def read_rates(reply: Reply, contract: Contract, *, today: date) -> Quoted:
    document = _read_document(reply, contract)
    found: dict[str, Product] = {}
    unreadable = []
    for row in _as_list(document.get("rates")):
        product = _read_rate(row, contract, today)
        if product is None:
            unreadable.append(f"rate {read_text(repr(row), 40)}")
        # Several accounts of one carrier may offer the same service.
        elif product.code not in found or product.price.amount < found[product.code].price.amount:
            found[product.code] = product
    if not found and not unreadable:
        _raise_why_none(document)
    return Quoted(
        tuple(found.values())[: reading.MOST_PRODUCTS], tuple(unreadable[: reading.MOST_UNREADABLE])
    )


def _raise_why_none(document: dict[str, Any]) -> None:
    rows = [row for row in _as_list(document.get("messages")) if isinstance(row, dict)]
    why = dict.fromkeys(
        f"{read_text(row.get('carrier'), 60)}: {text}"
        for row in rows
        for text in _sentences(row.get("message"))
    )
    if why:
        raise Rejected(0, "no_rates", "; ".join(why), {"": list(why)[:MOST_SENTENCES]})


def _read_rate(row: Any, contract: Contract, today: date) -> Product | None:
    """Return a rate as a product.

    A rate's id is new each time, so its code is the carrier and service.
    """
    carrier, service = (read_text(value_at(row, name), 60) for name in ("carrier", "service"))
    price = read_price(value_at(row, "rate"), value_at(row, "currency"))
    if not carrier or not service or price is None or not match_text(ORDER_ID, row.get("id")):
        return None
    days = read_number(row.get("delivery_days"))
    expected = read_day(row.get("delivery_date"))
    if expected is None and days is not None and 0 <= days <= 365:
        expected = weekdays_after(today, int(days))
    return Product(
        code=re.sub(r"[^A-Za-z0-9_.:-]+", "-", f"{carrier}:{service}"),
        name=f"{carrier} {re.sub('(?<=[a-z])(?=[A-Z])|_', ' ', service)}",
        first_mile="drop-off",
        service=service,
        price=price,
        breakdown=(),
        taxes=(),
        plan="",
        eta_from=expected,
        eta_to=expected,
        send_date=None,
        duties_paid=False,
        cover_price=None,
        raw=scrub_value(row, contract),
    )


def read_prepared(reply: Reply, contract: Contract, *, shipment: Shipment) -> Prepared:
    rates = read_rates(reply, contract, today=datetime.now(UTC).date())
    order_id = match_text(ORDER_ID, _read_document(reply, contract).get("id"))
    if not order_id:
        raise unknown_outcome(reply, contract, "the reply names no shipment")
    chosen = next(
        (product for product in rates.products if product.code == shipment.product_code), None
    )
    if chosen is None:
        text = "is not offered for this parcel any more"
        raise Rejected(0, "no_rate", text, {"product_code": [text]})
    return Prepared(
        easypost_writing.purchase_body(shipment, order_id, chosen.raw["id"]), chosen.price
    )


def read_viewed(reply: Reply, contract: Contract, *, order_id: str) -> Booked:
    document = _read_document(reply, contract)
    viewed = reading.read_viewed(reply, contract, order_id=order_id)
    label = document.get("postage_label")
    is_pdf = value_at(label, "label_file_type") == "application/pdf"
    url = value_at(label, "label_pdf_url") or (is_pdf and value_at(label, "label_url"))
    fees = [row for row in _as_list(document.get("fees")) if isinstance(row, dict)]
    amounts = [
        (read_text(row.get("type"), 100), read_price(row.get("amount"), "USD")) for row in fees
    ]
    return replace(
        viewed,
        labels=(LabelLink("pdf", LABEL_SIZES[0], url),) if isinstance(url, str) and url else (),
        breakdown=tuple(
            (name, price) for name, price in amounts if name and price and price.amount
        ),
    )


def read_bought(reply: Reply, contract: Contract, *, order_id: str) -> Booked:
    viewed = read_viewed(reply, contract, order_id=order_id)
    reading.read_booked(reply, contract)  # a person should look at one that has been refunded
    if not reply.document.get("postage_label"):
        raise unknown_outcome(
            reply, contract, "the shipment has no label yet", reference=viewed.reference
        )
    return viewed


def read_found(reply: Reply, contract: Contract, *, order_id: str) -> Booked | None:
    if not _read_document(reply, contract).get("postage_label"):
        return None
    return read_bought(reply, contract, order_id=order_id)


def read_refund(reply: Reply, contract: Contract, *, order_id: str) -> Cancelled:
    document = _read_document(reply, contract)
    if document.get("id") != order_id:
        raise unknown_outcome(reply, contract, "the reply is about another order", conflict=True)
    status = normalise_word(document.get("refund_status"))
    body = scrub_body(reply.body, contract)
    meaning = REFUNDS.get(status)
    if meaning in ("cancelled", "asked"):
        return Cancelled(status, "", reply.status, body, is_asked=meaning == "asked")
    if meaning == "refused":
        text = f"The refund is {status.replace('_', ' ')}."
        raise Rejected(reply.status, status, text, {"": [text]}, body)
    raise unknown_outcome(reply, contract, "the reply names no refund we know")


def read_trackers(reply: Reply, contract: Contract, *, reference: str) -> Tracked:
    rows = _read_document(reply, contract).get("trackers")
    if not isinstance(rows, list):
        raise unknown_outcome(reply, contract, "the reply has no list of trackers")
    ours = [
        row
        for row in rows
        if read_text(value_at(row, "tracking_code")).upper() == reference.upper()
    ]
    # Carriers reuse their numbers after some years, so the newest is ours.
    newest = max(ours, key=lambda row: read_text(row.get("created_at")), default=NO_TRACKER)
    one = replace(reply, body=json.dumps(newest).encode())
    tracked = reading.read_tracked(one, contract, reference=reference, must_list=True)
    scans = tuple(_identify_scan(scan, reference) for scan in tracked.scans)
    return replace(tracked, state=read_text(newest.get("status"), 100), scans=scans)


def _identify_scan(scan: Scan, reference: str) -> Scan:
    """Return a scan with an id made from its content, because each reply repeats the history."""
    detail = normalise_word(scan.raw.get("status_detail"))
    kind = detail if detail in DETAILS else scan.event_type
    place = (scan.suburb, scan.state, scan.postcode, scan.country)
    facts = json.dumps(
        [reference.upper(), scan.scan_time.isoformat(), kind, scan.description, *place]
    )
    return replace(
        scan, reference=reference, event_type=kind, event_id=str(uuid.uuid5(SCANS, facts))
    )
