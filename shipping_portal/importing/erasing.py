"""What imports hold of a person: the cells of a row as they were typed, and what was put right in them."""

from collections.abc import Iterator

from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.jobs.erasing import BATCH, ERASED, Keys, deletes, eraser, objection, overwrites


@objection("row")
def still_owed(rows: Keys) -> Iterator[tuple[int, str]]:
    owed = ImportRow.objects.filter(pk__in=rows, state=ImportRow.State.OWED)
    for key in owed.values_list("pk", flat=True):
        yield key, "It is being booked. Try again once its parcel is delivered: the parcel is found then."


@objection("sender")
def rows_owed(senders: Keys) -> Iterator[tuple[int, str]]:
    owed = ImportRow.objects.filter(file__sender__in=senders, state=ImportRow.State.OWED)
    for key in owed.values_list("file__sender", flat=True).distinct().order_by():
        yield key, "An import is being booked. Try again once it is finished, or leave out its rows."


@eraser("order", "rows of imports")
def erase_booked(orders: Keys) -> int:
    """Empty the rows these were booked from, with those of the same parcel; the file keeps its count of rows."""
    booked = ImportRow.objects.filter(order__in=orders)
    rows = list(booked) + list(ImportRow.objects.filter(joined_into__in=booked))
    for row in rows:
        row.cells, row.corrected, row.problems, row.near = [""] * len(row.cells), {}, {}, []
    return ImportRow.objects.bulk_update(rows, ["cells", "corrected", "problems", "near"], batch_size=BATCH)


# Nothing was booked from them, nor is being.
UNBOOKED = ImportRow.objects.filter(order=None).exclude(state=ImportRow.State.OWED)
deletes("row", "rows of imports", UNBOOKED, "pk")
overwrites("import", "names of files", Import.objects.all(), "pk", file_name=ERASED)
deletes("sender", "columns of imports", ColumnMapping.objects.all(), "sender")
deletes("sender", "imports", Import.objects.all(), "sender")
