"""Answer templates' questions about the rows of an import."""

from typing import Any

from django import template

from orders.models.quotes import Offered, by_price, key_of
from shipping_portal.importing import chosen_service, progress
from shipping_portal.importing.listing import ListedRow
from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.shops import STATUS
from shipping_portal.importing.unread import KEY

register = template.Library()
register.filter("why", progress.reason)
register.filter("status", progress.status)
State = ImportRow.State
BADGES = {
    State.NEW: ("", "Checking"),
    State.READY: ("ok", "Ready"),
    State.WARNING: ("warn", "Worth a look"),
    State.FIX: ("bad", "To fix"),
    State.SKIPPED: ("", "Left out"),
    State.JOINED: ("", "Joined"),
    State.DUE: ("on", "Booking"),
    State.FAILED: ("bad", "Not booked"),
}
LOST = "Letters were lost"


@register.filter
def badge(row: ImportRow, doubted: Any = ()) -> tuple[str, str]:
    """Return an unbooked row's state, as a style and a word or two.

    `doubted` holds the rows that look wrong.
    """
    if doubted and row.pk in doubted:
        return "warn", "Looks wrong"
    if row.state == State.WARNING and progress.reason(row).startswith(LOST):
        return "warn", "Letters lost"
    return BADGES.get(State(row.state), ("", row.get_state_display()))


@register.filter
def offers(line: ListedRow) -> list[Offered]:
    """Return a row's services to choose from, or none if it isn't ready or has only one."""
    row = line.row
    found = by_price(row.quote.products) if row.quote and row.state in ImportRow.READY else []
    if row.quote is None or len(found) < 2:
        return []
    carriers = [line.titles.get(row.quote.account_of(offer), "") for offer in found]
    return [
        offer | {"key": key_of(offer), "carrier": carrier}
        for offer, carrier in zip(found, carriers, strict=True)
    ]


@register.filter
def own_service(row: ImportRow) -> str:
    """Return the service that was chosen for this row."""
    return str(row.corrected.get(chosen_service.SERVICE, ""))


@register.filter
def loose(problems: dict[str, list[str]]) -> list[str]:
    """Return what is wrong with the row as a whole."""
    return [
        text
        for name in problems
        if name in ("", STATUS) or name.startswith(KEY)
        for text in problems[name]
    ]


@register.filter
def cell_of(row: ImportRow, name: str) -> str:
    """Return a row's value of a field, corrected or as in its file, or ""."""
    return str(row.corrected.get(name) or row.cell_of(name).strip())
