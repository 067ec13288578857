"""Order numbers that are there twice: booked before, waiting to be booked, or on an earlier row of the same file.

Whoever was told of it and took the row all the same is not asked again.
"""

from collections.abc import Collection

from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.importing.models import Import, ImportRow

State = ImportRow.State
NOT_BOUGHT = (Status.REJECTED, Status.NOT_BOOKED, Status.CANCELLED)
ANYWAY = "anyway"  # among a row's corrections
AT_ONCE = 500


def reference_of(row: ImportRow, typed: str) -> str:
    """Return the row's own order number; "" where it has none, or the sender gave all rows the same one."""
    is_own = "customer_reference" in row.file.columns or "customer_reference" in row.corrected
    return typed if is_own and row.file.constants.get("customer_reference") != typed else ""


def bought(row: ImportRow, reference: str) -> str:
    """Return which order has this order number; "" when none has, or the row was let through."""
    if not reference or row.corrected.get(ANYWAY):
        return ""
    place = row.file.columns.get("customer_reference", len(row.cells))
    as_written = row.cells[place].strip() if place < len(row.cells) else reference  # older orders kept its dashes
    orders = Order.objects.filter(sender=row.file.sender, customer_reference__in={reference, as_written})
    order = orders.exclude(status__in=NOT_BOUGHT).order_by("-pk").first()
    return _already(order) if order else ""


def on_an_earlier_row(row: ImportRow, reference: str) -> str:
    """Return the row of the same file that has it too. Rows that are not checked yet are read as typed."""
    if not reference or row.corrected.get(ANYWAY):
        return ""
    place = row.file.columns.get("customer_reference")
    earlier = row.file.rows.filter(number__lt=row.number).exclude(state__in=(State.SKIPPED, State.JOINED))
    first = earlier.filter(reference=reference).first()
    if first is None and place is not None:
        first = earlier.filter(reference="", **{f"cells__{place}": reference}).first()
    return f"Your order number {reference} is on row {first.number} too." if first else ""


def leave_out(file: Import, states: Collection[str]) -> None:
    """Skip rows of these states whose order number was bought, or waits to be, since they were checked."""
    rows = file.rows.filter(state__in=states).exclude(reference="").exclude(corrected__has_key=ANYWAY)
    seen: dict[str, str] = {}
    mine = list(rows.only("pk", "number", "reference").order_by("number"))
    taken = _taken(file, sorted({row.reference for row in mine}))
    for row in mine:
        text = taken.get(row.reference) or seen.get(row.reference)
        if text:
            same = file.rows.filter(pk=row.pk, state__in=states)
            same.update(state=State.SKIPPED, problems={"": [text]}, due_at=None)
        seen[row.reference] = f"Your order number {row.reference} is on row {row.number} too."


def _taken(file: Import, references: list[str]) -> dict[str, str]:
    """Return what is to be said of each of these that an order has, or that waits to be booked."""
    found: dict[str, str] = {}
    for start in range(0, len(references), AT_ONCE):
        some = references[start : start + AT_ONCE]
        owed = ImportRow.objects.filter(file__sender=file.sender, state=State.OWED, reference__in=some)
        for reference, name in owed.values_list("reference", "file__file_name"):
            found[reference] = f"Your order number {reference} waits to be booked, from {name}."
        orders = Order.objects.filter(sender=file.sender, customer_reference__in=some)
        for order in orders.exclude(status__in=NOT_BOUGHT).order_by("pk"):
            found[order.customer_reference] = _already(order)
    return found


def _already(order: Order) -> str:
    state = f"is booked already: {order}" if order.is_held else "has a parcel already"
    return f"Your order number {order.customer_reference} {state}."
