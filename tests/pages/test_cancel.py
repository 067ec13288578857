"""Cancel: the page first asks what the sender needs. The carrier is asked only if cancelling helps (interface §3)."""

import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.cancelling import cancel_outcomes, cancels
from orders.cancelling.cancel_verdict import Confirmed, StaysBooked
from orders.models import CancelAttempt, Order
from orders.status.transitions import advance
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.carrier.errors import Rejected
from shipping_portal.carrier.messages import Cancelled
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


def test_the_page_first_asks_what_the_sender_needs(page: Client, order: Order) -> None:
    answer = page.get(f"/parcels/{order.uuid}/cancel/")
    for need in (
        "I no longer need to send it",
        "Some details are wrong",
        "I need another pickup day",
        "The driver didn't come",
    ):
        assert need in text(answer)
    words = text(answer)
    assert words.index("Some details are wrong") < words.index("The driver didn't come") < words.index("Cancel parcel")


def test_the_consequences_are_shown_before_a_parcel_is_cancelled(page: Client, order: Order) -> None:
    words = ask(page, order, "not_sending")
    assert f"Cancel {order} to Noor Tamsin?" in words
    assert "Don't use the label until the carrier answers. Once it's cancelled, throw the label away" in words
    assert f"Cancel parcel {order} Keep parcel" in words


def test_a_confirmed_cancel_is_queued_for_the_carrier(page: Client, order: Order) -> None:
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    order.refresh_from_db()
    assert answer["Location"] == f"/parcels/{order.uuid}/"
    assert order.status == "cancelling"
    assert CancelAttempt.objects.count() == 1


@pytest.mark.parametrize(
    ("need", "said"),
    [
        ("another_day", "You don't need to cancel Change the pickup day and keep this label."),
        ("no_driver", "Leave the label on and don't cancel."),
    ],
)
def test_another_day_and_a_missing_driver_never_reach_a_cancel(
    parcel_tools: None, page: Client, order: Order, need: str, said: str
) -> None:
    assert said in ask(page, order, need)
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": need})
    assert answer.status_code == 409
    assert not CancelAttempt.objects.exists()


def test_after_a_second_missed_pickup_the_page_doesnt_wait_for_another(page: Client, order: Order) -> None:
    days = [dt.timedelta(days=back) for back in (20, 9)]
    booked_at, missed = (timezone.now() - ago for ago in days)
    Order.objects.filter(pk=order.pk).update(
        booked_at=booked_at, carrier_pickup_date=missed.date(), first_mile="pickup"
    )
    said = text(page.get(f"/parcels/{order.uuid}/cancel/"))
    assert "Missed twice: you may get a refund, and we're looking into it." in said
    assert "If it's missed again" not in said


@pytest.mark.parametrize("need", ["", "everything", "not_sending'--"])
def test_an_unknown_need_cancels_nothing(page: Client, order: Order, need: str) -> None:
    assert page.post(f"/parcels/{order.uuid}/cancel/", {"need": need}).status_code == 409
    assert not CancelAttempt.objects.exists()


REFUSED = [
    ("pickup_missed", "The driver didn't come. Another driver is booked for"),
    ("pickup_futile", "The driver came but couldn't collect the parcel. Have it ready, then contact us"),
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
def test_an_order_that_is_not_booked_is_not_cancelled(page: Client, quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})
    assert answer.status_code == 409
    assert "There is nothing to cancel" in text(answer)


