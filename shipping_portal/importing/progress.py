"""Count an import's rows by outcome, sum up its state, and export its failed rows."""

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.fields.json import KT

from orders.drafting.receiver_form import EXTENSION
from orders.models.quotes import Quote
from orders.models.statuses import HELD, UNCLEAR_BOOKING, Status
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.accounts.models import Sender
from shipping_portal.db.keyset import MOST_LISTED
from shipping_portal.importing import chosen_service, items, outliers, shops, units, unread
from shipping_portal.importing.cells import read_lines
from shipping_portal.importing.columns import LAST_NAME, form_name, plain_name
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.reading import REASON
from shipping_portal.importing.row_values import values
from shipping_portal.importing.units import WEIGHT

NAMED = 3  # how many orders with joined rows are listed


def left_out_by_shop(file: Import) -> list[tuple[str, int]]:
    """Return the reasons why the shop wouldn't send some orders, with counts."""
    of_shop = file.rows.filter(state=State.SKIPPED, problems__has_key=shops.STATUS)
    why = of_shop.order_by().values_list(KT(f"problems__{shops.STATUS}__0"))
    return list(why.annotate(rows=Count("pk")).order_by("-rows"))


def extensions(file: Import) -> int:
    """Return how many rows have a phone extension in their delivery instructions."""
    priced = Quote.objects.filter(import_rows__file=file).alias(
        instructions=KT("details__receiver__instructions")
    )
    return priced.filter(instructions__contains=f"{EXTENSION} ").count()


def joined(file: Import) -> list[dict[str, Any]]:
    """Return the first orders with several rows: each `order_number` with its number of `rows`."""
    number = KT(f"cells__{file.columns.get('customer_reference', 0)}")
    orders = (
        file.rows.filter(state=State.JOINED).order_by().values("joined_into", order_number=number)
    )
    return [
        dict(one)
        for one in orders.annotate(rows=Count("pk") + 1).order_by("joined_into__number")[:NAMED]
    ]


State = ImportRow.State
QUANTITY = "item_1_quantity"
PICKUP_DAY = "pickup_date"  # key in a row's problems
REFUSED = (Status.REJECTED, Status.NOT_BOOKED)
NOTHING = Q(state__in=(State.FIX, State.FAILED)) | Q(state=State.BOOKED, order__status__in=REFUSED)

NEGLECTED = dt.timedelta(days=14)
LOOKS_EVERY = dt.timedelta(seconds=10)


@dataclass(frozen=True)
class Counts:
    """Rows by state.

    Rows sent for booking have the state of their order. Joined rows count with their parcel.
    """

    rows: int
    joined: int
    unchecked: int
    ready: int
    warnings: int
    fix: int
    skipped: int
    waiting: int
    booked: int
    unclear: int
    needs_yes: int  # the price increased, or something else needs consent
    price_increased: int
    failed: int
    retryable: int  # failed rows without an order

    @property
    def submitted(self) -> int:
        """Return how many were sent for booking."""
        return self.waiting + self.booked + self.unclear + self.needs_yes + self.failed

    @property
    def summary(self) -> str:
        """The progress of the booking: `12 booked, 3 to go.`"""
        others = (
            (self.failed, "not booked"),
            (self.unclear, "being checked"),
            (self.needs_yes, "waiting for your approval"),
            (self.waiting, "to go"),
            (self.bookable, "ready to book"),
        )
        return (
            ", ".join(
                [
                    f"{self.booked:,} booked",
                    *(f"{count:,} {words}" for count, words in others if count),
                ]
            )
            + "."
        )

    @property
    def bookable(self) -> int:
        return self.ready + self.warnings

    @property
    def checked(self) -> int:
        return self.rows - self.unchecked


def counts(file: Import) -> Counts:
    """Count the rows of a file by outcome, in one query."""
    submitted = Q(state=State.BOOKED)
    wanted = {
        "rows": ~Q(state=State.JOINED),
        "joined": Q(state=State.JOINED),
        "unchecked": Q(state=State.NEW),
        "ready": Q(state=State.READY),
        "warnings": Q(state=State.WARNING),
        "fix": Q(state=State.FIX),
        "skipped": Q(state=State.SKIPPED),
        "waiting": Q(state=State.DUE) | submitted & Q(order__status=Status.BOOKING),
        "booked": submitted & Q(order__status__in=[*HELD, Status.CANCELLED]),
        "unclear": submitted & Q(order__status__in=UNCLEAR_BOOKING),
        "needs_yes": submitted & Q(order__status=Status.DRAFT),
        "price_increased": (
            submitted & Q(order__status=Status.DRAFT, order__problem__kind="price_rose")
        ),
        "retryable": Q(state=State.FAILED, order=None),
        "failed": Q(state=State.FAILED) | submitted & Q(order__status__in=REFUSED),
    }
    return Counts(
        **file.rows.aggregate(**{name: Count("pk", filter=of) for name, of in wanted.items()})
    )


