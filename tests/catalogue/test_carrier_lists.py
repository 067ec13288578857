"""Odd replies with prices or scans: what is kept, and who is notified.

Every reply comes over real HTTP from the sandbox carrier, which causes the trouble itself or has its reply changed.
"""

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.acting import Book, Read, waiting
from tests.catalogue.meddling import Meddler
from tests.catalogue.rows import rows
from tests.pages.typed import text
from tracking import polling
from tracking.models import Parcel, Poll, WebhookDelivery

pytestmark = pytest.mark.django_db

# -- Quotes -------------------------------------------------------------------------------------


@pytest.fixture
def prices(quill: Sender, alice: User, line: Meddler) -> Callable[[], Quote]:
    """`prices()` asks the carrier for new prices."""
    return lambda: asking.ask_for_prices(quill, factories.details(quill), by=alice, now=timezone.now(), fresh=True)


def days(first: int, last: int) -> dict[str, Any]:
    """Return an estimate by dates, given in days from today."""
    today = timezone.now().date()
    return {"date_range": [str(today + dt.timedelta(days=day)) for day in (first, last)]}


@rows("", ("R8", "5,000 products"))
def test_fifty_of_five_thousand_products_are_kept(
    prices: Callable[[], Quote], line: Meddler, alice: User, visit: Callable[[User], Client]
) -> None:
    line.edits("quote", lambda found: [_coded(found[0], f"SAVER-{number}-PICKUP") for number in range(5_000)])
    quote = prices()
    assert len(quote.products) == 50
    page = visit(alice).get(factories.prices_of(quote))
    assert page.content.decode().count('class="card" aria-labelledby="offer-') == 50


def _coded(row: dict[str, Any], code: str) -> dict[str, Any]:
    return {**row, "product": {**row["product"], "code": code}}


@rows("", ("R8", "no product"))
def test_the_page_says_if_no_service_takes_the_parcel(
    prices: Callable[[], Quote], line: Meddler, alice: User, visit: Callable[[User], Client]
) -> None:
    line.edits("quote", lambda found: [])
    page = text(visit(alice).get(factories.prices_of(prices())))
    assert "No service takes this parcel" in page


@rows(
    "eta",
    ("R8", "a negative estimate", {"days_range": [-2, 3]}),
    ("R8", "an estimate of 1,000 days", {"days_range": [2, 1_000]}),
    ("R8", "an estimate in words", {"days_range": ["soon", "later"]}),
    ("R8", "an estimate in the past", days(-30, -20)),
    ("R8", "an estimate that ended two days ago", days(-4, -2)),
    ("R8", "an estimate that ends before it begins", days(9, 3)),
    ("R8", "an estimate before the send date", {**days(2, 3), "for_send_date": "2999-01-01"}),
)
def test_a_product_with_an_impossible_estimate_is_not_offered(
    prices: Callable[[], Quote], line: Meddler, eta: dict[str, Any]
) -> None:
    line.edits("quote", lambda found: found[0].update(eta=eta))
    honest = prices().products
    line.behaves()
    everything = [offer["code"] for offer in prices().products]
    assert [offer["code"] for offer in honest] == everything[1:]


@rows(
    "eta",
    ("R8", "an estimate that ends today", days(-3, 0)),
    ("R8", "no estimate", None),
    ("R8", "an estimate nobody can read", {"date_range": "next week"}),
)
def test_a_product_without_an_estimate_is_still_offered(prices: Callable[[], Quote], line: Meddler, eta: Any) -> None:
    everything = [offer["code"] for offer in prices().products]
    line.edits("quote", lambda found: found[0].update(eta=eta))
    assert [offer["code"] for offer in prices().products] == everything


# -- Tracking -----------------------------------------------------------------------------------


def polled(order: Order) -> Parcel:
    """Poll the order's parcel once, without waiting for its time, and return it."""
    polling.open_parcel(order.pk)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(order.parcel.pk)
    return Parcel.objects.get()


def scan(number: int, **changes: Any) -> dict[str, Any]:
    at = timezone.now().replace(microsecond=0) - dt.timedelta(days=1) + dt.timedelta(seconds=number)
    return {"event_type": "In Transit", "scan_time": at.isoformat(), "description": f"Scan {number}", **changes}


@rows("backwards", ("R9", "10,000 events", False), ("R9", "10,000 events, newest first", True))
def test_only_the_newest_scans_are_kept_and_the_admin_shows_how_many_were_not(
    book: Book, line: Meddler, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    monkeypatch.setattr("shipping_portal.carrier.reading.MOST_SCANS", 50)  # a thousand rows take seconds to store
    order = book()
    events = [scan(number) for number in range(9_999)] + [scan(9_999, event_type="Delivered")]
    line.edits("track", lambda reply: reply.update(tracking_events=events[::-1] if backwards else events))
    parcel = polled(order)
    assert (parcel.progress, parcel.poll.tries, parcel.events.count()) == ("delivered", 0, 50)
    odd = WebhookDelivery.objects.get()
    assert (odd.state, odd.reason) == ("quarantined", "more than 50 scans in one reply")
    assert json.loads(bytes(odd.body)) == {"left_out": 9_950}


@rows("", ("R9", "10,000 events nobody can read"))
def test_ten_thousand_unreadable_scans_do_not_bury_the_admin(book: Book, line: Meddler) -> None:
    order = book()
    line.edits("track", lambda reply: reply.update(tracking_events=[scan(n, scan_time=n) for n in range(10_000)]))
    parcel = polled(order)
    assert (parcel.poll.tries, parcel.events.count()) == (0, 0)
    assert WebhookDelivery.objects.filter(state="quarantined").count() <= 101


@rows("", ("R9", "events of another reference"))
def test_scans_of_another_parcel_change_nothing_and_are_shown_in_the_admin(
    book: Book, reads: Read, line: Meddler
) -> None:
    order = book()
    strange = scan(5, event_type="Delivered", carrier_reference="SOTHER1", description="Left with Mr Other")
    line.edits("track", lambda reply: reply.update(tracking_events=[scan(1), strange]))
    parcel = polled(order)
    assert (parcel.progress, parcel.events.count()) == ("in_transit", 1)
    odd = WebhookDelivery.objects.get()
    assert (odd.state, odd.reason) == ("quarantined", "the scan is of another parcel")
    assert waiting("webhookdelivery-reading") == 1
    assert "Mr Other" not in reads(order)
    assert not Parcel.objects.filter(reference="SOTHER1").exists()
