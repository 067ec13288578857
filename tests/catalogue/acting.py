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
    """Do whatever is due for this order, as if its time had come."""
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    bookings.process_booking(order.pk)
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    return order


def fetch(order: Order) -> Label:
    """The full-page label after one try, as if its time had come."""
    order.labels.update(is_spare=False)  # both are wanted
    label = order.labels.get(size="full")
    Label.objects.filter(pk=label.pk, due_at__isnull=False).update(due_at=timezone.now())
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    return label


def waiting(name: str) -> int:
    """The admin's count in the queue of this name."""
    return next(queue.count for queue in queues.waiting_queues(timezone.now()) if queue.name == name)
