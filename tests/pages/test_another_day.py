"""Another pickup day is no cancel: it is chosen in parcel tools, or agreed by us without them (§3 rules 3, 4)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from orders import cancelling
from orders.models import Order
from shipping_portal.accounts import mailing
from shipping_portal.accounts.helping import ARTICLES
from shipping_portal.accounts.models import Notice, Sender, User
from shipping_portal.desk import queues
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
NEEDS = ("", "not_sending", "another_day", "no_driver")
PAGES = [
    "/today/",
    "/parcels/",
    "/parcels/{uuid}/",
    "/orders/{uuid}/tracking-page/",
    *(f"/parcels/{{uuid}}/cancel/?need={need}" for need in NEEDS),
    *(f"/help/{article}/" for article in ARTICLES),
]
PROGRESS = ["", "pickup_missed", "pickup_futile", "delivery_attempted", "cannot_deliver", "in_transit"]
TOOLS = "parcel tools"


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    def make(progress: str = "", **fields: Any) -> Order:
        at = timezone.now() if progress else None
        return factories.order(quill, alice, status="booked", progress=progress, progress_at=at, **fields)

    return make


@pytest.mark.parametrize("progress", PROGRESS)
def test_without_a_link_no_page_promises_parcel_tools(
    order: Callable[..., Order], progress: str, alice: User, sam: User, visit: Visit
) -> None:
    made, client = order(progress), visit(alice)
    for page in PAGES:
        answer = client.get(page.format(uuid=made.uuid))
        assert answer.status_code == 200, page
        assert TOOLS not in text(answer).casefold(), page
    refused = client.post("/parcels/cancel/", {"order": [made.uuid]})
    assert TOOLS not in text(refused).casefold()
    assert TOOLS not in text(visit(sam).get(f"/admin/orders/order/{made.pk}/change/")).casefold()


@pytest.mark.parametrize("progress", PROGRESS[1:5])
def test_without_a_link_no_mail_promises_parcel_tools(
    quill: Sender, alice: User, order: Callable[..., Order], progress: str
) -> None:
    order().advance(progress, at=timezone.now())
    mails = mailed()
    assert mails
    assert TOOLS not in " ".join(mails).casefold()


def mailed() -> list[str]:
    Notice.objects.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for pk in Notice.objects.values_list("pk", flat=True):
        mailing.work(pk)
    return [" ".join(str(message.body).split()) for message in mail.outbox]


def test_without_a_link_a_futile_pickup_is_moved_by_us(
    order: Callable[..., Order], alice: User, visit: Visit
) -> None:
    made, client = order(), visit(alice)
    made.advance("pickup_futile", at=timezone.now())
    moved = f"contact us and quote {made}; we'll move the day with the carrier. Don't cancel."
    for page in (f"/parcels/{made.uuid}/", f"/parcels/{made.uuid}/cancel/"):
        answer = client.get(page)
        assert f"Have it ready, then {moved}" in text(answer), page
        assert '<a class="button" href="/help/contact/">Contact us' in answer.content.decode(), page
    assert f"Have it ready, then {moved}" in mailed()[0]
    today = client.get("/today/")
    assert "then contact us and quote its reference; we'll move the day" in text(today)
    assert f"Contact us about {made}" in text(today)
    refused = client.post("/parcels/cancel/", {"order": [made.uuid]})
    assert "Contact us and quote its reference; we'll move the day" in text(refused)


def test_without_a_link_another_day_is_asked_of_us(
    order: Callable[..., Order], alice: User, visit: Visit
) -> None:
    made = order()
    answer = visit(alice).get(f"/parcels/{made.uuid}/cancel/?need=another_day")
    assert f"Contact us and quote {made}; we'll move the day with the carrier. Keep this label." in text(
        answer
    )
    assert '<a class="button" href="/help/contact/">Contact us' in answer.content.decode()
    assert cancelling._forbidden("pickup_futile").endswith("we'll move the day with the carrier.")


@pytest.mark.parametrize("progress", PROGRESS[1:3])
def test_with_a_link_they_are_one_press_away(
    parcel_tools: None, order: Callable[..., Order], progress: str, alice: User, visit: Visit
) -> None:
    made, client = order(progress), visit(alice)
    for page in (f"/parcels/{made.uuid}/", f"/parcels/{made.uuid}/cancel/"):
        assert f'href="/orders/{made.uuid}/tracking-page/"' in client.get(page).content.decode()
        assert "we'll move the day" not in text(client.get(page))


def waiting_for_a_day() -> list[Order]:
    _, rule = queues.ORDER_RULES["futile"]
    return list(Order.objects.filter(rule(timezone.now())))


def test_without_a_link_a_futile_pickup_is_the_operators_until_the_carrier_names_a_later_day(
    order: Callable[..., Order],
) -> None:
    today = timezone.now().date()
    made = order("pickup_futile", carrier_pickup_date=today)
    order("pickup_missed")
    order("in_transit")
    assert waiting_for_a_day() == [made]
    made.note_pickup_date(today + dt.timedelta(days=1))
    assert waiting_for_a_day() == []


def test_with_a_link_the_sender_moves_it(parcel_tools: None, order: Callable[..., Order]) -> None:
    order("pickup_futile")
    assert waiting_for_a_day() == []
