"""The counters behind a sender's limits: each sender and each day has its own."""

import datetime as dt
from decimal import Decimal

import pytest
from django.utils import timezone

from orders.booking import limits
from shipping_portal.accounts.models import Sender, User

PRICE = Decimal("12.08")
NAMES = ("booked_today", "spent_today", "unbilled", "booked_in_all", "spent_in_all")


@pytest.fixture
def other(bob: User) -> Sender:
    return bob.membership.sender


def counters(sender: Sender) -> list[Decimal]:
    return list(Sender.objects.values_list(*NAMES).get(pk=sender.pk))


def test_price_requests_are_counted_per_sender(quill: Sender, other: Sender) -> None:
    Sender.objects.update(quotes_a_minute=1)
    now = timezone.now()
    assert [limits.take_quote(sender, now) for sender in (quill, quill, other)] == [True, False, True]


def test_counting_for_one_sender_counts_for_nobody_else(quill: Sender, other: Sender) -> None:
    now = timezone.now()
    one = [1, PRICE, PRICE, 1, PRICE]
    day = limits.reserve(quill, PRICE, now)["reserved_on"]
    assert (counters(quill), counters(other)) == (one, [0] * 5)
    limits.reserve(other, PRICE, now)
    limits.add(quill.pk, day, parcels=-1, money=-PRICE, unbilled=-PRICE)
    assert (counters(quill), counters(other)) == ([0] * 5, one)


def test_giving_back_for_another_day_does_not_change_todays_counters(quill: Sender) -> None:
    day = limits.reserve(quill, PRICE, timezone.now())["reserved_on"]
    limits.add(quill.pk, day - dt.timedelta(days=1), parcels=-1, money=-PRICE, unbilled=-PRICE)
    assert counters(quill) == [1, PRICE, 0, 0, 0]
