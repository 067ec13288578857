"""Booking end to end with the sandbox, and the row that each outcome writes."""

import dataclasses
import datetime as dt
import hashlib
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from time_machine import TimeMachineFixture

from orders.booking import booking_rules, bookings, recording, resolving, verdict
from orders.booking.limits import NOT_COUNTED
from orders.calling import carrier_settings, gateway
from orders.drafting.parcel_details import ParcelDetails
from orders.labels import fetching
from orders.models import BookingAttempt, CarrierAccount, Label, Order
from orders.quoting import asking
from orders.status import transitions
from orders.status.status_sentences import status_sentence
from shipping_portal.accounts.models import PickupAddress, Sender, User
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.messages import Booked, Money
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import deciding
from tests import factories
from tests.queries import sql_of
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling, timeline
from tracking.models import Parcel, Poll

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]


def work(order: Order) -> Order:
    """Do whatever is due for this order without waiting for its time."""
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    bookings.process_booking(order.pk)
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    return order


def test_a_sender_books_a_parcel_prints_its_label_and_sees_it_move(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    assert order.status == "booking"
    assert carrier.ledger("booked") == []

    work(order)
    assert order.status == "booked"
    assert order.carrier_reference == carrier.ledger("booked")[0]["reference"]
    assert order.charged_price == order.price

    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    full = order.labels.get(size="full")
    assert full.intact_bytes().startswith(b"%PDF-")
    assert hashlib.sha256(full.intact_bytes()).hexdigest() == full.sha256

    polling.open_parcel(order.pk)
    carrier.scan(order.carrier_reference, "Pickup", push=False)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(order.parcel.pk)
    order.refresh_from_db()
    assert order.progress == "collected"
    seen = timeline.for_parcel(order.parcel, order.sender.tzinfo)
    assert "Picked up" in [details.words for details in seen]


def test_the_attempt_is_recorded_with_the_bytes_that_were_sent(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = work(submitted())
    attempt = order.attempts.get()
    sent = next(r for r in carrier.requests() if r["method"] == "POST" and r["path"] == "/orders")
    assert bytes(attempt.body).decode() == sent["body"]
    assert attempt.body_sha256 == hashlib.sha256(bytes(attempt.body)).hexdigest()
    assert attempt.state == "accepted"


def test_a_lost_reply_is_unconfirmed_and_never_sent_again(submitted: Submit, carrier: SandboxCarrier) -> None:
    carrier.trouble("book", "commit-close")
    order = work(submitted())
    assert order.status == "unconfirmed"
    assert order.due_at is None
    for _ in range(3):
        work(order)
    assert len(carrier.ledger("booked")) == 1
    assert order.status == "unconfirmed"


def test_a_carrier_that_remembers_keys_books_once_per_key(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract("replays = true")
    carrier.settings(replays=True)
    carrier.trouble("book", "commit-close", count=2)
    order = work(submitted())
    for _ in range(4):
        work(order)
    assert order.status == "booked"
    assert [line["reference"] for line in carrier.ledger("booked")] == [order.carrier_reference]


@pytest.mark.parametrize(
    "verb",
    [
        "commit-close",
        "commit-rst",
        "partial-headers",
        "truncate",
        "garbage",
        "html200",
        "empty201",
        "no-ref",
        "bad-ref",
        "500",
        "502",
        "503",
        "408",
        "409",
        "425",
        "301",
        "307",
        "202",
        "204",
    ],
)
def test_a_reply_that_is_neither_yes_nor_no_goes_to_an_operator(
    submitted: Submit, carrier: SandboxCarrier, verb: str
) -> None:
    carrier.trouble("book", verb)
    order = work(submitted())
    assert (order.status, order.due_at) == ("unconfirmed", None)
    assert order.attempts.get().state == "unknown"


@pytest.mark.parametrize("status", ["400", "404", "413", "422"])
def test_a_clear_refusal_has_the_carriers_words(submitted: Submit, carrier: SandboxCarrier, status: str) -> None:
    carrier.trouble("book", status)
    order = work(submitted())
    assert order.status == "rejected"
    assert order.problem["text"]
    assert order.attempts.get().state == "rejected"
    assert carrier.ledger("booked") == []


@pytest.mark.parametrize("status", ["401", "402", "403", "412"])
def test_a_refused_account_stops_all_bookings_without_losing_an_order(
    submitted: Submit, carrier: SandboxCarrier, status: str
) -> None:
    first, second = submitted(), submitted()
    carrier.trouble("book", status)
    work(first)
    work(second)
    assert (first.status, second.status) == ("booking", "booking")
    assert CarrierAccount.objects.get().stopped_at is not None
    assert second.attempts.count() == 0
    assert first.due_at is not None
    assert first.due_at > timezone.now() + dt.timedelta(seconds=50)

    CarrierAccount.objects.update(probe_due_at=timezone.now())
    work(first)
    work(second)
    assert (first.status, second.status) == ("booked", "booked")
    assert CarrierAccount.objects.get().stopped_at is None


def test_an_unreachable_carrier_is_tried_again_later(submitted: Submit, carrier: SandboxCarrier, settings: Any) -> None:
    order = submitted()
    accounts = CarrierAccount.objects.filter(pk=order.account_id)
    settings.CARRIER_BASE_URL = "http://127.0.0.1:9"
    accounts.update(fingerprint=carrier_settings.current_settings().fingerprint)  # the same carrier, unreachable
    with time_machine.travel(timezone.now(), tick=False):
        work(order)
        assert order.status == "booking"
        assert order.due_at > timezone.now()
    assert order.attempts.get().state == "not_sent"
    settings.CARRIER_BASE_URL = carrier.url
    accounts.update(fingerprint=carrier_settings.current_settings().fingerprint)
    assert work(order).status == "booked"


@pytest.mark.parametrize(("verb", "state"), [("429", "not_sent"), ("500", "unknown")])
def test_five_unsent_or_unclear_bookings_in_a_row_delay_the_next_one(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None], verb: str, state: str
) -> None:
    contract("requests_per_second = 1000.0")
    carrier.trouble("book", verb, count=5)
    orders = [submitted() for _ in range(6)]
    resting = []
    for order in orders:
        work(order)
        resting.append(CarrierAccount.objects.get().resting_until is not None)
    assert resting == [False] * 4 + [True] * 2
    assert list(BookingAttempt.objects.values_list("state", flat=True)) == [state] * 5
    assert not orders[5].attempts.exists()


def test_429_waits_as_long_as_the_carrier_says(submitted: Submit, carrier: SandboxCarrier) -> None:
    carrier.trouble("book", "429", arg="120")
    order = work(submitted())
    assert order.status == "booking"
    assert dt.timedelta(seconds=100) < order.due_at - timezone.now() <= dt.timedelta(seconds=120)


def test_a_booking_that_could_not_be_sent_for_a_day_is_refused_in_our_words(submitted: Submit) -> None:
    order = submitted()
    Order.objects.filter(pk=order.pk).update(submitted_at=timezone.now() - dt.timedelta(hours=25))
    work(order)
    assert order.status == "rejected"
    assert "could not be sent for 24 hours" in order.problem["text"]


def test_a_pickup_day_that_has_come_needs_consent_to_the_next_business_day(
    submitted: Submit, alice: User, carrier: SandboxCarrier
) -> None:
    order = submitted()
    Order.objects.filter(pk=order.pk).update(pickup_date=dt.date(2026, 1, 5))
    order = work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "pickup_passed")
    with pytest.raises(booking_rules.PickupDayPassed):
        bookings.confirm(order, by=alice, now=timezone.now())
    bookings.confirm(order, by=alice, now=timezone.now(), next_day=True)
    order = work(order)
    assert (order.status, order.pickup_date) == ("booked", None)
    assert order.carrier_pickup_date > timezone.now().astimezone(order.sender.tzinfo).date()


def test_agreeing_to_the_next_day_keeps_a_day_still_to_come(
    submitted: Submit, alice: User, carrier: SandboxCarrier
) -> None:
    order = submitted()
    day = booking_rules.pickup_days(order.sender, order.details().pickup, timezone.now())[1]
    Order.objects.filter(pk=order.pk).update(status="draft", due_at=None, pickup_date=day, **NOT_COUNTED)
    order.refresh_from_db()
    bookings.confirm(order, by=alice, now=timezone.now(), next_day=True)
    assert order.pickup_date == day


@pytest.mark.parametrize(("day", "calls"), [("2026-11-24", 0), ("2026-11-25", 1)], ids=["today", "tomorrow"])
def test_a_pickup_day_that_has_come_in_the_senders_zone_is_not_sent(
    submitted: Submit, carrier: SandboxCarrier, time_machine: TimeMachineFixture, day: str, calls: int
) -> None:
    time_machine.move_to("2026-11-23T20:00Z")  # 07:00 on the 24th in Melbourne
    order = submitted()
    Order.objects.filter(pk=order.pk).update(pickup_date=day)
    work(order)
    assert order.attempts.count() == calls


def test_a_worker_that_died_after_sending_leaves_the_order_unconfirmed(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    order = submitted()
    bookings._write_down(order, timezone.now())  # then the worker was killed
    order = work(order)
    assert order.status == "unconfirmed"
    assert carrier.ledger("booked") == []


def test_an_old_quote_is_checked_again_and_books_at_the_same_price(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=4))
    assert work(order).status == "booked"
    assert sum(r["path"].startswith("/products") for r in carrier.requests()) == 2


def test_a_booking_that_waited_until_the_pickup_address_changed_goes_back_to_its_sender(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    """Such as after a pause of a day. Its price is asked for again then, from an address where nobody is."""
    order = submitted()
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=4))
    PickupAddress.objects.update(line1="99 New Road")
    order = work(order)
    assert (order.status, order.problem["kind"], order.due_at) == ("draft", "pickup_moved", None)
    sentence = status_sentence(order, timezone.now(), sees_contact=True)
    assert sentence.startswith("Your pickup address has changed since you booked it. It isn't booked and you weren't")
    assert "Open it to choose again" in sentence
    assert not order.attempts.exists()
    assert sum(r["path"].startswith("/products") for r in carrier.requests()) == 1


