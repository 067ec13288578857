"""Limits: a transition that may cost something counts the order, and it is given back exactly once, whatever happens."""

import dataclasses
import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.booking import booking_rules, bookings, limit_words, recording, recounting
from orders.booking.limits import DailyLimitReached, LimitReached
from orders.models import BookingAttempt, DailySpend, Order, Quote
from orders.quoting import asking
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.staff.resolution import deciding
from tests import factories
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

PRICE = Decimal("12.08")  # of every quote from the factories
Press = Callable[..., Order]


@pytest.fixture(autouse=True)
def _the_counters_are_what_the_orders_say(db: None) -> Iterator[None]:
    """Check the counters against the orders at the end of every test here."""
    yield
    assert recounting.miscounted_rows(timezone.now()) == []


@pytest.fixture
def press(alice: User, quill: Sender) -> Press:
    """`press()` books one parcel at 12.08, with its sender's row as it is now or as it was `seen`."""

    def pressed(*, now: dt.datetime | None = None, seen: Quote | None = None, token: Any = None, **offer: Any) -> Order:
        quote = seen or factories.quote(Sender.objects.get(pk=quill.pk), alice, **offer)
        return bookings.submit(
            quote=quote,
            code="STANDARD-PICKUP",
            by=alice,
            form_token=token or uuid.uuid4(),
            pickup_date=None,
            now=now or timezone.now(),
        )

    return pressed


def limit(sender: Sender, **limits: Any) -> None:
    Sender.objects.filter(pk=sender.pk).update(**limits)
    sender.refresh_from_db()


def counters(sender: Sender) -> tuple[int, Decimal, Decimal]:
    sender.refresh_from_db()
    return sender.booked_today, sender.spent_today, sender.unbilled


def of(orders: int, *, price: Decimal = PRICE) -> tuple[int, Decimal, Decimal]:
    """Return the counters when this many orders count."""
    return orders, orders * price, orders * price


LIMITS = [
    ("bookings_a_day", 2, "This account books at most 2 parcels a day; 2 are booked today."),
    ("own_bookings_a_day", 2, "Your own limit is 2 parcels a day; 2 are booked today."),
    ("money_a_day", "24.16", "books for at most $24.16 AUD a day; $24.16 AUD is used today, and this parcel costs"),
    ("own_money_a_day", "36.23", "Your own limit is $36.23 AUD a day; $24.16 AUD is used today, and this parcel"),
    ("unbilled_limit", "24.16", "may have $24.16 AUD booked that is not billed yet; $24.16 AUD is, and this parcel"),
]


@pytest.mark.parametrize("is_stale", [False, True], ids=["as the page knows", "as only the database knows"])
@pytest.mark.parametrize(("name", "most", "words"), LIMITS, ids=[name for name, *_ in LIMITS])
def test_one_order_too_many_is_refused_with_an_explanation_and_nothing_is_queued(
    press: Press, quill: Sender, alice: User, name: str, most: Any, words: str, *, is_stale: bool
) -> None:
    limit(quill, **{name: most})
    read_before = factories.quote(quill, alice) if is_stale else None
    press(), press()
    with pytest.raises(LimitReached) as refusal:
        press(seen=read_before)
    found = limit_words.refusal(refusal.value, quill)
    assert words in found
    assert "Nothing was booked and you weren't charged." in found
    assert ("under Settings" if name.startswith("own") else quill.number) in found
    assert Order.objects.count() == 2
    assert counters(quill) == of(2)


def test_the_page_says_who_can_raise_a_limit_and_when_it_resets(press: Press, quill: Sender) -> None:
    limit(quill, bookings_a_day=0)
    at_noon = dt.datetime(2026, 11, 23, 1, tzinfo=dt.UTC)
    with pytest.raises(LimitReached) as of_a_day:
        press(now=at_noon)
    assert (of_a_day.value.limit, of_a_day.value.opens_on) == ("bookings_a_day", dt.date(2026, 11, 24))
    found = limit_words.refusal(of_a_day.value, quill)
    assert re.search(r"open again at midnight, on Tue 24 Nov( 2026)?\. Contact us and quote A-", found)
    limit(quill, bookings_a_day=1, unbilled_limit=0)
    with pytest.raises(LimitReached) as of_all:
        press(now=at_noon)
    assert "when the carrier's weekly bills are posted or a parcel" in limit_words.refusal(of_all.value, quill)


