"""Read tracking events (interface §2.2) from a webhook's body or a row of a tracking reply."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Scan
from shipping_portal.carrier.scrubbing import scrub_value, without_links
from shipping_portal.carrier.values import load_json, match_text, read_instant, read_text, value_at

EVENT_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
NIL = "00000000-0000-0000-0000-000000000000"
LONGEST_TYPE = 100
LONGEST_DESCRIPTION = 1000


class BadScan(Exception):
    """Raised for an unreadable event. The reason names the field and never quotes it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Named:
    """The identifiers in an event, as far as they can be read."""

    reference: str = ""
    event_id: str = ""
    scan_time: datetime | None = None


def named_in(body: bytes, contract: Contract) -> Named:
    """Return the identifiers in a webhook's body, whatever else is wrong with it.

    It never raises.
    """
    # Not load_json, which is slow because it is strict: read_event rejects odd bodies.
    try:
        row = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return Named()
    found: dict[str, Any] = {}
    with suppress(BadScan):
        found["reference"] = _read_reference(value_at(row, contract.event_reference), contract)
    if contract.webhook_means == "look":
        return Named(**found)
    with suppress(BadScan):
        found["event_id"] = _event_id(value_at(row, contract.event_id))
    with suppress(BadScan):
        found["scan_time"] = _scan_time(value_at(row, contract.scan_time))
    return Named(**found)


def read_event(body: bytes, contract: Contract) -> Scan:
    """Return the scan in a webhook's body. Raises BadScan.

    Only the location may be missing (§2.2), and fields that the contract turns off.
    """
    row = _load_body(body, strict=True)
    scan = read_scan(row, contract)
    if not scan.reference:
        raise BadScan("the reference is missing")
    if contract.event_id and not scan.event_id:
        raise BadScan("the event id is missing")
    if contract.event_description and value_at(row, contract.event_description) is None:
        raise BadScan("the description is missing")
    return scan


def read_reference_to_look_at(body: bytes, contract: Contract) -> str:
    """Return the reference in a webhook that means *look*. Raises BadScan.

    The rest isn't read: polling the parcel returns it again, with ids.
    """
    row = _load_body(body, strict=False)
    reference = _read_reference(value_at(row, contract.event_reference), contract)
    if not reference:
        raise BadScan("the reference is missing")
    return reference


def _load_body(body: bytes, *, strict: bool) -> Any:
    try:
        return load_json(body, strict=strict)
    except ValueError as problem:
        raise BadScan(_json_reason(problem)) from None


def read_scan(row: Any, contract: Contract) -> Scan:
    """Return one event of a tracking reply. Raises BadScan.

    Id, reference and description may be missing.
    """
    if not isinstance(row, dict):
        raise BadScan("the event is not an object")
    place = value_at(row, contract.location)
    return Scan(
        reference=_read_reference(value_at(row, contract.event_reference), contract),
        event_id=_event_id(value_at(row, contract.event_id)),
        event_type=_event_type(value_at(row, contract.event_type), contract),
        scan_time=_scan_time(value_at(row, contract.scan_time)),
        description=_read_description(value_at(row, contract.event_description), contract),
        suburb=_read_words(value_at(place, contract.location_suburb), 100, contract),
        state=_read_words(value_at(place, contract.location_state), 100, contract),
        postcode=_read_words(value_at(place, contract.location_postcode), 20, contract),
        country=_read_words(value_at(place, contract.location_country), 100, contract),
        raw=scrub_value(row, contract),
        remark="" if _is_place(place, contract) else "the location could not be read",
    )


def _is_place(value: object, contract: Contract) -> bool:
    """Return whether a value is missing, or an object of texts and nulls (§2.2)."""
    paths = (
        contract.location_suburb,
        contract.location_state,
        contract.location_postcode,
        contract.location_country,
    )
    return value is None or (
        isinstance(value, dict)
        and all(isinstance(value_at(value, path), str | None) for path in paths)
    )


def _read_reference(value: object, contract: Contract) -> str:
    """Return the reference without surrounding blanks, in the carrier's case, which polls need."""
    reference = contract.reference_in(value.strip() if isinstance(value, str) else value)
    if value is not None and not reference:
        raise BadScan("the reference has another shape than the contract's")
    return reference


def _event_id(value: object) -> str:
    if value is None:
        return ""
    event_id = match_text(EVENT_ID, value).lower()
    if not event_id or event_id == NIL:
        raise BadScan("the event id is not a UUID")
    return event_id


def _read_words(value: object, longest: int, contract: Contract) -> str:
    """Return text for people, without any signed link in it."""
    return without_links(read_text(value, longest), contract)


def _event_type(value: object, contract: Contract) -> str:
    # Its lower case is stored too, and "ß" becomes "ss".
    if not isinstance(value, str) or len(value.casefold()) > LONGEST_TYPE or not read_text(value):
        raise BadScan(f"the event type is not 1 to {LONGEST_TYPE} characters")
    return _read_words(value, LONGEST_TYPE, contract)


def _scan_time(value: object) -> datetime:
    try:
        return read_instant(value)
    except ValueError as problem:
        raise BadScan(f"the scan time is {problem}") from None


def _read_description(value: object, contract: Contract) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_DESCRIPTION:
        raise BadScan(f"the description is not text of at most {LONGEST_DESCRIPTION} characters")
    return _read_words(value, LONGEST_DESCRIPTION, contract)


def _json_reason(problem: ValueError) -> str:
    if isinstance(problem, UnicodeDecodeError):
        is_gzip = problem.object.startswith(b"\x1f\x8b")
        return (
            "the body is compressed with gzip, so it can't be read"
            if is_gzip
            else "the body is not UTF-8"
        )
    return f"the body is not sound JSON: {problem}"
