"""Erase personal data in imports: the cells of rows as typed, and their corrections."""

from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs.erasing import BATCH, Keys, Reasons, eraser, objection
from shipping_portal.jobs.retention import delete


@objection("row")
def still_due(rows: Keys) -> Reasons:
    due = ImportRow.objects.filter(pk__in=rows, state=ImportRow.State.DUE)
    for key in due.values_list("pk", flat=True):
        yield (
            key,
            "It is being booked. Try again once its parcel is delivered: the parcel is found then.",
        )


@objection("sender")
def rows_due(senders: Keys) -> Reasons:
    due = ImportRow.objects.filter(file__sender__in=senders, state=ImportRow.State.DUE)
    for key in due.values_list("file__sender", flat=True).distinct().order_by():
        yield (
            key,
            "An import is being booked. Try again once it is finished, or leave out its rows.",
        )


@eraser("order", "rows of imports")
def erase_booked(orders: Keys) -> int:
    """Empty these orders' rows and other rows of the same parcel. The file keeps its row count."""
    booked = ImportRow.objects.filter(order__in=orders)
    rows = list(booked) + list(ImportRow.objects.filter(joined_into__in=booked))
    for row in rows:
        row.cells, row.corrected, row.problems, row.near = [""] * len(row.cells), {}, {}, []
    return ImportRow.objects.bulk_update(
        rows, ["cells", "corrected", "problems", "near"], batch_size=BATCH
    )


@eraser("row", "rows of imports")
def erase_rows(rows: Keys) -> int:
    """Delete rows that weren't booked and aren't being booked."""
    unbooked = ImportRow.objects.filter(pk__in=rows, order=None).exclude(state=ImportRow.State.DUE)
    return delete(unbooked)
