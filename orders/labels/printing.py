"""Track which labels wait to be printed, and who printed which. Opening one isn't printing it."""

import datetime as dt
import re
import uuid
from collections.abc import Callable, Collection
from typing import Any

from django.db import transaction
from django.db.models import (
    Case,
    DateField,
    Exists,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from orders.drafting.parcel_details import items_from
from orders.models import Label, Order
from orders.models.order import OPEN
from orders.models.statuses import WITH_THE_SENDER, Status
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.models.audit import subject_of

MOST = 500  # labels in one queue or one ZIP
TO_PRINT = "labels-to-print"
PRINTED = "label printed"  # in the audit
_LABELS = Label.objects.filter(order=OuterRef("pk"))
_STORED = _LABELS.filter(state=Label.State.STORED, purged_at=None)
_PRINTABLE = _STORED.filter(is_worthless=False)
IS_WORTHLESS = Exists(_LABELS.filter(is_worthless=True))
PICKUP_DAY = Coalesce("carrier_pickup_date", "pickup_date", output_field=DateField())
BY_DRIVER = ~Q(first_mile="drop-off")
# A return's label is printed by the person who sends it back.
_WAITING = Q(
    status=Status.BOOKED, progress__in=WITH_THE_SENDER, printed_at=None, returns__isnull=True
)
# Keep the label last: in a conditional sum PostgreSQL looks it up only if the rest is true.
UNPRINTED = _WAITING & Q(Exists(_PRINTABLE))


def to_print(orders: QuerySet[Order], *, today: dt.date) -> QuerySet[Order]:
    """Return booked orders with an unprinted label, today's pickups first, then by day.

    Orders with a worthless label are included, so that the page can say that it leaves them out.
    """
    pickup_day = Case(When(BY_DRIVER, then=PICKUP_DAY), output_field=DateField())
    queue = orders.filter(_WAITING, Exists(_STORED)).annotate(pickup_day=pickup_day)
    is_today = Case(
        When(pickup_day=today, then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    return queue.order_by(is_today, _nulls_last(), "pickup_day", "pk")


def count_unprinted(request: Any, *, most: int) -> int:
    """Return how many labels this request's account has to print, up to `most`.

    Whatever the statistics say, PostgreSQL reads open orders by their index and looks for the label
    of each: unlike EXISTS, it can't turn this subquery into a join of all orders and all labels.
    """
    label = Subquery(_PRINTABLE.values("pk")[:1])
    mine = Order.objects.for_user(request.user).filter(sender=request.sender)
    waiting = mine.filter(OPEN, _WAITING).alias(label=label).filter(label__isnull=False)
    return waiting.order_by()[:most].count()


def _nulls_last() -> Case:
    return Case(When(pickup_day=None, then=Value(1)), default=Value(0), output_field=IntegerField())


def chosen_orders(orders: QuerySet[Order], uuids: Collection[uuid.UUID]) -> list[Order]:
    """Return these orders, printed before or not, in the order they were chosen."""
    place = {one: number for number, one in enumerate(uuids)}
    return sorted(orders.filter(uuid__in=uuids), key=lambda order: place[order.uuid])


def label_of(order: Order) -> Label | None:
    """Return the stored label to print: in this sender's size, otherwise in the other one.

    A worthless label can only be opened from its parcel's page.
    """
    if not order.is_booked:
        return None
    ready = [label for label in order.labels.all() if label.is_printable]
    return min(ready, key=lambda label: label.size != order.sender.label_size, default=None)


def has_worthless_label(order: Order) -> bool:
    """Return whether an order is booked with a label that was made with a test key."""
    return order.is_booked and any(label.is_worthless for label in order.labels.all())


def pack_list(order: Order) -> list[tuple[int, str]]:
    """Return the contents as (quantity, name) lines; one line if only a description was typed."""
    return [(item.quantity, item.description) for item in items_from(order.contents)] or [
        (1, order.description)
    ]


def _as_listed(order: Order) -> tuple[Any, ...]:
    return ()


def _by_number(order: Order) -> tuple[Any, ...]:
    """Sort by the sender's order number, 9 before 10; parcels without one come last."""
    parts = re.split(r"(\d+)", order.customer_reference.casefold())
    return not order.customer_reference, [int(part) if part.isdecimal() else part for part in parts]


def _by_size(order: Order) -> tuple[Any, ...]:
    """Sort named sizes first, by name; then the others, small to large."""
    name = order.size.name.casefold() if order.size else ""
    return not name, name, order.length_cm * order.width_cm * order.height_cm, order.weight_kg


def _by_pickup_address(order: Order) -> tuple[Any, ...]:
    place = order.pickup
    return place["suburb"].casefold(), place["postcode"], place["line1"].casefold()


SORTS: dict[str, tuple[str, Callable[[Order], tuple[Any, ...]]]] = {
    "listed": ("As listed", _as_listed),
    "number": ("By order number", _by_number),
    "size": ("By size", _by_size),
    "pickup": ("By pickup address", _by_pickup_address),
}


def mark_printed(order: Order, *, by: User, at: dt.datetime) -> bool:
    """Record that the label was printed. Return False if somebody already did; their record stays.

    Raises WrongStatus unless booked.
    """
    return _mark_printed(
        order, Q(printed_at=None), PRINTED, by=by, at=at, printed_at=at, printed_by=by
    )


@transaction.atomic
def mark_all_printed(orders: QuerySet[Order], *, by: User, at: dt.datetime) -> list[Order]:
    """Record that these labels were printed, like `mark_printed`.

    Returns the orders as they were before.
    """
    # Always lock in the same order, so that two simultaneous calls never deadlock.
    found = list(orders.order_by("pk").select_for_update(of=("self",), no_key=True))
    marked = [order for order in found if order.is_booked and order.printed_at is None]
    Order.objects.filter(pk__in=[order.pk for order in marked]).update(printed_at=at, printed_by=by)
    Audit.objects.bulk_create(
        Audit(at=at, actor=by, sender_id=order.sender_id, action=PRINTED, subject=subject_of(order))
        for order in marked
    )
    return found


def mark_reprinted(order: Order, *, by: User, at: dt.datetime) -> bool:
    """Record a reprint: the newest print is the one on the parcel."""
    printed = Q(printed_at__isnull=False)
    return _mark_printed(
        order, printed, "label reprinted", by=by, at=at, printed_at=at, printed_by=by
    )


def unmark_printed(order: Order, *, by: User, at: dt.datetime) -> bool:
    """Record that a label wasn't printed after all, so that it waits again."""
    printed = Q(printed_at__isnull=False)
    return _mark_printed(
        order, printed, "label not printed", by=by, at=at, printed_at=None, printed_by=None
    )


@transaction.atomic
def _mark_printed(
    order: Order,
    only_if: Q,
    action: str,
    *,
    by: User,
    at: dt.datetime,
    **changes: dt.datetime | User | None,
) -> bool:
    """Write printed_at and its audit row. Only this and `mark_all_printed` write it."""
    if not order.is_booked:
        raise Order.WrongStatus(f"{order} is {order.get_status_display().lower()}")
    if not Order.objects.filter(only_if, pk=order.pk, status=Status.BOOKED).update(**changes):
        return False
    for name, value in changes.items():
        setattr(order, name, value)
    Audit.write(action, order, by=by, sender=order.sender, at=at)
    return True
