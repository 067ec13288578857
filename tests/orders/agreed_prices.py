"""Orders with an agreed price."""

from orders.booking import bookings
from orders.models import Order
from tests.billing.conftest import take as take


def work(order: Order) -> Order:
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    return order
