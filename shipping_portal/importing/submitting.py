"""Make a file's bookings due: each row exactly as its sender saw it when pressing Book.

Here each row stores what to book, so a later press or another person's parcel changes nothing. One
sender's presses run one after the other, so an order number in two files is booked once. Rows that
look wrong stay until their sender confirms them; see outliers.py.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import transaction

from orders.drafting.parcel_details import measures_from
from orders.models.quotes import bookable
from orders.quoting import choosing
from orders.quoting.choosing import Choice, Ready
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, chosen_service, duplicates, outliers
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.outliers import Doubt
from shipping_portal.ops.starting import end_if_restored

State = ImportRow.State


class MoreIsReady(Exception):
    """Raised when the page showed fewer rows, or other services. Nothing becomes due then."""


@dataclass(frozen=True)
class Seen:
    """What the page showed: rows priced up to this quote, doubts, and services of single rows."""

    rows: int
    newest: int
    doubts: str = ""  # outliers.doubts_token
    services: str = ""  # chosen_service.services_token


@dataclass(frozen=True)
class Press:
    """One press of Book: by whom, when, by which rule, for which day, with which carrier account.

    `last` is for “same as last time”; without `carrier` the rule chooses among all carriers.
    """

    rule: str
    by: User
    now: dt.datetime
    pickup_date: dt.date | None = None
    seen: Seen | None = None
    last: str = ""
    carrier: int | None = None


@transaction.atomic
def begin(file: Import, press: Press) -> int:
    """Make every ready row due unless it looks wrong; return how many. A second press finds none.

    Raises MoreIsReady, in which case nothing becomes due.
    """
    end_if_restored()
    Sender.locked(file.sender_id)
    chosen, doubts = choose(file, press)
    if press.seen and (
        len(chosen) > press.seen.rows
        or outliers.doubts_token(doubts) != press.seen.doubts
        or chosen_service.services_token(file) != press.seen.services
    ):
        raise MoreIsReady
    duplicates.leave_out(file, ImportRow.READY)
    days = file.rows.exclude(pickup_date=None).values_list("quote", "pickup_date")
    own = {quote: day for quote, day in days if quote and day}
    due = sum(_make_due(file, press, *group) for group in _by_offer(press, chosen, own))
    if due:
        Import.objects.filter(pk=file.pk).update(
            state=Import.State.BOOKING,
            begun_at=press.now,
            begun_by=press.by,
            looked_at=press.now,
            finished_at=None,
        )
    checking.enqueue_first(file, "book-row", State.DUE)
    return due


def choose(file: Import, press: Press) -> tuple[list[Choice], list[Doubt]]:
    """Return the rows that a press books, with their services, and what looks wrong."""
    last = press.last or choosing.last_product(file.sender)
    found = choosing.choices_by_rule(ready(file, press.seen, press.carrier), press.rule, last)
    doubts = outliers.find_outliers(file, found)
    return outliers.without_outliers(found, doubts), doubts


def ready(file: Import, seen: Seen | None = None, carrier: int | None = None) -> list[Ready]:
    """Return the rows that can be booked, in file order, with this carrier if one is given.

    A rechecked row has a newer quote.
    """
    rows = file.rows.filter(state__in=ImportRow.READY, quote__isnull=False)
    if seen:
        rows = rows.filter(quote__lte=seen.newest)
    found = rows.values_list(
        "pk", "quote", "quote__products", "quote__details__measures", "corrected", "quote__account"
    )
    all_ready = [
        Ready(
            pk,
            quote,
            chosen_service.choosable(products, corrected, carrier, own=own),
            measures_from(plain),
        )
        for pk, quote, products, plain, corrected, own in found
    ]
    return [row for row in all_ready if carrier is None or bookable(row.products)]


def _by_offer(
    press: Press, chosen: list[Choice], own: Mapping[int, dt.date]
) -> Iterator[tuple[str, dt.date | None, list[int]]]:
    """Yield product, pickup day and the quotes to book with them; no product if there is no offer.

    A row's own day (`own`, by quote) overrides the day for all rows.
    """
    found: dict[tuple[str, dt.date | None], list[int]] = defaultdict(list)
    for choice in chosen:
        is_picked_up = choice.offer and choice.offer.get("first_mile") == "pickup"
        day = own.get(choice.row.quote, press.pickup_date)
        found[choice.code, day if is_picked_up else None].append(choice.row.quote)
    for (code, day), same in found.items():
        yield code, day, same


def _make_due(file: Import, press: Press, code: str, day: dt.date | None, quotes: list[int]) -> int:
    """Make rows due by quote and state, so that a row withdrawn in between stays as it is."""
    return file.rows.filter(state__in=ImportRow.READY, quote__in=quotes).update(
        state=State.DUE,
        due_at=press.now,
        **ImportRow.AFRESH,
        product_code=code,
        pickup_date=day,
        booked_by=press.by,
    )