def test_a_higher_price_is_booked_only_after_the_sender_agrees(
    submitted: Submit, carrier: SandboxCarrier, alice: User
) -> None:
    order = submitted()
    old = order.price
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=4))
    carrier.prices(10)
    work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "price_rose")
    assert carrier.ledger("booked") == []

    bookings.confirm(order, by=alice, now=timezone.now())
    work(order)
    assert order.status == "booked"
    assert order.charged_price > old


@pytest.mark.parametrize("status", ["draft", "not_booked"])
def test_agreeing_after_the_pickup_day_books_nothing(
    submitted: Submit, alice: User, carrier: SandboxCarrier, status: str
) -> None:
    order = submitted()
    today = timezone.now().astimezone(order.sender.tzinfo).date()
    Order.objects.filter(pk=order.pk).update(status=status, due_at=None, pickup_date=today, **NOT_COUNTED)
    order.refresh_from_db()
    with pytest.raises(booking_rules.PickupDayPassed):
        bookings.confirm(order, by=alice, now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.due_at) == (status, None)


def test_agreeing_before_the_pickup_day_books_for_that_day(
    submitted: Submit, alice: User, carrier: SandboxCarrier
) -> None:
    order = submitted()
    day = booking_rules.pickup_days(order.sender, order.details().pickup, timezone.now())[0]
    Order.objects.filter(pk=order.pk).update(status="draft", due_at=None, pickup_date=day, **NOT_COUNTED)
    order.refresh_from_db()
    bookings.confirm(order, by=alice, now=timezone.now())
    assert (order.status, order.pickup_date) == ("booking", day)


