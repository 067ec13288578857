"""Rewrite the ShipStation API's replies in the interface's shape, for the usual code to read."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.carrier import reading, shipstation_writing
from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import Rejected
from shipping_portal.carrier.messages import Booked, Cancelled, Prepared, Quoted
from shipping_portal.carrier.outcomes import unknown_outcome
from shipping_portal.carrier.scrubbing import scrub_body
from shipping_portal.carrier.shipstation_errors import (
    Row,
    read_document,
    read_rows,
    read_sentences,
)
from shipping_portal.carrier.shipstation_points import LABEL_SIZES
from shipping_portal.carrier.values import (
    ORDER_ID,
    match_text,
    read_day,
    read_number,
    read_price,
    read_text,
    value_at,
    weekdays_after,
)

RATE_AMOUNTS = ("shipping_amount", "insurance_amount", "confirmation_amount", "other_amount")
LABEL_COSTS = ("shipment_cost", "insurance_cost")
MOST_SENTENCES = 5


def read_estimates(reply: Reply, contract: Contract, *, today: date) -> Quoted:
    return _read_rates(reply, contract, today, read_document(reply, contract, list), ())


def _read_rates(
    reply: Reply, contract: Contract, today: date, rows: Iterable[Any], errors: Iterable[Row]
) -> Quoted:
    """Return the rates of parcels in their own packaging. Raises Rejected if all are refused."""
    found: dict[str, Row] = {}
    refused = {text: None for row in errors for text in read_sentences([row.get("message")])}
    for row in rows:
        rate = row if isinstance(row, dict) else {}
        if rate.get("package_type") not in (None, "", "package"):
            continue  # such as a flat-rate box, which is cheaper but isn't the sender's
        if rate.get("validation_status") == "invalid" or rate.get("error_messages"):
            refused |= dict.fromkeys(read_sentences(rate.get("error_messages")))
            continue
        product = _as_product(rate, today)
        code = product["product"]["code"]
        known = read_number(value_at(found.get(code), "quote.gross.amount"))
        price = read_number(value_at(product, "quote.gross.amount"))
        # Several accounts of one carrier may offer the same service; the cheapest counts.
        if known is None or (price is not None and price < known):
            found[code] = product
    if refused and not found:
        why = list(refused)[:MOST_SENTENCES]
        raise Rejected(0, "no_rates", "; ".join(why), {"": why})
    body = json.dumps(list(found.values())).encode()
    return reading.read_products(replace(reply, body=body), contract, today=today)


def _as_product(rate: Row, today: date) -> Row:
    """Return a rate as a product. The id is new each time; the code is the carrier and service."""
    carrier, service, brand, name = (
        read_text(rate.get(member), 60)
        for member in ("carrier_code", "service_code", "carrier_friendly_name", "service_type")
    )
    carrier = carrier or read_text(rate.get("carrier_id"), 60)
    code = re.sub(r"[^A-Za-z0-9_.:-]+", "-", f"{carrier}:{service}")
    expected, days = read_day(rate.get("estimated_delivery_date")), rate.get("delivery_days")
    if expected is None and isinstance(days, int) and 0 <= days <= 365:
        expected = weekdays_after(today, days)
    return {
        "rate_id": rate.get("rate_id"),
        "product": {
            "code": code if carrier and service else None,
            "name": name if name.startswith(brand) else f"{brand} {name}",
            "first_mile_option": "drop-off",
            "service": service,
        },
        "quote": {"gross": _sum_amounts(rate, RATE_AMOUNTS)},
        "price_breakdown": _split_amounts(rate, RATE_AMOUNTS),
        "eta": {"date_range": [f"{expected}"] if expected and expected >= today else None},
    }


def _sum_amounts(row: Row, names: tuple[str, ...]) -> dict[str, str]:
    """Return the sum of amounts in one currency, or {}. The first amount must be present."""
    parts = [row.get(name) for name in names if name == names[0] or row.get(name) is not None]
    read = [read_price(value_at(part, "amount"), value_at(part, "currency")) for part in parts]
    known = [part for part in read if part is not None]
    if len(known) < len(read) or len({part.currency for part in known}) != 1:
        return {}
    total = sum((part.amount for part in known), Decimal(0))
    return {"amount": f"{total:f}", "currency": known[0].currency}


def _split_amounts(row: Row, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if value_at(row.get(name), "amount")}


def read_prepared(reply: Reply, contract: Contract, *, code: str, external_id: str) -> Prepared:
    document = read_document(reply, contract, dict)
    answer = document.get("rate_response")
    if not isinstance(answer, dict) or answer.get("status") == "working":
        raise unknown_outcome(reply, contract, "the rates are not all there")
    if document.get("external_shipment_id") not in (None, external_id):
        raise unknown_outcome(reply, contract, "the reply is about another shipment")
    rows, errors = (
        read_rows(answer, "rates") + read_rows(answer, "invalid_rates"),
        read_rows(answer, "errors"),
    )
    for product in _read_rates(reply, contract, datetime.now(UTC).date(), rows, errors).products:
        rate_id = match_text(ORDER_ID, product.raw["rate_id"])
        if product.code == code and rate_id:
            return Prepared(shipstation_writing.purchase_body(rate_id, external_id), product.price)
    text = "is not offered for this parcel any more"
    raise Rejected(0, "no_rate", text, {"product_code": [text]})


def _as_order(reply: Reply, contract: Contract, *, is_test: bool) -> Reply:
    """Return a label's reply as an order, with the address of the PDF only."""
    label = read_document(reply, contract, dict)
    files = label.get("label_download")
    pdf = value_at(files, "pdf")
    if not pdf and label.get("label_format") == "pdf":
        pdf = value_at(files, "href")
    link = {"format": "pdf", "size": LABEL_SIZES[0], "url": pdf}
    order = {
        "order_id": label.get("label_id"),
        "carrier_reference": label.get("tracking_number"),
        "state": contract.cancelled_word if label.get("voided") is True else label.get("status"),
        "metadata": {"portal_order": label.get("external_shipment_id")},
        "labels": [link] if pdf else [],
        "price": {"gross": _sum_amounts(label, LABEL_COSTS)},
        "price_breakdown": _split_amounts(label, LABEL_COSTS),
        "tracking_url": label.get("tracking_url"),
        "test_label": is_test or label.get("test_label"),
        "label": {name: label.get(name) for name in ("shipment_id", "carrier_id", "service_code")},
    }
    return replace(reply, body=json.dumps(order).encode())


