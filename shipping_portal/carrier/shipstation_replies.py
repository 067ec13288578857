"""Read the ShipStation API's replies: rates, labels, voids, histories, and errors by field."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.carrier import messages, reading, shipstation_writing, values
from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, CarrierError, Rejected
from shipping_portal.carrier.outcomes import outcome_of, parse_json, unknown_outcome
from shipping_portal.carrier.scrubbing import scrub_body, scrub_value, without_signed
from shipping_portal.carrier.shipstation_points import DETAILS, STATUSES
from shipping_portal.carrier.shipstation_writing import PERSON, PLACE

RATE_AMOUNTS = ("shipping_amount", "insurance_amount", "confirmation_amount", "other_amount")
LABEL_COSTS = ("shipment_cost", "insurance_cost")
# Another label of the shipment, or the external id, is there already: look, and never send again.
UNCLEAR = {"identifier_conflict", "invalid_status"}
FIELDS = PLACE | PERSON | {"phone_number": "phone", "ship_to": "line1", "ship_from": "line1"}
OTHERS = {name: name for name in ("weight", "length", "width", "height")}
OTHERS |= {"dimensions": "length", "insured_value": "cover", "contents": "contents_type"}
ITEM = {
    "description": "description",
    "value": "value",
    "quantity": "quantity",
    "country_of_origin": "origin",
    "harmonized_tariff_code": "hs_code",
}
EVENT = ("occurred_at", "description", "status_code", "status_detail_code", "event_code")
PLACED = ("city_locality", "state_province", "postal_code", "country_code")
SCANS = uuid.UUID("6c3f2f55-5f0b-5a35-9a0d-1b8f7f0f4c52")  # the namespace of our ids of scans
MOST_SENTENCES = 5


def _read_document(reply: Reply, contract: Contract) -> Any:
    document = parse_json(reply)
    if reply.fault or not 200 <= reply.status < 300:
        raise _read_error(reply, document, contract)
    if not isinstance(document, dict | list):
        raise unknown_outcome(reply, contract, "the reply is not one we can read")
    return document


def _read_error(reply: Reply, document: Any, contract: Contract) -> CarrierError:
    """Return a reply's error, with its messages at our names of the fields."""
    error = outcome_of(reply, contract)
    rows = _rows_in(document, "errors")
    found: dict[str, list[str]] = {}
    for row in rows:
        name = values.read_text(row.get("field_name") or row.get("field"), 100)
        if text := without_signed(values.read_text(row.get("message"))):
            found.setdefault(_our_field(name), []).append(text)
    codes = [values.read_text(row.get("error_code"), 100) for row in rows]
    text = "; ".join(found.get("", []))
    body = scrub_body(reply.body, contract)
    is_money = any(row.get("error_type") == "account_status" for row in rows)
    is_money = is_money or any("fund" in code for code in codes)
    if isinstance(error, AccountStopped) or (isinstance(error, Rejected) and is_money):
        return AccountStopped(reply.status, text, body)
    if not isinstance(error, Rejected):
        return error
    if UNCLEAR.intersection(codes):
        return unknown_outcome(reply, contract, f"it was done before: {', '.join(codes)}")
    return Rejected(reply.status, next(filter(None, codes), ""), text, found, body)


def _rows_in(document: Any, path: str) -> list[dict[str, Any]]:
    rows = values.value_at(document, path) if path else document
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _our_field(path: str) -> str:
    """Return our name of a field, or the carrier's own of one we lack."""
    steps = re.findall(r"[a-z_]+\d?|\d+", path.lower())
    start = next((n for n, step in enumerate(steps) if step in ("products", "customs_items")), None)
    if start is not None:
        part = next((ITEM[step] for step in steps[start:] if step in ITEM), "")
        row = next((int(step) + 1 for step in steps[start:] if step.isdecimal()), None)
        return f"item_{row}_{part}" if part and row else "contents"
    is_sender = any(step.startswith(("ship_from", "from_")) for step in steps)
    for step in reversed(steps):
        name = re.sub("^(from|to)_", "", step)
        if name in FIELDS:
            return f"{'sender' if is_sender else 'receiver'}_{FIELDS[name]}"
        if name in OTHERS:
            return OTHERS[name]
    return path


def read_estimates(reply: Reply, contract: Contract, *, today: date) -> messages.Quoted:
    document = _read_document(reply, contract)
    if not isinstance(document, list):
        raise unknown_outcome(reply, contract, "the reply is no list of estimates")
    return _read_rates(_rows_in(document, ""), contract, today)