@pytest.mark.parametrize(("own", "operators"), [(1, 9), (9, 1)])
def test_the_owners_limit_and_the_operators_both_apply(press: Press, quill: Sender, own: int, operators: int) -> None:
    limit(quill, own_bookings_a_day=own, bookings_a_day=operators)
    press()
    with pytest.raises(LimitReached) as refusal:
        press()
    assert (refusal.value.most, refusal.value.used) == (1, 1)


def test_money_adds_up_to_the_cent(press: Press, quill: Sender) -> None:
    """In floating point, 0.1 + 0.2 is more than 0.3."""
    limit(quill, money_a_day="0.30", unbilled_limit="0.30")
    press(amount="0.10"), press(amount="0.20")
    assert counters(quill) == (2, Decimal("0.30"), Decimal("0.30"))
    with pytest.raises(LimitReached):
        press(amount="0.01")


def test_a_limit_takes_one_update_without_a_subquery_and_one_for_all_senders(
    press: Press, quill: Sender, alice: User
) -> None:
    press()  # the first booking of a day creates the day's row
    quote = factories.quote(Sender.objects.get(), alice)
    with CaptureQueriesContext(connection) as seen:
        press(seen=quote)
    about = [q["sql"] for q in seen.captured_queries if "booked_today" in q["sql"] or "dailyspend" in q["sql"]]
    assert [sql.split()[0] for sql in about] == ["UPDATE", "UPDATE"]
    assert not any("SELECT" in sql for sql in about)


# -- Days -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        ("2026-11-23T12:30Z", "2026-11-23T13:30Z", True),
        ("2026-11-23T13:30Z", "2026-11-23T21:00Z", False),
        ("2026-11-23T13:30Z", "2026-11-24T01:00Z", False),
    ],
    ids=["over the sender's midnight", "within the sender's day", "over midnight in UTC only"],
)
def test_a_day_follows_the_senders_time_zone(
    press: Press, quill: Sender, first: str, second: str, *, fits: bool
) -> None:
    limit(quill, bookings_a_day=1, money_a_day=PRICE)
    press(now=dt.datetime.fromisoformat(first))
    if fits:
        press(now=dt.datetime.fromisoformat(second))
        assert counters(quill) == (1, PRICE, 2 * PRICE)
    else:
        with pytest.raises(LimitReached):
            press(now=dt.datetime.fromisoformat(second))


def test_a_change_of_time_zone_starts_no_new_day(press: Press, quill: Sender) -> None:
    limit(quill, bookings_a_day=1)
    late = dt.datetime(2026, 11, 23, 14, tzinfo=dt.UTC)  # the 24th in Melbourne, the 23rd in Perth
    press(now=late)
    limit(quill, zone="Australia/Perth")
    with pytest.raises(LimitReached):
        press(now=late)
    press(now=late + dt.timedelta(days=1, hours=3))


def test_giving_back_yesterdays_reservation_frees_nothing_today(press: Press, quill: Sender) -> None:
    limit(quill, bookings_a_day=1)
    now = timezone.now()
    yesterdays = press(now=now - dt.timedelta(days=1))
    press(now=now)
    move_to(yesterdays, "rejected", reason="-", at=now)
    assert counters(quill) == of(1)
    with pytest.raises(LimitReached):
        press(now=now)


# -- Given back, and kept ---------------------------------------------------------------------