def read_bought(reply: Reply, contract: Contract, *, external_id: str, is_test: bool) -> Booked:
    order = _as_order(reply, contract, is_test=is_test)
    booked = reading.read_booked(order, contract, order_key=external_id)
    return replace(booked, order_key=booked.order_key.partition(".")[0])


def read_found(
    reply: Reply, contract: Contract, *, external_id: str, is_test: bool
) -> Booked | None:
    if reply.status == 404 and not reply.fault:  # with or without a body: there is nothing so far
        return None
    return read_bought(reply, contract, external_id=external_id, is_test=is_test)


def read_viewed(reply: Reply, contract: Contract, *, order_id: str, is_test: bool) -> Booked:
    order = _as_order(reply, contract, is_test=is_test)
    viewed = reading.read_viewed(order, contract, order_id=order_id)
    return replace(viewed, order_key=viewed.order_key.partition(".")[0])


def read_void(reply: Reply, contract: Contract) -> Cancelled:
    document = read_document(reply, contract, dict)
    text, code = (read_text(document.get(name)) for name in ("message", "reason_code"))
    body = scrub_body(reply.body, contract)
    if document.get("approved") is True or code == "label_already_voided":
        return Cancelled(contract.cancelled_word, text, reply.status, body)
    if document.get("approved") is False:
        raise Rejected(reply.status, code, text, {"": [text or "It was not approved."]}, body)
    raise unknown_outcome(reply, contract, "the reply does not say that the label was voided")
