"""Pickup reliability: did the driver come on the planned day, later, in vain, or not at all?"""

from collections import Counter

from shipping_portal.reports.figures import BEFORE, NOW, Chart, Section, counted, share
from shipping_portal.reports.shipments import Planned
from shipping_portal.reports.spans import Span

ON_THE_DAY, LATER, MISSED, FUTILE = (
    "Picked up on the planned day",
    "Picked up later",
    "Missed: no driver came",
    "Futile: the driver couldn’t collect",
)
RULE = (
    "Pickups whose planned day is over; it is the last day the carrier named. Missed: a scan says so, or no scan came "
    "after that day. Futile: a scan says so. A missed or futile one stays that, also when it was picked up afterwards. "
    "Cancelled ones don’t count."
)


def outcome(one: Planned, span: Span) -> str:
    """Return the outcome. A futile pickup comes before one that was missed; any scan shows that somebody has it."""
    if one.scans.is_futile:
        return FUTILE
    seen = one.scans.moved_at or one.heard_at
    if one.scans.is_missed or seen is None:
        return MISSED
    day = span.day_of(seen)
    if one.scans.moved_at is None and day <= one.day:
        return MISSED  # the scans of the booking itself come before and show nothing
    return ON_THE_DAY if day <= one.day else LATER


def section(planned: list[Planned], span: Span) -> Section:
    over = [one for one in planned if one.day < span.last]
    now, before = (
        Counter(outcome(one, span) for one in over if period.holds(one.day)) for period in (span, span.before)
    )
    names = (ON_THE_DAY, LATER, MISSED, FUTILE) if now or before else ()
    lines, rows = counted({name: (now[name], before[name]) for name in names})
    headlines = [_headline(now, before, span)] if rows else []
    nothing = "No planned pickup in these weeks is over. Parcels you drop off don’t count here."
    charts = [Chart(lines, has_before=True)] if rows else []
    heads = ["Pickup", NOW, BEFORE]
    return Section("pickups", "Pickup reliability", RULE, nothing, headlines, heads, rows, charts)


def _headline(now: Counter[str], before: Counter[str], span: Span) -> str:
    if not now.total():
        return f"No planned pickup was over in these {span.weeks} weeks."
    headline = f"{share(now[ON_THE_DAY], now.total())} were picked up on the planned day."
    if not before.total():
        return f"{headline} There are none before to compare with."
    return f"{headline} In the {span.weeks} weeks before: {share(before[ON_THE_DAY], before.total())}."