BOOKED = {"carrier_reference": "SLIMIT1", "carrier_order_id": "id-1", "booked_at": timezone.now()}
UNBOOKED = {"carrier_reference": None}
GONE = {"cancelled_at": timezone.now()}
MOVES = {
    "booking": ([], 1),
    "never sent": ([("draft", {})], 0),
    "refused": ([("rejected", {})], 0),
    "unknown": ([("unconfirmed", {})], 1),
    "unknown, then not booked": ([("unconfirmed", {}), ("not_booked", {})], 0),
    "unknown, then refused": ([("unconfirmed", {}), ("rejected", {})], 0),
    "conflict": ([("unconfirmed", {}), ("conflict", {})], 1),
    "conflict, then not booked": ([("conflict", {}), ("not_booked", {})], 0),
    "late yes": ([("unconfirmed", {}), ("not_booked", {}), ("conflict", {})], 1),
    "booked": ([("booked", BOOKED)], 1),
    "cancelling": ([("booked", BOOKED), ("cancelling", {})], 1),
    "cancel refused": ([("booked", BOOKED), ("cancelling", {}), ("booked", {})], 1),
    "cancel unclear": ([("booked", BOOKED), ("cancelling", {}), ("cancel_unconfirmed", {})], 1),
    "cancel asked": ([("booked", BOOKED), ("cancelling", {}), ("cancel_asked", {})], 1),
    "cancel asked, then refunded": (
        [("booked", BOOKED), ("cancelling", {}), ("cancel_asked", {}), ("cancelled", GONE)],
        0,
    ),
    "cancelled": ([("booked", BOOKED), ("cancelling", {}), ("cancelled", GONE)], 0),
    "booked anew": ([("draft", {}), ("booking", {})], 1),
}


@pytest.mark.parametrize(("moves", "counts"), MOVES.values(), ids=MOVES)
def test_an_order_counts_exactly_while_it_may_cost_something(
    press: Press, quill: Sender, moves: list[tuple[str, dict[str, Any]]], counts: int
) -> None:
    order, now = press(), timezone.now()
    for status, changes in moves:
        move_to(order, status, reason="-", at=now, **changes)
    assert counters(quill) == of(counts)
    assert DailySpend.objects.get().spent == counts * PRICE
    order.refresh_from_db()
    assert (order.reserved, order.unbilled) == (counts * PRICE, counts * PRICE)
    assert (order.reserved_on is not None) == bool(counts)


def test_a_late_acceptance_counts_even_if_the_limit_is_reached(press: Press, quill: Sender) -> None:
    order, now = press(), timezone.now()
    move_to(order, "rejected", reason="-", at=now)
    limit(quill, bookings_a_day=1)
    press()
    move_to(order, "conflict", reason="the carrier says yes after all", at=now)
    assert counters(quill) == of(2)


def test_an_order_resolved_twice_is_given_back_once(
    submitted: Callable[..., Order], carrier: SandboxCarrier, quill: Sender
) -> None:
    one, _other = submitted(), submitted()
    attempt = bookings._write_down(one, timezone.now())
    assert attempt
    for _ in range(2):
        same = BookingAttempt.objects.get(pk=attempt.pk)
        recording.record_outcome(same, Rejected(422, "", "no"))
    assert counters(quill)[0] == 1
    stale = Order.objects.get(pk=one.pk)
    stale.status = "booking"
    with pytest.raises(Order.WrongStatus), transaction.atomic():
        move_to(stale, "rejected", reason="-", at=timezone.now())
    assert counters(quill)[0] == 1


@pytest.mark.parametrize("percent", [10, -10], ids=["dearer", "cheaper"])
def test_the_price_the_carrier_charges_counts(
    submitted: Callable[..., Order], carrier: SandboxCarrier, quill: Sender, percent: int
) -> None:
    order = submitted()
    agreed = order.price
    carrier.prices(percent)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.charged_price > agreed) == (percent > 0)
    assert counters(quill) == of(1, price=order.charged_price)
    move_to(order, "cancelling", reason="-", at=timezone.now())
    move_to(order, "cancelled", reason="-", at=timezone.now(), cancelled_at=timezone.now())
    assert counters(quill) == of(0)


