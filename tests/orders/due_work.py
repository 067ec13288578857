"""Do an order's due work without waiting for its time."""

from django.utils import timezone

from orders.booking import bookings, resolving
from orders.cancelling import cancels
from orders.models import Order


def work(order: Order) -> Order:
    """Book the order, or look for it at the carrier."""
    _make_due(order)
    bookings.process_booking(order.pk)
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    return order


def cancel(order: Order) -> Order:
    """Ask the carrier to cancel the order, or check whether it did."""
    _make_due(order)
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    return order


def _make_due(order: Order) -> None:
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
