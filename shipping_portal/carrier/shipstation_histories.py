"""Turn the ShipStation API's histories into scans of the interface's shape."""

import json
import uuid
from dataclasses import replace

from shipping_portal.carrier import reading
from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Tracked
from shipping_portal.carrier.outcomes import unknown_outcome
from shipping_portal.carrier.points import WORDS
from shipping_portal.carrier.shipstation_errors import Row, read_document, read_rows
from shipping_portal.carrier.shipstation_points import DETAILS, STATUSES
from shipping_portal.carrier.values import (
    MOMENT,
    ORDER_ID,
    match_text,
    normalise_word,
    read_text,
)

PLACED = {"city_locality": "suburb", "state_province": "state", "postal_code": "postcode"}
PLACED |= {"country_code": "country"}
MEANINGS = STATUSES | DETAILS
SCANS = uuid.UUID("6c3f2f55-5f0b-5a35-9a0d-1b8f7f0f4c52")  # the namespace of our scan ids


def read_newest_label(reply: Reply, contract: Contract, *, reference: str) -> str:
    """Return the id of the newest label with this number: carriers reuse numbers."""
    document = read_document(reply, contract, dict)
    if not isinstance(document.get("labels"), list):
        raise unknown_outcome(reply, contract, "the reply has no list of labels")
    ours = [
        row
        for row in read_rows(document, "labels")
        if read_text(row.get("tracking_number")).upper() == reference.upper()
    ]
    newest = max(ours, key=lambda row: read_text(row.get("created_at")), default={})
    return match_text(ORDER_ID, newest.get("label_id"))


def read_history(reply: Reply, contract: Contract, *, reference: str) -> Tracked:
    document = read_document(reply, contract, dict)
    rows = document.get("events")
    if not isinstance(rows, list):
        raise unknown_outcome(reply, contract, "the reply has no list of events")
    events = [_as_event(row, reference) if isinstance(row, dict) else row for row in rows]
    events += _delivery_in(document, contract, reference)
    state = read_text(document.get("status_code"), 100)
    one = replace(reply, body=json.dumps({"tracking_events": events, "state": state}).encode())
    tracked = reading.read_tracked(one, contract, reference=reference, must_list=True)
    scans = tuple(
        replace(scan, reference=reference, event_id=scan.raw["id"]) for scan in tracked.scans
    )
    return replace(tracked, scans=scans)


def _delivery_in(document: Row, contract: Contract, reference: str) -> list[Row]:
    """Return the delivery that a history reports but no scan does: scans may have no status."""
    rows = read_rows(document, "events")
    has_statuses = any(row.get("status_code") for row in rows)
    known = {contract.progress(_kind_of(row)) for row in rows}
    if has_statuses or "delivered" in known or contract.progress(_kind_of(document)) != "delivered":
        return []
    newest = max((match_text(MOMENT, row.get("occurred_at")) for row in rows), default="")
    at = match_text(MOMENT, document.get("actual_delivery_date")) or newest
    scan = document | {"occurred_at": at, "description": document.get("status_description")}
    return [_as_event(scan, reference)] if at else []


def _as_event(row: Row, reference: str) -> Row:
    """Return a scan with one kind and its place, but never who signed or a photo's address.

    Its id is made from its content, because each reply repeats the history.
    """
    event = {
        "event_type": _kind_of(row),
        "scan_time": row.get("occurred_at"),
        "description": row.get("description"),
        "event_code": row.get("event_code"),
        "location_data": {
            ours: str(row[theirs]) for theirs, ours in PLACED.items() if row.get(theirs) is not None
        },
    }
    facts = json.dumps([reference.upper(), event], sort_keys=True)
    return event | {"id": str(uuid.uuid5(SCANS, facts))}


def _kind_of(row: Row) -> str:
    """Return a scan's kind: the first of its words that says where it is, else any known one.

    A detail may say more than its status, and EX says nothing beside DELIVERED_DAMAGED.
    """
    status, detail, text = (
        normalise_word(row.get(name))
        for name in ("status_code", "status_detail_code", "description")
    )
    known = [word for table in (DETAILS, STATUSES) for word in (status, detail) if word in table]
    found = max(known, key=lambda word: bool(MEANINGS[word]), default="")
    return found or status or (text if WORDS.get(text) else "un")
