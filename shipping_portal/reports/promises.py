"""On time or not: the day of delivery against the days the carrier expected when the parcel was booked."""

from collections import Counter

from shipping_portal.accounts.models import Sender
from shipping_portal.reports.figures import BEFORE, NOW, Chart, Section, counted, share, some
from shipping_portal.reports.shipments import Delivered
from shipping_portal.reports.spans import Span

EARLY, ON_TIME, LATE, NO_DATE = "Early", "On time", "Late", "No date named"
RULE = (
    "On time: delivered on or before the last day the carrier named when you booked. Early: before the first of its "
    "days. Days are those of your time zone. Parcels still on the way don’t count yet."
)


def outcome(one: Delivered) -> str:
    """Return whether a delivered parcel was early, on time or late; early is before the first day, if one was named."""
    if one.eta_to is None:
        return NO_DATE
    if one.day > one.eta_to:
        return LATE
    return EARLY if one.eta_from and one.day < one.eta_from else ON_TIME


def section(delivered: list[Delivered], late_now: int, sender: Sender, span: Span) -> Section:
    """Return the section; `late_now` are on the way still, past their last day."""
    now, before = (
        Counter(outcome(one) for one in delivered if period.holds(one.day)) for period in (span, span.before)
    )
    names = (EARLY, ON_TIME, LATE, NO_DATE) if now or before else ()
    lines, rows = counted({name: (now[name], before[name]) for name in names})
    headlines = [_headline(now, before, sender, span)] if rows else []
    if late_now:
        is_are = "is" if late_now == 1 else "are"
        headlines.append(f"{some(late_now, sender)} {is_are} past the last day and still on the way.")
    nothing = "No delivery in these weeks. A parcel counts here once it is delivered."
    charts = [Chart(lines, has_before=True)] if rows else []
    heads = ["Delivered", NOW, BEFORE]
    return Section("on-time", "On time", RULE, nothing, headlines, heads, rows, charts)


def _headline(now: Counter[str], before: Counter[str], sender: Sender, span: Span) -> str:
    (kept, dated), (kept_before, dated_before) = (_kept(counts) for counts in (now, before))
    if not dated:
        return f"No parcel with a named day was delivered in {span.weeks} weeks."
    headline = f"{share(kept, dated)} came on time or early."
    if not dated_before:
        return f"{headline} There are none before to compare with."
    return f"{headline} In the {span.weeks} weeks before: {share(kept_before, dated_before)}."


def _kept(counts: Counter[str]) -> tuple[int, int]:
    kept = counts[EARLY] + counts[ON_TIME]
    return kept, kept + counts[LATE]
