"""Read a ShipStation API reply's JSON, and its errors under our field names."""

import re
from functools import partial
from itertools import chain
from typing import Any

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected
from shipping_portal.carrier.outcomes import outcome_of, read_successful, unknown_outcome
from shipping_portal.carrier.scrubbing import scrub_body, without_signed
from shipping_portal.carrier.shipstation_writing import PERSON, PLACE
from shipping_portal.carrier.values import read_text, value_at

Row = dict[str, Any]
MONEY = re.compile(
    "account_status|wallet|insufficient_funds|funding_source.*|subscription_inactive|trial_expired"
)
# Codes and types after which a label may exist: look for it, and never send again.
UNCLEAR = {"identifier_conflict", "invalid_status", "rate_limit_exceeded", "system", "integrations"}
FIELDS = PLACE | PERSON | {"phone_number": "phone", "ship_to": "line1", "ship_from": "line1"}
OTHERS = {name: name for name in ("weight", "length", "width", "height")}
OTHERS |= {"dimensions": "length", "insured_value": "cover", "contents": "contents_type"}
ITEM = {"country_of_origin": "origin", "harmonized_tariff_code": "hs_code"}
ITEM |= {name: name for name in ("description", "value", "quantity")}


def _read_error(reply: Reply, document: Any, contract: Contract) -> CarrierError:
    """Return a reply's error, with its messages under our field names."""
    error = outcome_of(reply, contract)
    found: dict[str, list[str]] = {}
    codes = []
    for row in read_rows(document, "errors"):
        codes += [read_text(row.get(name), 100) for name in ("error_code", "error_type")]
        field = _our_field(read_text(row.get("field_name") or row.get("field"), 100))
        for sentence in read_sentences([row.get("message")]):
            found.setdefault(field, []).append(sentence)
    # A limit of the carrier behind it, which may have been asked more than once, doesn't say that
    # nothing was done. One of the API's own does.
    is_carriers = any(row.get("error_source") == "carrier" for row in read_rows(document, "errors"))
    if isinstance(error, NotSent) and is_carriers:
        return unknown_outcome(reply, contract, "the carrier behind the API asks us to slow down")
    if not isinstance(error, Rejected):
        return error
    body = scrub_body(reply.body, contract)
    if any(MONEY.fullmatch(code) for code in codes):
        return AccountStopped(reply.status, "; ".join(chain(*found.values())), body)
    if UNCLEAR.intersection(codes):
        return unknown_outcome(reply, contract, "it may have been done before")
    if not found:  # for example a gateway's own reply
        return error
    return Rejected(reply.status, next(iter(codes), ""), "; ".join(found.get("", [])), found, body)


read_document = partial(read_successful, read_error=_read_error)


def read_rows(document: Any, path: str) -> list[Row]:
    rows = value_at(document, path)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def read_sentences(texts: Any) -> list[str]:
    words = map(read_text, texts if isinstance(texts, list) else [])
    return [without_signed(text) for text in words if text]


def _our_field(path: str) -> str:
    """Return our name for a field, or the carrier's name if we have none."""
    steps = re.findall(r"[a-z_]+\d?|\d+", path.lower())
    if {"products", "customs_items"} & set(steps):
        part = next((ITEM[step] for step in reversed(steps) if step in ITEM), "")
        rows = [int(step) + 1 for step in steps if step.isdecimal()]
        return f"item_{rows[-1]}_{part}" if part and rows else "contents"
    is_sender = any(step.startswith(("ship_from", "from_")) for step in steps)
    for step in reversed(steps):
        name = re.sub("^(from|to)_", "", step)
        if name in FIELDS:
            return f"{'sender' if is_sender else 'receiver'}_{FIELDS[name]}"
        if name in OTHERS:
            return OTHERS[name]
    return path
