"""Find repeated order numbers: booked, waiting to be booked, or earlier in the same file.

A sender who saw the warning and kept the row anyway isn't asked again.
"""

from collections.abc import Collection

from django.db.models import Q

from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.importing.models import Import, ImportRow

State = ImportRow.State
NOT_BOUGHT = (Status.REJECTED, Status.NOT_BOOKED, Status.CANCELLED)
ANYWAY = "anyway"  # key in a row's corrections


def reference_of(row: ImportRow, typed: str) -> str:
    """Return the row's order number, or "" if it has none or all rows share one."""
    is_own = "customer_reference" in row.file.columns or "customer_reference" in row.corrected
    return typed if is_own and row.file.constants.get("customer_reference") != typed else ""


def find_booked_order(row: ImportRow, reference: str) -> str:
    """Return the order that has this number, or "" if none has it or the row was allowed."""
    if not reference or row.corrected.get(ANYWAY):
        return ""
    # older orders kept its dashes
    as_written = row.cell_of("customer_reference").strip() or reference
    orders = Order.objects.filter(
        sender=row.file.sender, customer_reference__in={reference, as_written}
    )
    others = orders.exclude(status__in=NOT_BOUGHT).exclude(form_token=row.token)
    order = others.order_by("-pk").first()
    return _booked_sentence(order) if order else ""


def find_earlier_row(row: ImportRow, reference: str) -> str:
    """Return the earlier row with this number. Unchecked rows are read as typed."""
    if not reference or row.corrected.get(ANYWAY):
        return ""
    same, place = Q(reference=reference), row.file.columns.get("customer_reference")
    if place is not None:
        same |= Q(reference="", **{f"cells__{place}": reference})
    earlier = row.file.rows.filter(same, number__lt=row.number)
    # A checked row, which has its reference, takes precedence over rows that are read as typed.
    first = (
        earlier.exclude(state__in=(State.SKIPPED, State.JOINED))
        .order_by("-reference", "number")
        .first()
    )
    return f"Your order number {reference} is on row {first.number} too." if first else ""


def leave_out(file: Import, states: Collection[str]) -> None:
    """Skip rows in these states whose order number was booked or queued after their check."""
    rows = (
        file.rows.filter(state__in=states).exclude(reference="").exclude(corrected__has_key=ANYWAY)
    )
    seen: dict[str, str] = {}
    mine = list(rows.only("pk", "number", "reference").order_by("number"))
    taken = _taken_messages(file, sorted({row.reference for row in mine}))
    for row in mine:
        text = taken.get(row.reference) or seen.get(row.reference)
        if text:
            same = file.rows.filter(pk=row.pk, state__in=states)
            same.update(state=State.SKIPPED, problems={"": [text]}, due_at=None)
        seen[row.reference] = f"Your order number {row.reference} is on row {row.number} too."


def _taken_messages(file: Import, references: list[str]) -> dict[str, str]:
    """Return the message for each number that is booked or waiting to be booked."""
    found = {}
    due = ImportRow.objects.filter(
        file__sender=file.sender, state=State.DUE, reference__in=references
    )
    for reference, name in due.values_list("reference", "file__file_name"):
        found[reference] = f"Your order number {reference} waits to be booked, from {name}."
    orders = Order.objects.filter(sender=file.sender, customer_reference__in=references)
    for order in orders.exclude(status__in=NOT_BOUGHT).order_by("pk"):
        found[order.customer_reference] = _booked_sentence(order)
    return found


def _booked_sentence(order: Order) -> str:
    state = f"is booked already: {order}" if order.is_held else "has a parcel already"
    return f"Your order number {order.customer_reference} {state}."
