"""Cancel: the need is asked first, and only needs that cancelling serves ever reach the carrier (interface §3)."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import CancelAttempt, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


def ask(page: Client, order: Order, need: str) -> str:
    return text(page.get(f"/parcels/{order.uuid}/cancel/?need={need}"))


def test_the_need_is_asked_first(page: Client, order: Order) -> None:
    answer = page.get(f"/parcels/{order.uuid}/cancel/")
    for need in (
        "I'm not sending it",
        "Something is wrong on it",
        "I need another pickup day",
        "The driver didn't come",
    ):
        assert need in text(answer)
    assert "Cancel parcel" not in text(answer)


def test_not_sending_it_shows_what_follows_before_it_cancels(page: Client, order: Order) -> None:
    words = ask(page, order, "not_sending")
    assert f"Cancel {order} to Noor Tamsin?" in words
    assert "Destroy the label. If it's used after cancelling, the carrier charges for it." in words
    assert f"Cancel parcel {order} Keep parcel" in words


def test_a_confirmed_cancel_is_owed_to_the_carrier(page: Client, order: Order) -> None:
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    order.refresh_from_db()
    assert answer["Location"] == f"/parcels/{order.uuid}/"
    assert order.status == "cancelling"
    assert CancelAttempt.objects.count() == 1


@pytest.mark.parametrize(
    ("need", "said"),
    [
        ("another_day", "You don't need to cancel Change the day in parcel tools and keep this label."),
        ("no_driver", "Leave the label on and don't cancel."),
    ],
)
def test_another_day_and_a_missing_driver_never_reach_a_cancel(
    page: Client, order: Order, need: str, said: str
) -> None:
    assert said in ask(page, order, need)
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": need})
    assert answer.status_code == 409
    assert not CancelAttempt.objects.exists()


@pytest.mark.parametrize("need", ["", "everything", "not_sending'--"])
def test_a_need_that_is_none_cancels_nothing(page: Client, order: Order, need: str) -> None:
    assert page.post(f"/parcels/{order.uuid}/cancel/", {"need": need}).status_code == 409
    assert not CancelAttempt.objects.exists()


REFUSED = [
    ("pickup_missed", "The driver didn't come. Another driver is booked for"),
    (
        "pickup_futile",
        "The driver came but couldn't collect the parcel. Have it ready, then choose a new day",
    ),
    ("collected", "It's already been picked up, so it can't be cancelled."),
    ("delivered", "It's already been picked up, so it can't be cancelled."),
    ("expired", "Its label is too old to use, so no driver comes."),
]


@pytest.mark.parametrize(("progress", "said"), REFUSED)
def test_a_parcel_that_must_not_be_cancelled_is_refused_with_its_reason(
    page: Client, quill: Sender, alice: User, progress: str, said: str
) -> None:
    order = factories.order(quill, alice, status="booked", progress=progress, progress_at=timezone.now())
    shown = page.get(f"/parcels/{order.uuid}/cancel/?need=not_sending")
    refused = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    assert (shown.status_code, refused.status_code) == (200, 409)
    for answer in (shown, refused):
        assert said in text(answer)
        assert "Cancel parcel" not in text(answer)
    assert not CancelAttempt.objects.exists()


@pytest.mark.parametrize("status", ["draft", "booking", "rejected", "unconfirmed", "cancelling", "cancelled"])
def test_what_is_not_booked_is_not_cancelled(page: Client, quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    assert answer.status_code == 409
    assert "There is nothing to cancel" in text(answer)


def test_a_suspended_sender_still_cancels(page: Client, order: Order, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", at=timezone.now())
    assert page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"}).status_code == 302


def test_what_cannot_be_cancelled_from_here_says_whom_to_ask(
    page: Client, order: Order, contract: Callable[[str], None]
) -> None:
    contract('cancel = ""')
    words = ask(page, order, "not_sending")
    assert f"{order} can't be cancelled from here" in words
    assert f"Contact us and quote {order}; we'll ask the carrier." in words
    assert "picked up" not in words
