"""Report pickup reliability: on the planned day, later, failed, or not at all."""

from collections import Counter

from shipping_portal.reports.figures import (
    BEFORE,
    NOW,
    Chart,
    Section,
    compare_with_before,
    counted_rows,
    share_in_words,
)
from shipping_portal.reports.shipments import Planned
from shipping_portal.reports.spans import Days, Span

ON_THE_DAY = "On the planned day"
LATER = "Later"
MISSED = "Driver didn't come"
FUTILE = "Driver couldn't collect"
NOTE = (
    "Counts pickups that were due by now. The planned day is the last one the carrier gave. A"
    " missed pickup still counts as missed if the parcel is picked up later. Cancelled ones don't"
    " count."
)
TONES = {MISSED: "fbad", FUTILE: "f2"}


def pickup_outcome(one: Planned, days: Days) -> str:
    """Return a pickup's outcome.

    A futile pickup takes precedence over a missed one. Any scan shows that somebody has the parcel.
    """
    if one.scans.is_futile:
        return FUTILE
    seen = one.scans.moved_at or one.heard_at
    if one.scans.is_missed or seen is None:
        return MISSED
    day = days.day_of(seen)
    if one.scans.moved_at is None and day <= one.day:
        return MISSED  # scans from the booking itself are earlier and show nothing
    return ON_THE_DAY if day <= one.day else LATER


def pickup_section(now: Counter[str], before: Counter[str], span: Span) -> Section:
    names = (ON_THE_DAY, LATER, MISSED, FUTILE) if now or before else ()
    lines, rows = counted_rows({name: (now[name], before[name]) for name in names}, TONES)
    name = "Pickups"
    title = (
        f"{share_in_words(now[ON_THE_DAY], now.total())} were picked up on the planned day"
        if now
        else name
    )
    remarks = [f"{now[ON_THE_DAY]:,} of {now.total():,}. "] if now else []
    if now:
        remarks[0] += compare_with_before(before[ON_THE_DAY], before.total(), span.weeks)
    elif rows:
        remarks.append(f"No pickup was planned in these {span.weeks} weeks.")
    nothing = "No planned pickup in these weeks is over. Parcels you drop off don't count here."
    charts = [Chart([line for line in lines if line.marks])] if now else []
    return Section(
        "pickups", name, title, remarks, NOTE, nothing, ["Pickup", NOW, BEFORE], rows, charts
    )