def test_an_adopted_order_counts_and_one_resolved_as_not_booked_does_not(
    submitted: Callable[..., Order], carrier: SandboxCarrier, quill: Sender, sam: User
) -> None:
    adopted, gone = submitted(), submitted()
    for order in (adopted, gone):
        carrier.trouble("book", "commit-close")
        bookings.process_booking(order.pk)
        order.refresh_from_db()
    made, why, now = carrier.ledger("booked")[0], "seen in the dashboard", timezone.now()
    deciding.adopt_reference(adopted, made["reference"], carrier_order_id=made["order_id"], by=sam, reason=why, now=now)
    assert counters(quill)[0] == 2
    deciding.not_booked(gone, by=sam, reason=why, now=now)
    assert counters(quill) == of(1, price=adopted.price)


# -- Yes to a draft, and the same form twice -----------------------------------------------------


def test_agreeing_to_a_higher_price_does_not_count_the_order_twice(
    submitted: Callable[..., Order], carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    limit(quill, bookings_a_day=1)
    order = submitted()
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=4))
    carrier.prices(10)
    bookings.process_booking(order.pk)
    order = Order.objects.get(pk=order.pk)
    assert order.problem["kind"] == "price_rose"
    assert counters(quill) == of(0)
    bookings.confirm(order, by=alice, now=timezone.now())
    assert counters(quill) == of(1, price=Decimal(order.problem.get("new", order.price)))