def _read_rates(rows: list[dict[str, Any]], contract: Contract, today: date) -> messages.Quoted:
    """Return the rates of parcels in their own packaging. Raises Rejected if all are refused."""
    found: dict[str, messages.Product] = {}
    unreadable: list[str] = []
    refused: dict[str, None] = {}
    for row in rows:
        if row.get("package_type") not in (None, "", "package"):
            continue  # such as a flat-rate box, which is cheaper and isn't ours to use
        if row.get("validation_status") == "invalid" or row.get("error_messages"):
            refused |= dict.fromkeys(_sentences(row))
        elif (product := _read_rate(row, contract, today)) is None:
            unreadable.append(f"rate {values.read_text(repr(row), 40)}")
        # Several accounts of one carrier may offer the same service.
        elif product.code not in found or product.price.amount < found[product.code].price.amount:
            found[product.code] = product
    if refused and not found and not unreadable:
        raise _no_rates(list(refused))
    return messages.Quoted(
        tuple(found.values())[: reading.MOST_PRODUCTS], tuple(unreadable[: reading.MOST_UNREADABLE])
    )


def _sentences(row: dict[str, Any]) -> Iterator[str]:
    carrier = values.read_text(row.get("carrier_friendly_name") or row.get("carrier_code"), 60)
    texts = row.get("error_messages") or [row.get("message")]
    for text in texts if isinstance(texts, list) else []:
        if words := without_signed(values.read_text(text)):
            yield f"{carrier}: {words}" if carrier else words


def _no_rates(why: list[str]) -> Rejected:
    return Rejected(0, "no_rates", "; ".join(why), {"": why[:MOST_SENTENCES]})


def _read_rate(row: dict[str, Any], contract: Contract, today: date) -> messages.Product | None:
    """Return a rate as a product. Its id is new each time; its code is its carrier and service."""
    carrier, service = (
        values.read_text(row.get(name), 60) for name in ("carrier_code", "service_code")
    )
    price = _sum_price(row, RATE_AMOUNTS)
    if not carrier or not service or price is None:
        return None
    days = values.read_number(row.get("delivery_days"))
    expected = values.read_day(row.get("estimated_delivery_date"))
    if expected is None and days is not None and 0 <= days <= 365:
        expected = values.weekdays_after(today, int(days))
    brand = values.read_text(row.get("carrier_friendly_name"), 60)
    name = values.read_text(row.get("service_type"), 100) or service
    return messages.Product(
        code=re.sub(r"[^A-Za-z0-9_.:-]+", "-", f"{carrier}:{service}"),
        name=name if name.startswith(brand) else f"{brand} {name}",
        first_mile="drop-off",
        service=service,
        price=price,
        breakdown=_read_amounts(row, RATE_AMOUNTS),
        taxes=(),
        plan="",
        eta_from=expected,
        eta_to=expected,
        send_date=None,
        duties_paid=False,
        cover_price=None,
        raw=scrub_value(row, contract),
    )


def _sum_price(row: dict[str, Any], names: tuple[str, ...]) -> messages.Money | None:
    """Return the sum of amounts in one currency, or None. The first must be there."""
    parts = [
        values.read_price(values.value_at(part, "amount"), values.value_at(part, "currency"))
        for name in names
        if (part := row.get(name)) is not None or name == names[0]
    ]
    read = [part for part in parts if part is not None]
    if len(read) < len(parts) or len({part.currency for part in read}) != 1:
        return None
    return messages.Money(sum((part.amount for part in read), Decimal(0)), read[0].currency)


def _read_amounts(
    row: dict[str, Any], names: tuple[str, ...]
) -> tuple[tuple[str, messages.Money], ...]:
    sums = [(name, _sum_price(row, (name,))) for name in names]
    return tuple((name, price) for name, price in sums if price and price.amount)


def read_prepared(
    reply: Reply, contract: Contract, *, code: str, external_id: str
) -> messages.Prepared:
    document = _read_document(reply, contract)
    answer = values.value_at(document, "rate_response")
    echo = values.value_at(document, "external_shipment_id")
    if not isinstance(answer, dict) or echo not in (None, external_id):
        raise unknown_outcome(reply, contract, "the reply is not about our shipment")
    if answer.get("status") == "working":
        raise unknown_outcome(reply, contract, "the rates are not all there yet")
    rates = _read_rates(
        _rows_in(answer, "rates") + _rows_in(answer, "invalid_rates"),
        contract,
        datetime.now(UTC).date(),
    )
    for product in rates.products:
        rate_id = values.match_text(values.ORDER_ID, product.raw.get("rate_id"))
        if product.code == code and rate_id:
            body = shipstation_writing.purchase_body(rate_id, external_id)
            return messages.Prepared(body, product.price)
    errors = [text for row in _rows_in(answer, "errors") for text in _sentences(row)]
    if errors and not rates.products:
        raise _no_rates(list(dict.fromkeys(errors)))
    text = "is not offered for this parcel any more"
    raise Rejected(0, "no_rate", text, {"product_code": [text]})