def test_a_lower_price_is_booked_without_asking(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    old = order.price
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=4))
    carrier.prices(-10)
    assert work(order).status == "booked"
    assert order.charged_price < old


def test_a_price_in_another_currency_needs_consent_however_low_its_number(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    order = submitted()
    long_ago = timezone.now() - dt.timedelta(minutes=4)
    Order.objects.filter(pk=order.pk).update(quoted_at=long_ago, currency="USD", price=order.price * 2)
    work(order)
    assert (order.status, order.problem.get("kind")) == ("draft", "price_rose")
    assert carrier.ledger("booked") == []


def test_the_same_form_sent_twice_makes_one_order(quill: Sender, alice: User) -> None:
    quote, token, now = factories.quote(quill, alice), uuid.uuid4(), timezone.now()
    first = bookings.submit(quote=quote, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None, now=now)
    again = bookings.submit(quote=quote, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None, now=now)
    assert first == again
    assert Order.objects.count() == 1


@pytest.mark.parametrize(
    "changes", [{"suspended_at": timezone.now(), "suspension": "terms"}, {"own_bookings_a_day": 1}, {"money_a_day": 1}]
)
def test_the_same_form_is_that_order_even_if_nothing_can_be_booked_any_more(
    quill: Sender, alice: User, changes: dict[str, Any]
) -> None:
    form = {"code": "STANDARD-PICKUP", "by": alice, "form_token": uuid.uuid4(), "pickup_date": None}
    quote, now = factories.quote(quill, alice), timezone.now()
    first = bookings.submit(quote=quote, **form, now=now)
    Sender.objects.filter(pk=quill.pk).update(**changes)
    quote.sender.refresh_from_db()
    assert bookings.submit(quote=quote, **form, now=now).pk == first.pk
    assert Order.objects.count() == 1


def test_the_same_form_with_different_content_is_refused(quill: Sender, alice: User) -> None:
    token, now = uuid.uuid4(), timezone.now()
    first = factories.quote(quill, alice)
    other = factories.quote(quill, alice, parcel=factories.details(quill, description="Other"))
    bookings.submit(quote=first, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None, now=now)
    with pytest.raises(bookings.TokenReused):
        bookings.submit(quote=other, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None, now=now)


def test_a_suspended_sender_books_nothing_and_unsent_bookings_stop(
    submitted: Submit, carrier: SandboxCarrier, quill: Sender, alice: User, sam: User
) -> None:
    order = submitted()
    quill.suspend(by=sam, category="terms", text="Terms review", note="", now=timezone.now())
    work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "suspended")
    assert carrier.ledger("booked") == []
    with pytest.raises(booking_rules.Suspended):
        booking_rules.refuse_unless_booking_is_on(quill, timezone.now())


