"""Report punctuality: delivery days compared with the days expected at booking."""

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
from shipping_portal.reports.shipments import Delivered
from shipping_portal.reports.spans import Span

EARLY, ON_TIME, LATE, NO_DATE = "Early", "On time", "Late", "No date named"
NOTE = (
    "On time means by the last day the carrier gave when you booked. Parcels still on the way don't"
    " count yet."
)
TONES = {LATE: "fbad", NO_DATE: "f3"}


def promise_outcome(one: Delivered) -> str:
    """Return whether a delivered parcel was early, on time or late.

    Early means before the first expected day.
    """
    if one.eta_to is None:
        return NO_DATE
    if one.day > one.eta_to:
        return LATE
    return EARLY if one.eta_from and one.day < one.eta_from else ON_TIME


def promise_section(
    now: Counter[str], before: Counter[str], late_now: int, span: Span, *, returns: int
) -> Section:
    """Build the section; `late_now` counts parcels still on the way after their last day.

    `returns` counts parcels that arrived back, which isn't a delivery to a receiver.
    """
    names = (EARLY, ON_TIME, LATE, NO_DATE) if now or before else ()
    lines, rows = counted_rows({name: (now[name], before[name]) for name in names}, TONES)
    (good, dated), (good_before, dated_before) = count_kept(now), count_kept(before)
    name = "On time"
    title = f"{share_in_words(good, dated)} came on time or early" if dated else name
    remarks = []
    if dated:
        remarks.append(
            f"{good:,} of {dated:,}. {compare_with_before(good_before, dated_before, span.weeks)}"
        )
    elif rows:
        remarks.append(f"No parcel with a delivery date was delivered in {span.weeks} weeks.")
    if late_now:
        remarks.append(f"{late_now:,} late and still on the way.")
    if returns:
        arrived = (
            "return arrived back and isn't" if returns == 1 else "returns arrived back and aren't"
        )
        remarks.append(f"{returns:,} {arrived} counted here.")
    nothing = "No delivery in these weeks. A parcel counts here once it's delivered."
    charts = [Chart([line for line in lines if line.marks])] if dated or now else []
    return Section(
        "on-time", name, title, remarks, NOTE, nothing, ["Delivered", NOW, BEFORE], rows, charts
    )


def count_kept(counts: Counter[str]) -> tuple[int, int]:
    """Return (on time, promised) counts."""
    good = counts[EARLY] + counts[ON_TIME]
    return good, good + counts[LATE]
