"""Join rows of one order into one parcel: shops write a row for each item.

A further row joins the row above that has its order number and its address, or just its order
number if it has no address. A row with another address or size, or an identical row, isn't a
further item. It stays a separate row, which is left out until its sender allows it (see
duplicates.py).
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator

from django.db import transaction

from shipping_portal.importing import duplicates
from shipping_portal.importing.models import Import, ImportRow, due_for_check
from shipping_portal.importing.units import SIZE_UNIT

State = ImportRow.State
AT_ONCE = 500
ADDRESS = tuple(
    f"receiver_{part}"
    for part in (
        "name",
        "last_name",
        "company",
        "line1",
        "line2",
        "suburb",
        "state",
        "postcode",
        "country",
    )
)
SIZE = ("length", "width", "height", SIZE_UNIT)


def join(file: Import) -> int:
    """Join due rows that are one parcel, in a transaction; return how many joined another row."""
    joined = list(_rows_to_join(file))
    ImportRow.objects.bulk_update(joined, ["state", "due_at", "joined_into"], batch_size=AT_ONCE)
    return len(joined)


@transaction.atomic
def separate(row: ImportRow, now: dt.datetime) -> bool:
    """Separate a joined row and check both. Return False if the other is already booked."""
    head = row.joined_into
    if row.state != State.JOINED or head is None or not _check_again(head, now):
        return False
    return row.finish(
        state=State.NEW,
        due_at=now,
        joined_into=None,
        corrected={**row.corrected, duplicates.ANYWAY: "yes"},
    )


def _check_again(head: ImportRow, now: dt.datetime) -> bool:
    if head.state in (State.DUE, State.BOOKED):
        return False
    return head.state == State.SKIPPED or head.finish(**due_for_check(now), tries=0)


def _rows_to_join(file: Import) -> Iterator[ImportRow]:
    """Yield further rows with the row that each joins."""
    heads: dict[str, list[ImportRow]] = defaultdict(list)
    for row in file.rows.order_by("number"):
        number = _row_value(row, "customer_reference")
        if not number or not _is_whole(row):
            continue
        head = _find_head(row, heads[number])
        if head is None or row.state != State.NEW or row.corrected.get(duplicates.ANYWAY):
            heads[number].append(row)
        else:
            row.state, row.due_at, row.joined_into = State.JOINED, None, head
            yield row


def _find_head(row: ImportRow, heads: list[ImportRow]) -> ImportRow | None:
    """Return the row whose box this row may share: same size, and not an identical row."""
    where = _address_words(row)
    if not any(where):
        return heads[-1] if heads and _fits(row, heads[-1]) else None
    there = (head for head in heads if _address_words(head) == where)
    return next((head for head in there if row.cells != head.cells and _fits(row, head)), None)


def _fits(row: ImportRow, head: ImportRow) -> bool:
    """Return whether a row has the same size as the other row, or no size."""
    sizes = [{_row_value(one, side) for one in (row, head)} - {""} for side in SIZE]
    return all(len(named) < 2 for named in sizes)


def _address_words(row: ImportRow) -> list[str]:
    return [" ".join(_row_value(row, name).casefold().split()) for name in ADDRESS]


def _row_value(row: ImportRow, name: str) -> str:
    """Return the row's value of a field: corrected, or as typed."""
    return str(row.corrected.get(name, row.seen(row.file.columns.get(name))))


def _is_whole(row: ImportRow) -> bool:
    """Return whether the row has as many cells as the header; other rows are unreliable."""
    width = len(row.file.header)
    return len(row.cells) >= width and not any(map(str.strip, row.cells[width:]))
