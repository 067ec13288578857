"""Show a parcel's scans to people.

They are newest first, in the sender's zone; unknown words are shown unchanged.
"""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from orders.calling.contract import contract_of
from orders.models.statuses import Progress
from shipping_portal.carrier.scrubbing import scrub_body, without_links
from tracking.models import Parcel, happened_at
from tracking.scanning import vocabulary

COUNTRIES = {
    "AU": "Australia",
    "CA": "Canada",
    "US": "United States",
    "NZ": "New Zealand",
    "GB": "United Kingdom",
}
_SHORT = {name.casefold(): name for name in COUNTRIES.values()}


@dataclass(frozen=True)
class TimelineEntry:
    at: dt.datetime
    words: str
    place: str
    description: str
    progress: str
    is_clock_ahead: bool
    raw: str


def for_parcel(parcel: Parcel | None, zone: ZoneInfo) -> list[TimelineEntry]:
    """Return a parcel's scans as entries, in two queries and perhaps a third for the account."""
    if parcel is None:
        return []
    events = list(parcel.events.order_by(happened_at().desc(), "-scan_time", "-pk")[:500])
    contract = contract_of(parcel.account)
    words = vocabulary.meanings_of((event.event_type for event in events), contract)
    return [
        TimelineEntry(
            at=event.happened_at.astimezone(zone),
            words=_event_words(event.event_type, words),
            place=place_line(event.suburb, event.state, event.postcode, event.country),
            description=without_links(event.description, contract),
            progress=words[vocabulary.normalise_word(event.event_type)],
            is_clock_ahead=bool(event.clock_ahead),
            raw=scrub_body(bytes(event.raw), contract).decode(errors="replace"),
        )
        for event in events
    ]


def _event_words(event_type: str, meanings: dict[str, str]) -> str:
    progress = meanings[vocabulary.normalise_word(event_type)]
    return Progress(progress).label if progress else event_type


def place_line(suburb: str, state: str, postcode: str, country: str) -> str:
    """Return one line, with the country as a name even if the carrier sent a code (§2.2)."""
    known = COUNTRIES.get(country.strip().upper()) or _SHORT.get(
        country.strip().casefold(), country
    )
    town = " ".join(part for part in (suburb, state, postcode) if part)
    return ", ".join(part for part in (town, known) if part)
