"""A parcel at EasyPost through the portal: two calls and one purchase, whatever happens to a reply."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings, recording, resolving
from orders.cancelling import cancels
from orders.drafting import returning
from orders.labels import fetching
from orders.models import CarrierAccount, Order
from orders.quoting import asking
from shipping_portal.accounts.models import Membership, Notification, Sender, User
from shipping_portal.sandbox.easypost.config import Config
from tests import factories
from tests.easypost_account import at_easypost
from tests.orders.due_work import cancel, work
from tests.sandbox.client import Client
from tracking import polling
from tracking.models import Poll

pytestmark = pytest.mark.django_db


@pytest.fixture
def easypost(tmp_path: Path, settings: Any) -> Iterator[Client]:
    with at_easypost(settings, tmp_path) as address:
        yield Client(address)


@pytest.fixture
def submit(easypost: Client, quill: Sender, alice: User) -> Callable[..., Order]:
    def make(**changes: Any) -> Order:
        now = timezone.now()
        quote = asking.ask_for_prices(quill, factories.details(quill, **changes), by=alice, now=now)
        token, code = uuid.uuid4(), "AustraliaPost:ParcelPost"
        return bookings.submit(quote=quote, code=code, by=alice, form_token=token, pickup_date=None, now=now)

    return make


def bought(easypost: Client) -> int:
    return len(easypost.effects("bought"))


def test_a_parcel_is_booked_labelled_and_tracked(submit, easypost):
    order = work(submit())
    assert (order.status, order.charged_price, bought(easypost)) == ("booked", order.price, 1)
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert {label.intact_bytes()[:5] for label in order.labels.all()} == {b"%PDF-"}
    calls = list(order.calls.order_by("pk").values_list("operation", flat=True))
    assert calls == ["prepare", "book", "label", "label"]
    polling.open_parcel(order.pk)
    facts = {"status_detail": "received_at_origin_facility", "city": "FITZROY"}
    easypost.control("scan", reference=order.carrier_reference, status="in_transit", **facts)
    for _ in range(2):
        Poll.objects.update(due_at=timezone.now())
        polling.poll_due_parcel(order.parcel.pk)
    order.refresh_from_db()
    assert (order.progress, order.parcel.events.count()) == ("collected", 1)


def test_a_test_key_books_once_and_stops_the_account(submit, easypost, settings):
    order = submit()
    settings.CARRIER_KEY = Config.test_key
    assert work(order).status == "booked"
    assert set(order.labels.values_list("is_worthless", flat=True)) == {True}
    assert CarrierAccount.objects.get().stopped_reason == recording.ONLY_A_TEST


@pytest.mark.parametrize("verb", ["commit-close", "timed-out", "in-progress", "502", "429"])
@pytest.mark.parametrize("commit", [True, False])
def test_a_lost_reply_resolves_itself(submit, easypost, verb, commit):
    order = submit()
    trouble = "accept-close" if verb == "commit-close" and not commit else verb
    easypost.control("trouble", operation="book", verb=trouble, commit=commit)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert work(order).status == "booked"
    assert bought(easypost) == 1


def test_a_price_five_dollars_higher_in_the_first_call_buys_nothing(submit, easypost):
    order = submit()
    easypost.control("settings", price_change=5.0)
    assert work(order).status == "draft"
    assert (order.problem["kind"], bought(easypost)) == ("price_rose", 0)


def test_an_empty_wallet_stops_the_account_and_the_order_waits(submit, easypost):
    order = submit()
    easypost.control("trouble", operation="book", verb="402")
    assert work(order).status == "booking"
    assert (CarrierAccount.objects.get(pk=order.account_id).stopped_at is not None, bought(easypost)) == (True, 0)


def test_a_refusal_of_the_first_call_is_shown_at_its_field(submit, easypost):
    order = submit()
    Order.objects.filter(pk=order.pk).update(receiver_line1="Sample Street")
    order.refresh_from_db()
    assert work(order).status == "rejected"
    assert list(order.problem["fields"]) == ["receiver_line1"]
    assert (order.attempts.count(), bought(easypost)) == (0, 0)


def test_a_refund_that_does_not_exist_leaves_it_booked(submit, easypost, alice):
    order = work(submit())
    cancels.ask_to_cancel(order, by=alice, why="changed", now=timezone.now())
    assert cancel(order).status == "booked"


@pytest.mark.parametrize(("end", "status"), [("refunded", "cancelled"), ("rejected", "booked")])
def test_a_refund_that_takes_days_is_requested_and_then_decided(easypost, end, status):
    """In the USA a label is paid for when it is bought, so a refund is requested."""
    easypost.control("settings", refund_end=end)
    american, owner = factories.sender(name="Portland Pots", country="US"), factories.user("opal@portland.example")
    factories.member(american, owner)
    factories.pickup_address(american, email=owner.email)
    receiver = factories.receiver(**factories.ADDRESSES["US"], country="US")
    details, now = factories.details(american, receiver=receiver), timezone.now()
    quote = asking.ask_for_prices(american, details, by=owner, now=now)
    code, token = quote.products[0]["code"], uuid.uuid4()
    order = bookings.submit(quote=quote, code=code, by=owner, form_token=token, pickup_date=None, now=now)
    assert work(order).status == "booked"
    cancels.ask_to_cancel(order, by=owner, why="changed", now=now)
    assert cancel(order).status == "cancel_asked"
    assert cancel(order).status == "cancel_asked"  # a day later
    easypost.control("advance", days=30)
    assert cancel(order).status == status
    asked = [line["status"] for line in easypost.effects("refund asked")]
    assert (asked, Notification.objects.filter(kind="booking").count()) == (["submitted"], 1)


def test_a_refund_request_that_never_arrived_is_sent_again(submit, easypost, alice):
    """A refund EasyPost noted can be requested twice; checking one it never noted would never end."""
    order = work(submit())
    cancels.ask_to_cancel(order, by=alice, why="changed", now=timezone.now())
    easypost.control("trouble", operation="cancel", verb="accept-close")
    for expected in ("cancel_unconfirmed", "booked"):  # billed on scan, so there is nothing to refund
        assert cancel(order).status == expected
    assert order.problem["kind"] == "cancel_refused"


def test_a_check_that_fails_three_times_is_repeated_within_five_minutes(submit, easypost):
    order = submit()
    easypost.control("trouble", operation="book", verb="commit-close")
    easypost.control("trouble", operation="view", verb="accept-close", count=6)  # each one with its repeat
    bookings.process_booking(order.pk)
    lost_at = timezone.now()
    for _ in range(4):
        order.refresh_from_db()
        assert order.status == "unconfirmed"
        at = order.due_at
        assert at - lost_at < dt.timedelta(minutes=5)
        Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
        lost_at -= at - timezone.now()
        resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    assert (order.status, bought(easypost)) == ("booked", 1)


def test_a_return_uses_the_carriers_own_return_from_receiver_to_sender(submit, easypost, quill):
    sent = factories.order(quill, Membership.objects.get(sender=quill).user, status="booked", progress="delivered")
    order = work(submit(**vars(returning.return_of(sent, quill))))
    assert (order.status, order.returns, bought(easypost)) == ("booked", sent, 1)
    body = easypost.effects("bought")[0]["shipment"]["body"]
    assert body["is_return"] is True
    assert (body["from_address"]["zip"], body["to_address"]["zip"]) == ("7000", "3065")
    assert body["from_address"]["name"] == "Noor Tamsin"
