"""Tell a receiver where their parcel is, in our own words only.

None of the carrier's words are shown: its free text may name a person or a street. See
docs/decisions/0048.
"""

import datetime as dt
import string
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from orders.models import Order
from orders.models.statuses import MOVING, STILL_AT_SENDER, Progress
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.countries import ZONES_OF_COUNTRIES, state_code
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.accounts.formatting import local_date, local_moment
from tracking import milestones, timeline
from tracking.models import Parcel, ReceiverPage, happened_at
from tracking.timeline import TimelineEntry

PREPARED = "It's being prepared", "The carrier doesn't have it yet."
WITH_CARRIER = "The carrier has it", "It's at the start of its journey."
TROUBLE = "It's held up", "There's been a problem along the way."
NEUTRAL = "No updates right now", "Ask the sender for details."
WORDS = {
    Progress.NONE: PREPARED,
    Progress.PICKUP_MISSED: PREPARED,
    Progress.PICKUP_FUTILE: PREPARED,
    Progress.COLLECTED: WITH_CARRIER,
    Progress.DROPPED_OFF: WITH_CARRIER,
    Progress.IN_TRANSIT: ("On the way", "The carrier is bringing it closer."),
    Progress.OUT_FOR_DELIVERY: ("Out for delivery", "It's with the delivery driver."),
    Progress.DELIVERY_ATTEMPTED: (
        "Delivery was attempted",
        "The driver couldn't deliver it. If there is a card, it says what to do next.",
    ),
    Progress.HELD: (
        "It's ready to be collected",
        "It's waiting at a collection point. Look for a card or message that says where.",
    ),
    Progress.DELIVERED: ("Delivered", "It has arrived."),
    Progress.RETURNING: ("It's going back", "The carrier is taking it back to the sender."),
}  # the others are problems
# The carrier's expected days mean nothing once the driver has been there.
STILL_COMES = {*STILL_AT_SENDER, *MOVING} - {Progress.EXPIRED}
TONES = {Progress.DELIVERED: "ok", Progress.OUT_FOR_DELIVERY: "on", Progress.IN_TRANSIT: "on"}


@dataclass(frozen=True)
class PageReader:
    """The time zone and date format that a page uses."""

    country: str
    tzinfo: ZoneInfo
    whose: str


def choose_reader(order: Order) -> PageReader:
    """Return the receiver as reader if their country's zones are known, otherwise the sender."""
    country = order.receiver_country
    if country not in ZONES_OF_COUNTRIES:
        return PageReader(order.sender.country, order.sender.tzinfo, "the sender")
    zone = places.zone_of(country, order.receiver_state, order.receiver_postcode)
    return PageReader(country, ZoneInfo(zone), "the receiver")


def page_facts(page: ReceiverPage, now: dt.datetime) -> dict[str, Any]:
    """Return all that a receiver's page shows."""
    order, reader = page.order, choose_reader(page.order)
    parcel: Parcel | None = getattr(order, "parcel", None)
    entries = timeline.for_parcel(parcel, reader.tzinfo)
    progress = order.shown_progress(now)
    says_where = order.is_booked and not order.is_stopped(order.sender)
    title, sentence = WORDS.get(Progress(progress), TROUBLE) if says_where else NEUTRAL
    steps = milestones.of_order(order, progress, entries) if says_where else []
    return {
        "business": order.sender.name,
        "contact": page.contact,
        "scheme": "mailto" if "@" in page.contact else "tel",
        "reader": reader,
        "title": title,
        "sentence": sentence,
        "tone": TONES.get(Progress(progress), "") if says_where else "",
        "due": _due_words(order, progress, reader, now) if steps else "",
        "steps": [replace(step, place="") for step in steps],
        "seen": _last_scan_words(parcel, entries, order, reader) if steps else "",
    }


def _due_words(order: Order, progress: str, reader: PageReader, now: dt.datetime) -> str:
    """Return when it is due, by the carrier's days, or when it was delivered, or ""."""
    first, last = order.eta_from, order.eta_to
    if progress == Progress.DELIVERED:
        return local_date(order.progress_at, reader)
    if progress not in STILL_COMES or last is None:
        return ""
    if last < now.astimezone(reader.tzinfo).date():
        return f"It was expected by {local_date(last, reader)}. It's late."
    days = local_date(last, reader)
    if first and first < last:
        days = f"{local_date(first, reader)} – {days}"
    return f"Expected {days}"


def _last_scan_words(
    parcel: Parcel | None, entries: list[TimelineEntry], order: Order, reader: PageReader
) -> str:
    """Return when it was last scanned, and in which town if it is on its way between depots."""
    if parcel is None or not entries:
        return ""
    at = local_moment(entries[0].at, reader)
    town = _town(parcel, order) if entries[0].progress == Progress.IN_TRANSIT else ""
    return f"Last scan: {at}{town and f', {town}'}"


def _town(parcel: Parcel, order: Order) -> str:
    """Return the newest scan's town, if the published list has it and it isn't the receiver's."""
    scan = parcel.events.order_by(happened_at().desc(), "-scan_time", "-pk").first()
    name = normalise_name(scan.suburb) if scan else ""
    if scan is None or name in {"", normalise_name(order.receiver_suburb)}:
        return ""
    country = _country_code(scan.country) or order.pickup["country"]
    listed = places.active_places(country).filter(
        normalised=name, state=state_code(country, scan.state)
    )
    place = listed.first()
    return f"{string.capwords(place.suburb)} {place.state}" if place else ""


def _country_code(country: str) -> str:
    """Return `AU` for Australia however it is spelled, or "" for a country that we can't name."""
    spelled = {name.casefold(): code for code, name in timeline.COUNTRIES.items()}
    known = country.strip()
    return (
        known.upper() if known.upper() in timeline.COUNTRIES else spelled.get(known.casefold(), "")
    )
