"""Today: its counts are the list's own, its words tell what happens next, and it costs the same on any day."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **{"status": "booked", **fields})


def day(quill: Sender, days: int = 0) -> dt.date:
    return timezone.now().astimezone(quill.tzinfo).date() + dt.timedelta(days=days)


def one_of_everything(order: Callable[..., Order], quill: Sender) -> None:
    factories.stored_label(order())
    missed: dict[str, Any] = {
        "booked_at": timezone.now() - dt.timedelta(days=20),
        "carrier_pickup_date": day(quill, -9),
    }
    for fields in (
        {"status": "rejected", "problem": {"text": "The postcode is not on the route."}},
        {"status": "draft"},
        {"progress": "pickup_futile"},
        {"progress": "damaged"},
        {"status": "unconfirmed"},
        {"status": "cancelled", "used_after_cancel_at": timezone.now()},
        {"progress": "in_transit", "eta_to": day(quill, -2)},
        {"progress": "in_transit", "eta_to": day(quill)},
        {"progress": "delivered", "progress_at": timezone.now()},
        {"carrier_pickup_date": day(quill), "printed_at": timezone.now()},
        {"carrier_pickup_date": day(quill, 30)},
        {"progress": "pickup_missed"},
        missed,
    ):
        order(**fields)


def count_of(answer: Any) -> int:
    found = re.search(r"([\d,]+) parcels?\b", text(answer)[text(answer).index("Filter and sort") :])
    assert found
    return int(found[1])


def test_every_count_is_the_count_of_the_list_it_leads_to(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    """R15."""
    for _ in range(7):
        one_of_everything(order, quill)
    context = page.get("/today/").context
    groups = [*context["needs"], *context["handled"], *context["moving"]]
    assert {group.slug: group.count for group in groups} == {
        group.slug: page.get("/parcels/", {"view": group.slug}).context["count"] for group in groups
    }
    assert len(groups) == 10
    assert all(group.count >= 7 for group in groups)
    assert all(len(group.rows) == 5 for group in groups if group not in context["moving"])
    for pickup in context["pickups"]:
        listed = page.get("/parcels/", {"status": "waiting", "pickup": pickup["day"].isoformat()})
        assert listed.context["count"] == pickup["count"] == 7
    assert [pickup["printed"] for pickup in context["pickups"]] == [7, 0]
    assert f"See all {groups[0].count}" in text(page.get("/today/"))


def test_it_says_what_happens_next(
    parcel_tools: None, page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    one_of_everything(order, quill)
    answer = page.get("/today/")
    words, body = text(answer), answer.content.decode()
    for said in (
        "The postcode is not on the route.",
        "Print 1",
        "Have it ready, then choose a new day under “Change delivery or pickup”. Don’t cancel.",
        "Another driver is booked for the next business day. Leave the label on. Don’t cancel.",
        "Missed twice – this may qualify for a refund; we’ve passed it to the operator.",
        "Don’t book these again",
        "labels printed 1 of 1",
    ):
        assert said in words
    futile = Order.objects.get(progress="pickup_futile")
    assert f'href="/orders/{futile.uuid}/tracking-page/"' in body
    assert words.index("Needs you") < words.index("Being handled") < words.index("On the way: ")


def test_a_quiet_day_and_a_first_day_are_told_apart(
    page: Client, order: Callable[..., Order], vic: User, visit: Visit
) -> None:
    first = text(page.get("/today/"))
    assert "Check a price" in first
    assert "Check a price" not in text(visit(vic).get("/today/"))
    order(progress="delivered", progress_at=timezone.now())
    quiet = text(page.get("/today/"))
    assert "Nothing needs you right now." in quiet
    assert "Check a price" not in quiet
    assert "Last delivered" in quiet


def test_a_bookkeeper_sees_initials_and_no_way_to_book(
    order: Callable[..., Order], quill: Sender, bea: User, visit: Visit
) -> None:
    one_of_everything(order, quill)
    words = text(visit(bea).get("/today/"))
    assert "N. Tamsin" in words
    for hidden in ("Noor", "Open parcel tools", "Print 1", "Fix and book", "The postcode is not"):
        assert hidden not in words


@pytest.mark.parametrize(("who", "prints"), [("ana", True), ("bea", False), ("vic", False)])
def test_only_who_may_book_sees_a_way_to_print(
    order: Callable[..., Order], request: pytest.FixtureRequest, visit: Visit, who: str, prints: bool
) -> None:
    factories.stored_label(order())
    answer = visit(request.getfixturevalue(who)).get("/today/")
    assert "To print" in text(answer)
    assert ("Print the label of STEST00000" in text(answer)) == prints


def test_nobody_elses_parcels_count(order: Callable[..., Order], quill: Sender, bob: User, visit: Visit) -> None:
    one_of_everything(order, quill)
    assert "Check a price" in text(visit(bob).get("/today/"))


def test_it_costs_the_same_on_a_full_day(page: Client, order: Callable[..., Order], quill: Sender) -> None:
    found = []
    page.get("/today/")
    for rounds in (0, 1, 21):
        for _ in range(rounds):
            one_of_everything(order, quill)
        with CaptureQueriesContext(connection) as queries:
            page.get("/today/")
        found.append(len(queries))
    assert Order.objects.count() > 300
    assert found[0] == found[1] == found[2] <= 12, [query["sql"][:90] for query in queries]


def test_it_tells_whether_anything_is_different_and_nothing_else(page: Client, order: Callable[..., Order]) -> None:
    seen = re.search(r'data-ask="(/today/\?seen=[\d-]+)"', page.get("/today/").content.decode())
    assert seen
    assert page.get(seen[1]).status_code == 204
    order(status="rejected", problem={"text": "The postcode is not on the route."})
    answer = page.get(seen[1])
    assert (answer.status_code, answer.content) == (200, b"")