@pytest.mark.parametrize("status", ["draft", "not_booked"])
def test_agreeing_beyond_the_limit_leaves_the_order_as_it_was(quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    stale = Order.objects.get(pk=order.pk)
    assert stale.sender.bookings_a_day
    limit(quill, bookings_a_day=0)
    for seen in (Order.objects.get(pk=order.pk), stale):
        with pytest.raises(LimitReached):
            bookings.confirm(seen, by=alice, now=timezone.now())
        assert Order.objects.get().status == status
    assert counters(quill) == of(0)


def test_a_form_sent_again_finds_its_order_even_if_it_was_the_last_to_fit(
    press: Press, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(quill, bookings_a_day=1)
    token, offer_of = uuid.uuid4(), booking_rules.bookable_offer

    def meanwhile(*asked: Any) -> Any:
        """Let the other press be slightly faster: its order wasn't there yet when this one first looked."""
        monkeypatch.setattr(booking_rules, "bookable_offer", offer_of)
        press(token=token, seen=quote)
        quote.sender.refresh_from_db()
        return offer_of(*asked)

    quote = factories.quote(quill, alice)
    monkeypatch.setattr(booking_rules, "bookable_offer", meanwhile)
    made = press(token=token, seen=quote)
    assert made == press(token=token, seen=quote) == Order.objects.get()


def test_the_creation_time_never_changes_but_the_due_time_does(quill: Sender, alice: User) -> None:
    made_at = timezone.now() - dt.timedelta(days=3)
    order = factories.order(quill, alice, status="not_booked", created_at=made_at)
    now = timezone.now()
    bookings.confirm(order, by=alice, now=now)
    order.refresh_from_db()
    assert (order.created_at, order.submitted_at) == (made_at, now)


# -- All senders together ------------------------------------------------------------------------


def test_all_senders_together_have_a_limit_for_a_day(
    press: Press, quill: Sender, alice: User, bob: User, settings: Any
) -> None:
    settings.DAILY_MONEY_LIMIT = 2 * PRICE
    other = bob.membership.sender
    now = timezone.now()
    press()
    press(seen=factories.quote(other, bob))
    with pytest.raises(DailyLimitReached) as refusal:
        press(now=now)
    found = limit_words.refusal(refusal.value, quill)
    assert re.search(r"Bookings rest until tomorrow.*weren't charged.*midnight", found)
    assert Order.objects.count() == 2
    assert counters(quill) == of(1)
    assert DailySpend.objects.get().refused_at == now
    press(now=now + dt.timedelta(days=1))
    order = Order.objects.filter(sender=other).get()
    move_to(order, "rejected", reason="-", at=now)
    press(now=now)
    assert DailySpend.objects.order_by("day").first().refused_at is None


def writes(captured: CaptureQueriesContext) -> list[str]:
    return [sql for query in captured if (sql := query["sql"]).startswith(("INSERT", "UPDATE", "DELETE"))]


def test_the_days_shared_row_is_locked_last(press: Press, alice: User) -> None:
    press()  # creates the day's row
    with CaptureQueriesContext(connection) as captured:
        order = press()
    assert writes(captured)[-1].startswith('UPDATE "orders_dailyspend"')
    for status in ("unconfirmed", "not_booked"):
        move_to(order, status, reason="-", at=timezone.now())
    with CaptureQueriesContext(connection) as captured:
        bookings.confirm(order, by=alice, now=timezone.now())
    assert writes(captured)[-1].startswith('UPDATE "orders_dailyspend"')


@pytest.mark.parametrize(
    ("status", "changes"),
    [("rejected", {}), ("booked", {**BOOKED, "charged_price": Decimal("13.00")})],
    ids=["gives back", "costs more"],
)
def test_the_shared_row_is_also_locked_last_for_a_release_or_a_higher_cost(
    press: Press, status: str, changes: dict[str, Any]
) -> None:
    order = press()
    with CaptureQueriesContext(connection) as captured:
        move_to(order, status, reason="-", at=timezone.now(), **changes)
    assert writes(captured)[-1].startswith('UPDATE "orders_dailyspend"')


def test_a_limit_of_zero_refuses_the_first_booking_of_a_day_and_shows_in_the_admin(press: Press, settings: Any) -> None:
    settings.DAILY_MONEY_LIMIT = Decimal(0)
    with pytest.raises(DailyLimitReached):
        press()
    assert DailySpend.objects.get().refused_at
    assert not Order.objects.exists()


# -- Prices a minute -----------------------------------------------------------------------------


def test_requests_for_prices_count_with_or_without_a_reply(quill: Sender, alice: User, carrier: SandboxCarrier) -> None:
    limit(quill, quotes_a_minute=2)
    now = timezone.now()

    def ask(weight: str, *, at: dt.datetime = now, **how: Any) -> Any:
        measures = dataclasses.replace(factories.details(quill).measures, weight=Decimal(weight))
        return asking.ask_for_prices(quill, factories.details(quill, measures=measures), by=alice, now=at, **how)

    carrier.trouble("quote", "500")
    with pytest.raises(CarrierError):
        ask("1")
    ask("2")
    ask("2")  # kept
    before = len(carrier.requests())
    with pytest.raises(asking.TooManyQuotes):
        ask("3")
    assert len(carrier.requests()) == before
    ask("3", typed=False)
    with pytest.raises(asking.TooManyQuotes):
        ask("4", at=now + dt.timedelta(seconds=59))
    ask("4", at=now + dt.timedelta(seconds=60))


# -- The recount ---------------------------------------------------------------------------------

DRIFTS = {
    "booked_today": (7, "booked_today was 7, is 1"),
    "spent_today": ("1.00", "spent_today was 1.00, is 12.08"),
    "unbilled": ("99.99", "unbilled was 99.99, is 12.08"),
}


@pytest.mark.parametrize("counter", DRIFTS)
def test_the_recount_corrects_a_wrong_counter_and_reports_it(
    press: Press, quill: Sender, counter: str, caplog: pytest.LogCaptureFixture
) -> None:
    press()
    wrong, found = DRIFTS[counter]
    limit(quill, **{counter: wrong})
    recounting.recount_limits(timezone.now())
    assert counters(quill) == of(1)
    noted = Audit.objects.get()
    assert (noted.action, noted.sender, noted.reason) == ("limits recounted", quill, found)
    assert "limits_miscounted" in caplog.text
    assert sum(DailySpend.objects.values_list("mended", flat=True)) == 1


def test_the_recount_checks_what_all_senders_spent(press: Press) -> None:
    press()
    DailySpend.objects.update(spent=1)
    recounting.recount_limits(timezone.now())
    assert Audit.objects.get().reason == "spent was 1.00, is 12.08"


def test_the_recount_reports_nothing_if_all_counters_are_right(press: Press, bob: User) -> None:
    press(now=timezone.now() - dt.timedelta(days=1))
    move_to(press(), "rejected", reason="-", at=timezone.now())
    recounting.recount_limits(timezone.now())
    assert not Audit.objects.exists()
    assert not DailySpend.objects.filter(mended__gt=0).exists()
