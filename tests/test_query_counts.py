"""Pages take the same number of queries for 1, 3 and 300 rows, and never more than twelve."""

import uuid
from collections.abc import Callable

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tracking.models import TrackingEvent

pytestmark = pytest.mark.django_db

MOST = 13
MOST_OF_THE_LIST = 8
MOST_OF_THE_ADMIN = 15
Visit = Callable[[User], Client]


def queries(client: Client, url: str) -> int:
    """Return the queries of a second visit, since the first may have to fill in content types."""
    client.get(url)
    with CaptureQueriesContext(connection) as seen:
        assert client.get(url).status_code == 200
    return len([q for q in seen.captured_queries if "SAVEPOINT" not in q["sql"]])


def orders(count: int, sender: Sender, by: User) -> None:
    """Create booked orders, each with a parcel, a label, a scan and a change."""
    for _ in range(count):
        order = factories.order(sender, by, status="booked")
        factories.stored_label(order)
        factories.event(factories.parcel(order))


def many_more(count: int) -> None:
    """Create `count` more copies of the newest order in a few statements."""
    last = Order.objects.latest("pk")
    Order.objects.bulk_create(factories.copy_of(last, number) for number in range(count))


def test_the_parcels_list_takes_few_queries(quill: Sender, alice: User, visit: Visit) -> None:
    client, found = visit(alice), []
    for more in (1, 2):
        orders(more, quill, alice)
        found.append(queries(client, reverse("parcels")))
    many_more(297)
    found.append(queries(client, reverse("parcels")))
    assert found[0] == found[1] == found[2] <= MOST_OF_THE_LIST


def test_the_first_pages_take_few_queries(quill: Sender, alice: User, sam: User, visit: Visit) -> None:
    orders(3, quill, alice)
    assert queries(visit(alice), reverse("today")) <= 10
    assert queries(visit(sam), reverse("admin:index")) <= MOST_OF_THE_ADMIN


def test_the_list_of_drafts_takes_few_queries(quill: Sender, alice: User, ana: User, visit: Visit) -> None:
    client, found = visit(alice), []
    for more in (1, 2, 40):
        for _ in range(more):
            factories.draft(quill, ana)
        found.append(queries(client, reverse("parcels") + "?view=drafts"))
    assert found[0] == found[1] == found[2] <= MOST


def test_a_parcels_page_with_many_scans_takes_few_queries(quill: Sender, alice: User, visit: Visit) -> None:
    orders(1, quill, alice)
    order, client, found = Order.objects.get(), visit(alice), []
    for scans in (0, 2, 297):
        TrackingEvent.objects.bulk_create(factories.scan(order.parcel) for _ in range(scans))
        found.append(queries(client, reverse("parcel", args=[order.uuid])))
    assert TrackingEvent.objects.count() == 300
    assert found[0] == found[1] == found[2] <= MOST


def test_the_operators_lists_take_few_queries(quill: Sender, alice: User, sam: User, visit: Visit) -> None:
    client, found = visit(sam), []
    names = [f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry]
    urls = [reverse(f"admin:{name}_changelist") for name in names]
    for more in (1, 2):
        orders(more, quill, alice)
        found.append({url: queries(client, url) for url in urls})
    many_more(297)
    found.append({url: queries(client, url) for url in urls})
    assert found[0] == found[1] == found[2]
    assert not {url: count for url, count in found[0].items() if count > MOST}


def test_a_parcel_of_an_order_of_several_takes_few_queries(quill: Sender, alice: User, visit: Visit) -> None:
    client, found = visit(alice), []
    for count in (2, 10):
        together = {"consignment": uuid.uuid4(), "parcel_count": count}
        for number in range(1, count + 1):
            order = factories.order(quill, alice, status="booked", parcel_number=number, **together)
            factories.parcel(order)
        found.append(queries(client, reverse("parcel", args=[order.uuid])))
    assert found[0] == found[1]