def with_counts(files: QuerySet[Import]) -> QuerySet[Any]:
    """Annotate files with the list's counts: parcels, booked ones, and rows that need somebody."""
    submitted = Q(rows__state=State.BOOKED)
    return files.annotate(
        all_rows=Count("rows", filter=~Q(rows__state=State.JOINED)),
        booked_rows=Count(
            "rows", filter=submitted & Q(rows__order__status__in=[*HELD, Status.CANCELLED])
        ),
        to_fix=Count("rows", filter=Q(rows__state__in=(State.FIX, State.FAILED))),
        unchecked=Count("rows", filter=Q(rows__state=State.NEW)),
        ready_rows=Count("rows", filter=Q(rows__state__in=ImportRow.READY)),
        waiting=Count("rows", filter=Q(rows__state=State.DUE)),
    )


def status(file: Any) -> tuple[str, str]:
    """Return the state of a file from with_counts as a style and words."""
    checked = file.all_rows - file.unchecked
    found = (
        (file.archived_at, "", "Archived"),
        (file.state == Import.State.MATCHING, "warn", "Columns to match"),
        (file.paused_at and file.waiting, "warn", "Paused"),
        (file.waiting, "on", f"Booking, {file.waiting:,} to go"),
        (file.unchecked, "on", f"Checking, {checked:,} of {file.all_rows:,}"),
        (file.to_fix, "bad", f"{file.to_fix:,} to fix"),
        (file.ready_rows, "on", f"{file.ready_rows:,} ready to book"),
        (file.booked_rows, "ok", "Booked"),
    )
    return next(((tone, words) for holds, tone, words in found if holds), ("", "Nothing to book"))


def to_fix(sender: Sender, now: dt.datetime) -> QuerySet[ImportRow]:
    """Return the rows that wait for this sender, at most 1,001.

    Rows of archived or abandoned files aren't counted.
    """
    since = now - NEGLECTED
    files = Import.objects.filter(
        Q(created_at__gt=since) | Q(begun_at__gt=since), sender=sender, archived_at=None
    )
    waiting = ImportRow.objects.filter(file__in=files, state__in=(State.FIX, State.FAILED))
    # By key, because part of a union can't be limited.
    return ImportRow.objects.filter(pk__in=waiting.order_by().values("pk")[:MOST_LISTED])


def price_increased(file: Import) -> QuerySet[ImportRow]:
    """Return rows that stopped because the carrier's price increased."""
    stopped = file.rows.filter(order__status=Status.DRAFT, order__problem__kind="price_rose")
    return stopped.select_related("order")


def day_passed(file: Import) -> QuerySet[ImportRow]:
    """Return rows that stopped because their pickup day arrived before they were sent."""
    stopped = Q(state=State.FAILED, order=None, problems__has_key=PICKUP_DAY)
    stopped |= Q(order__status=Status.DRAFT, order__problem__kind="pickup_passed")
    return file.rows.filter(stopped).select_related("order__sender", "order__account")


def note_watched(file: Import, now: dt.datetime) -> None:
    """Record that somebody is watching the booking, at most once every ten seconds."""
    if file.looked_at is None or now - file.looked_at > LOOKS_EVERY:
        Import.objects.filter(pk=file.pk).update(looked_at=now)


def to_print(file: Import, most: int) -> list[uuid.UUID]:
    """Return this file's orders with an unprinted label, in the file's order."""
    booked = file.rows.filter(order__status=Status.BOOKED, order__printed_at=None)
    return list(booked.values_list("order__uuid", flat=True)[:most])


def failed_rows(file: Import) -> QuerySet[ImportRow]:
    return file.rows.filter(NOTHING).select_related("order")


