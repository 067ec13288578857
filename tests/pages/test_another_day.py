"""Another pickup day never needs a cancellation: senders choose it in parcel tools, or we arrange it (§3 rules 3 and
4).
"""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from orders.cancelling import cancel_rules
from orders.models import CarrierAccount, Order
from orders.status.transitions import advance
from shipping_portal.accounts.mail import mailing
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.accounts.views.front import ARTICLES
from shipping_portal.staff import queues
from tests import factories, older
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


def names_tools(words: str) -> bool:
    return "parcel tools" in words.casefold() or "change delivery or pickup" in words.casefold()


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
        assert not names_tools(text(answer)), page
    refused = client.post("/parcels/cancel/", {"order": [made.uuid]})
    assert not names_tools(text(refused))
    assert not names_tools(text(visit(sam).get(f"/admin/orders/order/{made.pk}/change/")))


@pytest.mark.parametrize("progress", PROGRESS[1:5])
def test_without_a_link_no_email_promises_parcel_tools(
    quill: Sender, alice: User, order: Callable[..., Order], progress: str
) -> None:
    advance(order(), progress, at=timezone.now())
    mails = mailed()
    assert mails
    assert not names_tools(" ".join(mails))


def mailed() -> list[str]:
    Notification.objects.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for pk in Notification.objects.values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    return [" ".join(str(message.body).split()) for message in mail.outbox]


def test_without_a_link_a_futile_pickup_is_moved_by_us(order: Callable[..., Order], alice: User, visit: Visit) -> None:
    made, client = order(), visit(alice)
    advance(made, "pickup_futile", at=timezone.now())
    moved = f"contact us and quote {made}; we'll move the day with the carrier. Don't cancel."
    for page in (f"/parcels/{made.uuid}/", f"/parcels/{made.uuid}/cancel/"):
        answer = client.get(page)
        assert f"Have it ready, then {moved}" in text(answer), page
        assert '<a class="btn go" href="/help/contact/">Contact us' in answer.content.decode(), page
    assert f"Have it ready, then {moved}" in mailed()[0]
    today = client.get("/today/")
    assert "then contact us and quote its reference; we'll move the day" in text(today)
    assert f"Contact us about {made}" in text(today)
    refused = client.post("/parcels/cancel/", {"order": [made.uuid]})
    assert "Don't cancel: contact us and quote its reference; we'll move the day" in text(refused)


def test_without_a_link_senders_ask_us_for_another_day(order: Callable[..., Order], alice: User, visit: Visit) -> None:
    made = order()
    answer = visit(alice).get(f"/parcels/{made.uuid}/cancel/?need=another_day")
    assert f"Contact us and quote {made}; we'll move the day with the carrier. Keep this label." in text(answer)
    assert '<a class="btn go" href="/help/contact/">Contact us' in answer.content.decode()
    assert forbidden(made).endswith("we'll move the day with the carrier.")


@pytest.mark.parametrize("progress", PROGRESS[1:3])
def test_with_a_link_parcel_tools_are_one_click_away(
    parcel_tools: None, order: Callable[..., Order], progress: str, alice: User, visit: Visit
) -> None:
    made, client = order(progress), visit(alice)
    for page in (f"/parcels/{made.uuid}/", f"/parcels/{made.uuid}/cancel/"):
        assert f'href="/orders/{made.uuid}/tracking-page/"' in client.get(page).content.decode()
        assert "we'll move the day" not in text(client.get(page))


def waiting_for_a_day() -> list[Order]:
    return list(Order.objects.filter(queues.futile_pickups(timezone.now())))


def test_without_a_link_a_futile_pickup_is_the_operators_job_until_a_later_day_is_known(
    quill: Sender, order: Callable[..., Order]
) -> None:
    today = timezone.now().astimezone(quill.tzinfo).date()
    made = order("pickup_futile", carrier_pickup_date=today)
    order("pickup_missed")
    order("in_transit")
    assert waiting_for_a_day() == [made]
    made.note_pickup_date(today + dt.timedelta(days=1))
    assert waiting_for_a_day() == []


