"""A parcel at ShipStation through the portal: two calls, and never a second purchase."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import CarrierAccount, Order
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.server import start
from tests import factories
from tests.orders.due_work import cancel, work
from tests.sandbox.client import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def shipstation(tmp_path: Path, settings: Any) -> Iterator[Client]:
    """Let the account that takes new orders be at a sandbox ShipStation."""
    running = start(Config(state=tmp_path / "shipstation"))
    settings.CARRIER_CLIENT = "shipping_portal.carrier.shipstation.ShipStation"
    settings.CARRIER_BASE_URL, settings.CARRIER_ACCOUNT = f"{running.url}/v1", "shipstation"
    settings.CARRIER_KEY, settings.CARRIER_CONTRACT = Config.key, ""
    settings.CARRIER_PARTNER_ID = "se-1001, se-1003"
    yield Client(running.url)
    running.stop()


@pytest.fixture
def submit(shipstation: Client, quill: Sender, alice: User) -> Callable[..., Order]:
    def make(**changes: Any) -> Order:
        now = timezone.now()
        quote = asking.ask_for_prices(quill, factories.details(quill, **changes), by=alice, now=now)
        token, code = uuid.uuid4(), "australia_post:parcel_post"
        return bookings.submit(quote=quote, code=code, by=alice, form_token=token, pickup_date=None, now=now)

    return make


def purchases(shipstation: Client) -> list[str]:
    """Return the URLs that a purchase was sent to."""
    return [asked["path"] for asked in shipstation.read("requests") if asked["operation"] == "book"]


def test_a_parcel_is_booked_labelled_and_voided(submit, shipstation, alice):
    order = work(submit())
    assert (order.status, order.charged_price) == ("booked", order.price)
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert {label.intact_bytes()[:5] for label in order.labels.all()} == {b"%PDF-"}
    cancels.ask_to_cancel(order, by=alice, why="changed", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert (order.status, len(shipstation.effects("voided"))) == ("cancelled", 1)


@pytest.mark.parametrize(("verb", "commit", "voids"), [("commit-close", True, 1), ("accept-close", False, 0)])
def test_a_void_whose_reply_was_lost_is_sent_again_and_voids_once(submit, shipstation, alice, verb, commit, voids):
    order = work(submit())
    cancels.ask_to_cancel(order, by=alice, why="changed", now=timezone.now())
    shipstation.control("trouble", operation="cancel", verb=verb, commit=commit)
    for status, voided in (("cancel_unconfirmed", voids), ("cancelled", 1)):
        assert (cancel(order).status, len(shipstation.effects("voided"))) == (status, voided)


@pytest.mark.parametrize("verb", ["commit-close", "502", "truncate"])
def test_a_lost_reply_is_found_and_nothing_is_sent_again(submit, shipstation, verb):
    order = submit()
    shipstation.control("trouble", operation="book", verb=verb, commit=True)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert work(order).status == "booked"
    assert (len(purchases(shipstation)), len(shipstation.effects("bought"))) == (1, 1)


def test_a_purchase_that_never_arrived_stays_unclear_and_is_not_sent_again(submit, shipstation):
    order = submit()
    shipstation.control("trouble", operation="book", verb="accept-close", commit=False)
    for _ in range(4):
        work(order)
    assert order.status == "unconfirmed"
    assert (len(purchases(shipstation)), shipstation.effects("bought")) == (1, [])


def test_in_a_storm_of_lost_replies_nothing_is_sent_twice(submit, shipstation):
    draw = random.Random(46)  # noqa: S311
    orders = [submit() for _ in range(12)]
    for _ in range(6):
        for operation in ("quote_contents", "book", "view"):
            verb = draw.choice(["commit-close", "accept-close", "502", "truncate", "html200", "garbage"])
            shipstation.control("trouble", operation=operation, verb=verb, count=draw.randint(1, 3))
        for order in orders:
            work(order)
    shipstation.control("clear")
    for order in orders:
        work(order)
    sent, bought = purchases(shipstation), [line["order_key"] for line in shipstation.effects("bought")]
    keys = [name.partition(".")[0] for name in bought]
    assert len(set(keys)) == len(keys)
    assert {order.status for order in orders} <= {"booked", "unconfirmed"}
    assert len(set(sent)) == len(sent)
    booked = {order.order_key() for order in orders if order.status == "booked"}
    assert booked == set(keys)


def test_a_price_five_dollars_higher_in_the_first_call_buys_nothing(submit, shipstation):
    order = submit()
    shipstation.control("settings", price_change=5.0)
    assert work(order).status == "draft"
    assert (order.problem["kind"], purchases(shipstation)) == ("price_rose", [])


def test_an_account_without_money_stops_and_the_order_waits(submit, shipstation):
    order = submit()
    shipstation.control("funds", amount="0.01")
    assert work(order).status == "booking"
    assert CarrierAccount.objects.get(pk=order.account_id).stopped_at is not None
    assert shipstation.effects("bought") == []


def test_a_refusal_of_the_first_call_is_shown_at_its_field(submit, shipstation):
    order = submit()
    Order.objects.filter(pk=order.pk).update(receiver_line1="Sample Street")
    order.refresh_from_db()
    assert work(order).status == "rejected"
    assert (list(order.problem["fields"]), order.attempts.count()) == (["receiver_line1"], 0)
