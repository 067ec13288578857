"""The parcels export reads half of an order's columns and writes the same rows as with all of them."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.list import export
from orders.models import Order
from orders.models.statuses import Progress, Status
from shipping_portal.accounts.access import EVERY_MEMBER
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_of_each(quill: Sender, alice: User, ana: User) -> list[Order]:
    """An order in every status, a booked one at every stage, and some rare cases."""
    long_ago = timezone.now() - dt.timedelta(days=30)
    rare: list[dict[str, Any]] = [
        {"status": "booked", "booked_at": long_ago},
        {"status": "booked", "first_mile": "drop-off"},
        {"status": "booked", "charged_price": 3, "note": "=SUM(A1)", "printed_at": long_ago},
        {"status": "booked", "cancel_refused_at": long_ago},
        {"status": "cancelled", "used_after_cancel_at": long_ago},
        {"status": "booked", "size": factories.size(quill)},
    ]
    made = [factories.order(quill, alice, status=status) for status in Status.values]
    made += [
        factories.order(quill, ana, status="booked", progress=one, progress_at=long_ago) for one in Progress.values
    ]
    return made + [factories.order(quill, alice, **fields) for fields in rare]


@pytest.mark.parametrize("role", sorted(EVERY_MEMBER))
def test_a_row_is_the_same_as_from_the_whole_order(one_of_each: list[Order], quill: Sender, role: str) -> None:
    _, cells = export.export_columns(role, quill)
    now = timezone.now()
    whole = [cells(order, now) for order in Order.objects.order_by("pk")]
    with CaptureQueriesContext(connection) as queries:
        assert [cells(order, now) for order in export.read_orders(Order.objects.order_by("pk"), quill)] == whole
    assert len(queries) == 4, "the rows, two people, one size; nothing is read again for a row"


def test_a_size_deleted_while_the_file_is_written_leaves_its_cell_blank(quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booked")
    factories.order(quill, alice, status="booked", size=factories.size(quill))
    orders = export.read_orders(Order.objects.order_by("pk"), quill)
    assert next(orders).size is None
    quill.sizes.all().delete()
    assert [order.size for order in orders] == [None]


def test_the_columns_are_in_the_models_order() -> None:
    names = [field.attname for field in Order._meta.concrete_fields]
    assert list(export.COLUMNS) == [name for name in names if name in export.COLUMNS]
