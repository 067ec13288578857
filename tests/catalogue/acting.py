"""Run the portal's jobs in a test, and read what is waiting in the admin."""

from collections.abc import Callable

from django.utils import timezone

from orders.booking import bookings, resolving
from orders.labels import fetching
from orders.models import Label, Order
from shipping_portal.staff import queues

Book = Callable[[], Order]
Read = Callable[[Order], str]


def work(order: Order) -> Order:
    """Do whatever is due for this order, without waiting for its time."""
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    bookings.process_booking(order.pk)
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    return order


def fetch(order: Order) -> Label:
    """Try once to fetch the full-page label, without waiting for its time, and return it."""
    order.labels.update(is_spare=False)  # both are wanted
    label = order.labels.get(size="full")
    Label.objects.filter(pk=label.pk, due_at__isnull=False).update(due_at=timezone.now())
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    return label


def waiting(name: str) -> int:
    """Return the admin's count for the queue with this name."""
    return next(queue.count for queue in queues.waiting_queues(timezone.now()) if queue.name == name)