def test_a_suspended_sender_still_cancels(page: Client, order: Order, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    assert page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"}).status_code == 302


def test_a_parcel_that_cannot_be_cancelled_here_says_whom_to_ask(
    page: Client, order: Order, contract: Callable[[str], None]
) -> None:
    contract('cancel = ""')
    words = ask(page, order, "not_sending")
    assert f"{order} can't be cancelled from here" in words
    assert f"Contact us and quote {order}. We'll ask the carrier." in words
    assert "picked up" not in words


NO_WAY = "Order can not be cancelled; contact support for help."


@pytest.fixture
def refused(order: Order, alice: User) -> Order:
    """A cancellation the carrier refused."""
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancel_outcomes.record(order, order.cancels.get(), StaysBooked(Rejected(422, text=NO_WAY)))
    return order


def test_a_cancel_request_claims_nothing_more_than_that_it_was_sent(page: Client, order: Order) -> None:
    answer = page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"}, follow=True)
    assert "Cancellation requested. Don't use the label until the carrier answers." in text(answer)


BEFORE_THE_YES = [
    ("booked", "/parcels/{uuid}/cancel/?need=not_sending"),
    ("cancelling", "/parcels/{uuid}/"),
    ("cancelling", "/parcels/{uuid}/cancel/"),
    ("cancel_unconfirmed", "/parcels/{uuid}/"),
    ("cancel_unconfirmed", "/parcels/{uuid}/cancel/"),
    ("cancel_asked", "/parcels/{uuid}/"),
    ("cancel_asked", "/parcels/{uuid}/cancel/"),
    ("booked", "/help/cancel-a-parcel/"),
    ("booked", "/help/fix-a-mistake/"),
    ("booked", "/help/terms/"),
]


@pytest.mark.parametrize(("status", "address"), BEFORE_THE_YES)
def test_no_page_says_destroy_the_label_before_the_carrier_agrees(
    page: Client, quill: Sender, alice: User, status: str, address: str
) -> None:
    """Each sentence about destroying the label says first that the carrier must agree."""
    order = factories.order(quill, alice, status=status)
    answer = page.get(address.format(uuid=order.uuid))
    assert answer.status_code == 200
    said_before_the_yes(text(answer))


def test_no_page_says_destroy_several_labels_before_the_carrier_agrees(page: Client, order: Order) -> None:
    said_before_the_yes(text(page.post("/parcels/cancel/", {"order": str(order.uuid)})))
    answer = page.post("/parcels/cancel/", {"order": str(order.uuid), "sure": "yes"}, follow=True)
    assert "Cancellation of 1 parcel requested. Don't use the labels until the carrier answers." in text(answer)


def said_before_the_yes(words: str) -> None:
    sentences = [one for one in re.split(r"(?<=[.!?]) ", words) if re.search("destroy|void|throw", one.casefold())]
    assert all(re.search("once .*(yes|cancelled)", one.casefold()) for one in sentences), sentences


def test_a_refusal_is_on_the_page_with_its_reason_and_what_it_means_for_the_label(page: Client, refused: Order) -> None:
    words = text(page.get(f"/parcels/{refused.uuid}/"))
    said = "It's still booked, and its label is good. If you threw the label away, print it again"
    assert f"Not cancelled: {NO_WAY} {said}" in words
    assert f"Not cancelled: {NO_WAY}" in words[words.index("Booking history") :]


def test_a_refusal_is_a_row_of_today_and_of_the_list(page: Client, refused: Order) -> None:
    assert "Not cancelled, still booked: 1" in text(page.get("/today/"))
    for view in ("not-cancelled", "needs-attention"):
        answer = page.get("/parcels/", {"view": view})
        assert answer.context["count"] == 1
        assert NO_WAY in text(answer)


def test_the_cancel_page_says_a_cancel_was_requested_and_refused_and_why(page: Client, refused: Order) -> None:
    for need in ("", "not_sending"):
        assert f"and not cancelled: {NO_WAY} It's still booked, and its label is good." in ask(page, refused, need)
    assert f"Cancel parcel {refused}" in ask(page, refused, "not_sending")


def test_a_parcel_an_operator_found_still_booked_is_shown_without_the_operators_reason(
    page: Client, quill: Sender, alice: User, sam: User
) -> None:
    order = factories.order(quill, alice, status="cancel_unconfirmed")
    CancelAttempt.objects.create(order=order, state="unknown", asked_at=timezone.now())
    cancel_outcomes.resolve(order, is_cancelled=False, by=sam, reason="Rang Jo at the depot.", now=timezone.now())
    words = text(page.get(f"/parcels/{order.uuid}/"))
    assert "Not cancelled: We asked the carrier: it is still booked there. It's still booked" in words
    assert "Jo" not in words
    assert "it is still booked there." in Notification.objects.get().line


def collected(page: Client, order: Order) -> None:
    advance(order, "collected", at=timezone.now())


def expired(page: Client, order: Order) -> None:
    advance(order, "expired", at=timezone.now())


def kept(page: Client, order: Order) -> None:
    answer = page.post(f"/parcels/{order.uuid}/dismiss/")
    assert answer["Location"] == f"/parcels/{order.uuid}/"


def asked_again(page: Client, order: Order) -> None:
    page.post(f"/parcels/{order.uuid}/cancel/", {"need": "not_sending"})


def cancelled(page: Client, order: Order) -> None:
    asked_again(page, order)
    order.refresh_from_db()
    cancel_outcomes.record(order, order.cancels.get(state="wanted"), Confirmed(Cancelled("Cancelled", "", 200, b"{}")))


def missed(page: Client, order: Order) -> None:
    advance(order, "pickup_missed", at=timezone.now())


@pytest.mark.parametrize(
    ("then", "is_over"),
    [(collected, True), (expired, True), (kept, True), (asked_again, True), (cancelled, True), (missed, False)],
)
def test_a_refusal_is_shown_until_it_no_longer_matters(
    page: Client, refused: Order, then: Callable[[Client, Order], None], is_over: bool
) -> None:
    then(page, refused)
    words = text(page.get(f"/parcels/{refused.uuid}/"))
    assert ("its label is good" in words) != is_over
    assert ("Not cancelled, still booked" in text(page.get("/today/"))) != is_over
    refused.refresh_from_db()
    assert (refused.cancel_refused_at is None) == is_over


@pytest.mark.parametrize("who", ["vic", "bea"])
def test_those_who_may_not_book_cannot_dismiss_a_notice(
    refused: Order, visit: Visit, who: str, request: pytest.FixtureRequest
) -> None:
    page = visit(request.getfixturevalue(who))
    words = text(page.get(f"/parcels/{refused.uuid}/"))
    assert "Not cancelled. It's still booked" in words
    assert "Keep it booked" not in words
    assert page.post(f"/parcels/{refused.uuid}/dismiss/").status_code in (403, 404)
    assert page.post("/parcels/dismiss/", {"order": refused.uuid}).status_code in (403, 404)
    refused.refresh_from_db()
    assert refused.cancel_refused_at
