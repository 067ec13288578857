"""Orders whose price was agreed."""

from orders import booking
from orders.models import Order
from tests.billing.conftest import take as take


def work(order: Order) -> Order:
    booking.work(order.pk)
    order.refresh_from_db()
    return order