def first_reason(file: Import) -> str:
    """Return the first unbooked row and its reason, for an email, or ""."""
    failed = failed_rows(file).exclude(state=State.FIX).first()
    why = reason(failed) if failed else ""
    return f"Row {failed.number}: {why}" if failed and why else ""


def failed_sheet(file: Import) -> tuple[list[str], Iterator[list[str]]]:
    """Return the failed rows in the sender's own columns, corrected, with reasons.

    The sheet can be imported again.
    """
    had_reason = bool(file.header) and normalise_name(file.header[-1]) == normalise_name(REASON)
    width = len(file.header) - (1 if had_reason else 0)
    heads = failed_rows(file).prefetch_related("lines").iterator(chunk_size=500)
    return [*file.header[:width], REASON], (
        line for head in heads for line in _sheet_of(head, file, width)
    )


def _sheet_of(head: ImportRow, file: Import, width: int) -> Iterator[list[str]]:
    """Yield a failed row, and the rows joined to it."""
    right, weight = _as_in_the_file(head, file), _whole_weight(head, file)
    lines = read_lines(head, file)
    places = items.places(lines)
    for at, row in enumerate(head.of_parcel):
        number = places.index(at) + 1 if at in places else 0
        mine = dict(_item_corrections(head, file, number))
        whole = {
            name: text for name, text in right.items() if not at and not name.startswith("item_")
        }
        if weight:  # all of it in the first row, because the rows' weights are added up
            times = (
                mine.get(QUANTITY) or lines[0].get(QUANTITY) or file.constants.get(QUANTITY) or "1"
            )
            share = "0" if at else items.share_of_one(weight, times)
            mine[WEIGHT] = f"{share} {units.of_account(file.sender.country)[units.WEIGHT_UNIT]}"
        # Extra cells follow the reason, so that the row has the same problem when it is uploaded
        # again.
        yield [*_own_cells(row, file, width, whole | mine), reason(head), *_cells_beyond(row, file)]


def _whole_weight(head: ImportRow, file: Import) -> str:
    """Return the parcel's weight if item weights were used and a weight or quantity was corrected.

    Otherwise it is "".
    """
    weight = form_name(WEIGHT, file.sender.country)
    is_put_right = any(name == weight or name.endswith("_quantity") for name in head.corrected)
    return (
        values(head, file).get(weight, "")
        if is_put_right and items.are_weights_of_one(file)
        else ""
    )


def _item_corrections(head: ImportRow, file: Import, number: int) -> Iterator[tuple[str, str]]:
    """Yield an item's corrections by its row's columns, or its description without customs ones."""
    for name, text in head.corrected.items():
        of_first = name.replace(f"item_{number}_", "item_1_")
        if name.startswith(f"item_{number}_"):
            yield of_first if of_first in file.columns else of_first.removeprefix("item_1_"), text


def reason(row: ImportRow) -> str:
    """Return the reason on one line."""
    problem: dict[str, Any] = row.order.problem if row.order else {}
    texts = [problem["text"]] if problem.get("text") else []
    texts += [text for name in row.problems for text in row.problems[name]]
    return " ".join(dict.fromkeys(texts))


def _cells_beyond(row: ImportRow, file: Import) -> list[str]:
    put_right = row.corrected.keys() - {
        shops.STATUS,
        unread.SEEN,
        chosen_service.SERVICE,
        outliers.LOOKS_RIGHT,
    }
    return [] if put_right else [cell for cell in row.cells[len(file.header) :] if cell.strip()]


def _own_cells(row: ImportRow, file: Import, width: int, right: dict[str, str]) -> list[str]:
    """Return the cells as typed, with corrections in their own columns."""
    cells = (row.cells + [""] * width)[:width]
    for name, text in right.items():
        place = file.columns.get(name)
        if place is not None and place < width:
            cells[place] = text
    return cells


def _as_in_the_file(row: ImportRow, file: Import) -> dict[str, str]:
    """Return corrections by the file's fields: measures in its units, full name as first name."""
    values = {plain_name(name): text for name, text in row.corrected.items()}
    own = units.of_account(file.sender.country)
    for name, kind in units.MEASURES.items():
        if name in values:
            values[name] = units.convert(
                values[name], own[kind], units.of_cell(name, row, file), units.TABLES[kind]
            )
    return values | ({LAST_NAME: ""} if "receiver_name" in values else {})