def _as_stored(reply: Reply, contract: Contract) -> Reply:
    """Return a label's reply with its PDF's address alone, and with "voided" as its status."""
    document = _read_document(reply, contract)
    if not isinstance(document, dict):
        raise unknown_outcome(reply, contract, "the reply is no label")
    files = document.get("label_download")
    pdf = values.value_at(files, "pdf")
    if not pdf and document.get("label_format") == "pdf":
        pdf = values.value_at(files, "href")
    dropped = {"form_download", "paperless_download", "insurance_claim", "packages"}
    kept = {name: value for name, value in document.items() if name not in dropped}
    kept["label_download"] = {"pdf": pdf} if pdf else None
    if document.get("voided") is True:
        kept["status"] = contract.cancelled_word
    return replace(reply, body=json.dumps(kept).encode())


def _complete(booked: messages.Booked, reply: Reply, *, is_test: bool) -> messages.Booked:
    document = parse_json(reply)
    size = values.normalise_word(document.get("label_layout"))
    return replace(
        booked,
        price=_sum_price(document, LABEL_COSTS),
        breakdown=_read_amounts(document, LABEL_COSTS),
        labels=tuple(replace(link, format="pdf", size=size) for link in booked.labels),
        order_key=booked.order_key.partition(".")[0],
        is_test=booked.is_test or is_test,
    )


def read_bought(
    reply: Reply, contract: Contract, *, external_id: str, is_test: bool
) -> messages.Booked:
    stored = _as_stored(reply, contract)
    booked = reading.read_booked(stored, contract, order_key=external_id)
    return _complete(booked, stored, is_test=is_test)


def read_found(
    reply: Reply, contract: Contract, *, external_id: str, is_test: bool
) -> messages.Booked | None:
    if reply.status == 404 and not reply.fault:  # with or without a body: nothing there, so far
        return None
    return read_bought(reply, contract, external_id=external_id, is_test=is_test)


def read_viewed(
    reply: Reply, contract: Contract, *, order_id: str, is_test: bool
) -> messages.Booked:
    stored = _as_stored(reply, contract)
    viewed = reading.read_viewed(stored, contract, order_id=order_id)
    return _complete(viewed, stored, is_test=is_test)


def read_void(reply: Reply, contract: Contract) -> messages.Cancelled:
    document = _read_document(reply, contract)
    approved = values.value_at(document, "approved")
    text = values.read_text(values.value_at(document, "message"))
    code = values.read_text(values.value_at(document, "reason_code"), 100)
    body = scrub_body(reply.body, contract)
    if approved is True:
        return messages.Cancelled(contract.cancelled_word, text, reply.status, body)
    if approved is False and code != "label_already_voided":  # which a look confirms
        text = text or "The void was not approved."
        raise Rejected(reply.status, code, text, {"": [text]}, body)
    raise unknown_outcome(reply, contract, "the reply does not say that the label is voided")


def read_newest_label(reply: Reply, contract: Contract, *, reference: str) -> str:
    """Return the id of the newest label with this number: carriers use numbers again."""
    document = _read_document(reply, contract)
    if not isinstance(values.value_at(document, "labels"), list):
        raise unknown_outcome(reply, contract, "the reply has no list of labels")
    ours = [
        row
        for row in _rows_in(document, "labels")
        if values.read_text(row.get("tracking_number")).upper() == reference.upper()
    ]
    newest = max(ours, key=lambda row: values.read_text(row.get("created_at")), default={})
    return values.match_text(values.ORDER_ID, newest.get("label_id"))


def read_history(reply: Reply, contract: Contract, *, reference: str) -> messages.Tracked:
    document = _read_document(reply, contract)
    rows = values.value_at(document, "events")
    if isinstance(rows, list):
        rows = [_write_event(row) if isinstance(row, dict) else row for row in rows]
    one = replace(reply, body=json.dumps({"events": rows}).encode())
    tracked = reading.read_tracked(one, contract, reference=reference, must_list=True)
    state = values.read_text(values.value_at(document, "status_code"), 100)
    scans = tuple(_identify_scan(scan, reference) for scan in tracked.scans)
    return replace(tracked, state=state, scans=scans)


def _write_event(row: dict[str, Any]) -> dict[str, Any]:
    """Return an event with its one kind and its place; never who signed, or a photo's address."""
    place = {name: str(value) for name in PLACED if (value := row.get(name)) is not None}
    words = [values.normalise_word(row.get(name)) for name in ("status_detail_code", "status_code")]
    kind = next((word for word in words if word in DETAILS or word in STATUSES), "un")
    return {name: row.get(name) for name in EVENT} | {"kind": kind, "location": place}


def _identify_scan(scan: messages.Scan, reference: str) -> messages.Scan:
    """Return a scan with an id made of what it says: the history of each reply gives it again."""
    place = (scan.suburb, scan.state, scan.postcode, scan.country)
    what = (scan.event_type, scan.description, scan.raw.get("event_code"))
    facts = json.dumps([reference.upper(), scan.scan_time.isoformat(), *what, *place])
    return replace(scan, reference=reference, event_id=str(uuid.uuid5(SCANS, facts)))