@pytest.mark.parametrize(
    ("place", "futile_at"),
    [
        ({"country": "AU", "state": "VIC", "postcode": "3065"}, dt.datetime(2026, 11, 23, 21, 30, tzinfo=dt.UTC)),
        ({"country": "US", "state": "OR", "postcode": "97209"}, dt.datetime(2026, 11, 25, 1, tzinfo=dt.UTC)),
        ({"country": "US", "state": "TX", "postcode": "79901"}, dt.datetime(2026, 11, 25, 6, 30, tzinfo=dt.UTC)),
    ],
    ids=[
        "half past eight in the morning in Fitzroy",
        "five in the afternoon in Portland",
        "half past eleven at night in El Paso, not in the rest of Texas",
    ],
)
def test_a_day_is_later_by_the_calendar_at_the_pickup_address(
    order: Callable[..., Order], place: dict[str, str], futile_at: dt.datetime
) -> None:
    """The drivers came on the 24th, which in UTC was the 23rd or the 25th."""
    made = order("pickup_futile", pickup=place)
    Order.objects.filter(pk=made.pk).update(progress_at=futile_at)
    waits = {}
    for day in (24, 25):
        made.note_pickup_date(dt.date(2026, 11, day))
        waits[day] = waiting_for_a_day() == [made]
    assert waits == {24: True, 25: False}


@pytest.fixture
def linked(settings: Any, tmp_path: Path) -> CarrierAccount:
    """An older account with parcel tools, beside a new one without."""
    file = tmp_path / "older.toml"
    file.write_text(older.LINKED)
    return older.named(settings, CONTRACT=str(file))


def forbidden(order: Order) -> str:
    now = timezone.now()
    return cancel_rules.why_not_cancelled_now(order, "pickup_futile", now, now=now)


def told_everywhere(order: Order, client: Client) -> list[str]:
    """Return every text about another day after a futile pickup: pages, bulk cancel, the cancel check and the email."""
    advance(order, "pickup_futile", at=timezone.now())
    pages = [client.get(page) for page in (f"/parcels/{order.uuid}/", f"/parcels/{order.uuid}/cancel/")]
    pages.append(client.post("/parcels/cancel/", {"order": [order.uuid]}))
    return [*map(text, pages), forbidden(order), *mailed()]


def test_an_older_accounts_parcel_keeps_the_tools_of_its_own_contract(
    linked: CarrierAccount, order: Callable[..., Order], alice: User, visit: Visit
) -> None:
    made, client = order(account=linked), visit(alice)
    for words in told_everywhere(made, client):
        assert "choose a new day under “change delivery or pickup”" in words.casefold()
    assert f'href="/orders/{made.uuid}/tracking-page/"' in client.get("/today/").content.decode()
    assert "Change delivery or pickup for" in text(client.get(f"/orders/{made.uuid}/tracking-page/"))
    assert waiting_for_a_day() == []


@pytest.mark.parametrize("is_named", [True, False])
def test_no_parcel_is_promised_the_tools_of_another_account(
    parcel_tools: None, settings: Any, order: Callable[..., Order], alice: User, visit: Visit, is_named: bool
) -> None:
    made, client = order(account=older.named(settings) if is_named else older.unnamed()), visit(alice)
    for words in told_everywhere(made, client):
        assert not names_tools(words)
        assert "contact us and quote" in words.casefold()
    today = client.get("/today/")
    assert f"Contact us about {made}" in text(today)
    assert not names_tools(text(today))
    assert not names_tools(text(client.get(f"/orders/{made.uuid}/tracking-page/")))
    assert waiting_for_a_day() == [made]


def test_with_a_link_the_sender_moves_it(parcel_tools: None, order: Callable[..., Order]) -> None:
    order("pickup_futile")
    assert waiting_for_a_day() == []