def test_a_suspension_during_the_price_check_stops_the_booking_before_it_is_sent(
    submitted: Submit, carrier: SandboxCarrier, quill: Sender, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = submitted()
    Order.objects.update(quoted_at=timezone.now() - dt.timedelta(hours=1))

    def meanwhile(order: Order, client: Any) -> verdict.Go:
        Sender.objects.get().suspend(by=sam, category="terms", text="Terms review", note="", now=timezone.now())
        return verdict.Go()

    monkeypatch.setattr(asking, "ask_again", meanwhile)
    work(order)
    assert (order.status, order.problem["kind"]) == ("draft", "suspended")
    assert order.attempts.count() == 0


def test_a_pause_holds_back_every_booking(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    CarrierAccount.objects.update(paused_at=timezone.now(), pause_text="The carrier is closed today.")
    assert work(order).status == "booking"
    assert order.attempts.count() == 0
    with pytest.raises(booking_rules.Paused, match="closed today"):
        booking_rules.refuse_unless_booking_is_on(order.sender, timezone.now())


def test_a_worker_that_slept_through_a_pause_gives_up_nothing(submitted: Submit, carrier: SandboxCarrier) -> None:
    """The worker read the account before the pause. A day later that is no reason to give up."""
    order, now = submitted(), timezone.now()
    Order.objects.filter(pk=order.pk).update(submitted_at=now - dt.timedelta(hours=25))
    row = bookings.process_booking.due(now).get(pk=order.pk)
    CarrierAccount.objects.update(pause_ends_at=now)
    assert row.claim()
    bookings.process_booking.work(row)
    assert Order.objects.get().status == "booked"


def test_a_worker_that_slept_through_a_suspension_returns_no_order(
    submitted: Submit, carrier: SandboxCarrier, quill: Sender, sam: User
) -> None:
    order = submitted()
    quill.suspend(by=sam, category="terms", text="Terms review", note="", now=timezone.now())
    row = bookings.process_booking.due(timezone.now()).get(pk=order.pk)
    quill.reinstate(by=sam, reason="resolved", now=timezone.now())
    assert row.claim()
    bookings.process_booking.work(row)
    assert Order.objects.get().status == "booked"


def test_while_bookings_are_held_back_one_is_due_when_the_hold_ends(submitted: Submit) -> None:
    order, end = submitted(), timezone.now() + dt.timedelta(minutes=3)
    CarrierAccount.objects.update(resting_until=end)
    assert (work(order).status, order.due_at) == ("booking", end)


def test_bookings_resume_when_the_hold_ends(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    CarrierAccount.objects.update(resting_until=timezone.now() - dt.timedelta(seconds=1))
    assert work(order).status == "booked"


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_the_worker_that_books_fetches_the_printed_label_without_a_message(
    submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, sent = submitted(), list[Any]()
    monkeypatch.setattr("shipping_portal.jobs.registry.publish_task", lambda *message: bool(sent.append(message)))
    bookings.process_booking.run(order.pk)
    label = order.labels.get(is_spare=False)
    assert (label.state, label.due_at, sent) == (Label.State.STORED, None, [])
    assert order.labels.get(is_spare=True).state == Label.State.PENDING


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_label_that_breaks_leaves_its_order_booked(submitted: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    order = submitted()
    monkeypatch.setattr(fetching, "_fetch", lambda label: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bookings.process_booking.run(order.pk)
    order.refresh_from_db()
    assert (order.status, order.due_at, order.attempts.count()) == ("booked", None, 1)
    label = order.labels.get(is_spare=False)
    assert (label.failures, label.last_error[:17]) == (1, "ZeroDivisionError")


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_an_attempt_is_committed_with_its_lease(submitted: Submit) -> None:
    """Inside another transaction it would be sent before it is committed."""
    order = submitted()
    before = order.due_at
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        bookings._write_down(order, timezone.now())
    assert not BookingAttempt.objects.exists()
    with CaptureQueriesContext(connection) as queries:
        attempt = bookings._write_down(order, timezone.now())
    assert attempt
    if connection.vendor == "postgresql":
        begin, _, commit = sql_of(queries)
        assert (begin, commit) == ("BEGIN", "COMMIT")
    order.refresh_from_db()
    assert order.due_at == attempt.lease_until > before


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_second_live_attempt_takes_no_lease(submitted: Submit) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    assert bookings._write_down(order, timezone.now() + dt.timedelta(hours=1)) is None
    order.refresh_from_db()
    assert (order.due_at, list(order.attempts.all())) == (attempt.lease_until, [attempt])


def test_a_reply_with_another_orders_reference_is_a_conflict(submitted: Submit, carrier: SandboxCarrier) -> None:
    first = work(submitted())
    carrier.trouble("book", "replay-other")
    second = work(submitted())
    assert second.status == "conflict"
    assert second.carrier_reference is None
    assert first.carrier_reference == second.attempts.get().seen_reference


def test_a_late_acceptance_books_an_unconfirmed_order(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    answer = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
    recording.record_unknown(attempt, "lease expired", at=timezone.now())
    recording.record_outcome(attempt, answer)
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("booked", answer.reference)
    recording.record_outcome(attempt, answer)  # received twice
    assert order.changes.filter(new="booked").count() == 1


def test_a_late_acceptance_after_not_booked_is_a_conflict(
    submitted: Submit, carrier: SandboxCarrier, sam: User
) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    answer = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
    recording.record_unknown(attempt, "lease expired", at=timezone.now())
    order.refresh_from_db()
    deciding.not_booked(order, by=sam, reason="the carrier says no such order", now=timezone.now())
    recording.record_outcome(attempt, answer)
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("conflict", None)
    assert order.attempts.get().seen_reference == answer.reference


def test_a_second_reference_for_one_key_turns_replays_off(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract("replays = true")
    order = work(submitted())
    attempt = order.attempts.get()
    other = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(uuid.uuid4()))
    recording.record_outcome(attempt, other)
    order.refresh_from_db()
    assert order.status == "booked"
    assert order.carrier_reference != other.reference
    assert not gateway.replay_window(CarrierAccount.objects.get())


HELD: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "suspended": (
        lambda: Sender.objects.update(suspended_at=timezone.now(), suspension="terms"),
        lambda: Sender.objects.update(suspended_at=None, suspension=""),
    ),
    "paused": (
        lambda: CarrierAccount.objects.update(paused_at=timezone.now()),
        lambda: CarrierAccount.objects.update(paused_at=None),
    ),
    "turned off": (lambda: User.objects.update(is_active=False), lambda: User.objects.update(is_active=True)),
}


@pytest.mark.parametrize("why", HELD)
def test_an_unclear_booking_is_not_repeated_while_it_may_not_be_booked(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None], why: str
) -> None:
    """The carrier may never have got the first one: then the repeat is the booking."""
    contract("replays = true")
    begin, end = HELD[why]
    order = submitted()
    carrier.trouble("book", "500")
    bookings.process_booking(order.pk)
    begin()
    work(order)
    assert (order.status, carrier.ledger("booked"), order.attempts.get().replays) == ("unconfirmed", [], 0)
    assert order.due_at
    assert order.due_at <= timezone.now() + dt.timedelta(minutes=1)
    end()
    assert work(order).status == "booked"
    assert len(carrier.ledger("booked")) == 1


@pytest.fixture
def unclear(submitted: Submit, carrier: SandboxCarrier) -> Order:
    """An order whose reply from the carrier was lost."""
    carrier.trouble("book", "accept-close")
    return work(submitted())


def test_after_not_booked_the_sender_may_book_again_under_a_new_key(unclear: Order, alice: User, sam: User) -> None:
    order = unclear
    deciding.not_booked(order, by=sam, reason="the carrier says no such order", now=timezone.now())
    bookings.confirm(order, by=alice, now=timezone.now())
    work(order)
    assert (order.status, order.generation) == ("booked", 2)
    assert BookingAttempt.objects.filter(order=order).values_list("state", flat=True).order_by("pk")[0] == "not_created"
    assert len({str(attempt.key) for attempt in order.attempts.all()}) == 2


def test_consent_from_before_the_last_booking_reuses_no_key(
    unclear: Order, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    """The page was read when the order was "not booked"; now it is "not booked" again, one generation later."""
    order = unclear
    deciding.not_booked(order, by=sam, reason="the carrier says no such order", now=timezone.now())
    seen_before = Order.objects.get(pk=order.pk)
    bookings.confirm(order, by=alice, now=timezone.now())
    carrier.trouble("book", "return-cancelled")
    work(order)
    deciding.not_booked(order, by=sam, reason="the carrier has called it off", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(problem=seen_before.problem)  # nothing else differs
    with pytest.raises(Order.WrongStatus):
        bookings.confirm(seen_before, by=alice, now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.generation) == ("not_booked", 2)
    bookings.confirm(order, by=alice, now=timezone.now())
    work(order)
    assert (order.status, order.generation) == ("booked", 3)
    assert len({str(attempt.key) for attempt in order.attempts.all()}) == 3


def test_a_decision_about_an_earlier_booking_resolves_no_later_one(
    unclear: Order, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    """Otherwise the sender could book a parcel again that the carrier may already have."""
    order, seen_before = unclear, Order.objects.get(pk=unclear.pk)
    deciding.not_booked(order, by=sam, reason="the carrier says no such order", now=timezone.now())
    bookings.confirm(order, by=alice, now=timezone.now())
    carrier.trouble("book", "accept-close")
    work(order)
    with pytest.raises(Refused):
        deciding.not_booked(seen_before, by=sam, reason="the carrier says no such order", now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.generation) == ("unconfirmed", 2)


def test_a_reply_that_says_cancelled_is_a_conflict(submitted: Submit, carrier: SandboxCarrier) -> None:
    carrier.trouble("book", "return-cancelled")
    order = work(submitted())
    assert (order.status, order.carrier_reference) == ("conflict", None)
    assert order.attempts.get().seen_reference


def test_the_longest_texts_a_carrier_may_send_still_book(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    answer = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
    wordy = dataclasses.replace(
        answer,
        order_id="i" * 100,
        tracking_url="https://track.example/" + "u" * 2000,
        price=Money(Decimal("99999999999.999999"), order.currency),
    )
    recording.record_outcome(attempt, wordy)
    order.refresh_from_db()
    assert (order.status, order.public_tracking_url) == ("booked", "")


def test_a_label_of_another_carrier_account_is_never_fetched_by_its_id(
    submitted: Submit, carrier: SandboxCarrier, settings: Any
) -> None:
    label = work(submitted()).labels.first()
    assert label
    before = len(carrier.requests())
    settings.CARRIER_ACCOUNT = "another-account"
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.due_at is not None) == ("failed", True)  # requested again if the account comes back
    assert len(carrier.requests()) == before


def test_the_labels_of_a_cancelled_order_are_no_longer_fetched(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = work(submitted())
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now(), **NOT_COUNTED)
    before = len(carrier.requests())
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert list(order.labels.values_list("state", "due_at")) == [("pending", None)] * 2
    assert len(carrier.requests()) == before


def test_an_operation_the_carrier_lacks_does_not_stop_a_worker(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    order = work(submitted())
    order.labels.update(address="")  # not in the reply to the booking
    contract('view = ""\ntrack = ""')
    label = order.labels.first()
    assert label
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.due_at) == ("failed", None)
    polling.open_parcel(order.pk)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(order.parcel.pk)
    assert Parcel.objects.get().poll.tries == 1


def test_an_unrelated_constraint_error_is_not_taken_for_a_second_press(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise IntegrityError("another rule")

    monkeypatch.setattr(transitions.receivers, "count_use", breaks)
    fields = {"quote": factories.quote(quill, alice), "code": "STANDARD-PICKUP", "by": alice}
    with pytest.raises(IntegrityError, match="another rule"):
        bookings.submit(**fields, form_token=uuid.uuid4(), pickup_date=None, now=timezone.now())
    assert not Order.objects.exists()


def test_an_unrelated_constraint_error_is_not_taken_for_a_reference_conflict(
    submitted: Submit, carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = submitted()
    monkeypatch.setattr(
        fetching,
        "request_labels",
        lambda order, links, at, is_worthless: Label.objects.create(order=order, size="full", length=-1),
    )
    with pytest.raises(IntegrityError):
        work(order)
    order.refresh_from_db()
    assert order.status == "booking"


@pytest.mark.parametrize(
    ("to", "phones"), [("AU", ["0491 570 006", "0491 570 157"]), ("US", ["+61491570006", "+13105550100"])]
)
def test_phones_of_a_parcel_abroad_have_their_country_code(
    quill: Sender, alice: User, to: str, phones: list[str]
) -> None:
    details = ParcelDetails.from_json(factories.quote(quill, alice).details)
    theirs = {"AU": "0491 570 157", "US": "(310) 555-0100"}[to]
    pickup = dataclasses.replace(details.pickup, phone="0491 570 006", country="AU")
    receiver = dataclasses.replace(details.receiver, phone=theirs, country=to)
    shipment = dataclasses.replace(details, pickup=pickup, receiver=receiver).shipment()
    assert [shipment.sender.phone, shipment.receiver.phone] == phones


def accepted(attempt: BookingAttempt) -> None:
    recording.record_outcome(attempt, sent(attempt))


def accepted_with_a_second_reference(attempt: BookingAttempt) -> None:
    recording.record_outcome(attempt, sent(attempt))
    recording.record_outcome(
        attempt, gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(uuid.uuid4()))
    )


def sent(attempt: BookingAttempt) -> Booked:
    return gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))


@pytest.mark.parametrize(
    "outcome",
    [
        accepted,
        accepted_with_a_second_reference,
        partial(recording.record_outcome, outcome=NotSent("no connection")),
        partial(recording.record_outcome, outcome=OutcomeUnknown("no answer")),
    ],
)
def test_the_accounts_row_is_never_written_while_an_order_is_locked(
    submitted: Submit, carrier: SandboxCarrier, outcome: Callable[[BookingAttempt], None]
) -> None:
    """Posting a report locks the account's row, then waits for an order's."""
    attempt = bookings._write_down(submitted(), timezone.now())
    assert attempt
    CarrierAccount.objects.update(failures=1)
    with CaptureQueriesContext(connection) as queries:
        outcome(attempt)
    open_now, written_at_depths = 0, []
    for text in sql_of(queries):
        words = text.split()
        open_now += (words[0] == "SAVEPOINT") - (words[:2] == ["RELEASE", "SAVEPOINT"])
        if text.startswith('UPDATE "orders_carrieraccount"'):
            written_at_depths.append(open_now)
    assert set(written_at_depths) == {0}
