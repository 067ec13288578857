"""Cancelling: the interface's refusals, the carrier's replies, and the result of each."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from orders.booking import bookings, recording
from orders.calling import gateway
from orders.cancelling import cancel_outcomes, cancel_rules, cancels
from orders.cancelling.cancel_rules import can_cancel, refuse_cancel_unless_allowed
from orders.cancelling.cancel_verdict import Confirmed, Outcome
from orders.models import CancelAttempt, Order
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.messages import Cancelled, Tracked
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Parcel

pytestmark = pytest.mark.django_db

Book = Callable[..., Order]
YES = Cancelled("Cancelled", "", 200, b"{}")


def cancel(order: Order, by: User) -> Order:
    cancels.ask_to_cancel(order, by=by, why="not sending it", now=timezone.now())
    return work(order)


def work(order: Order) -> Order:
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    return order


def test_a_booked_parcel_is_cancelled_at_the_carrier(booked: Book, carrier: SandboxCarrier, alice: User) -> None:
    order = cancel(booked(), alice)
    assert (order.status, order.cancels.get().state) == ("cancelled", "done")
    assert len(carrier.ledger("cancelled")) == 1
    assert order.carrier_reference
    assert [change.new for change in order.changes.all()] == ["booking", "booked", "cancelling", "cancelled"]


def test_a_collected_parcel_stays_booked_with_the_carriers_words(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    carrier.scan(order.carrier_reference, "Pickup", push=False)
    cancel(order, alice)
    assert (order.status, order.cancels.get().state) == ("booked", "refused")
    assert order.problem["text"] == "It's already been picked up, so it can't be cancelled."
    assert not [r for r in carrier.requests() if r["method"] == "DELETE"]


def test_a_parcel_the_carrier_says_it_cannot_cancel_is_not_sent(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    assert (order.is_cancellable, can_cancel(order, timezone.now())) == (True, True)
    polling.open_parcel(order.pk)
    day = timezone.localdate() + dt.timedelta(days=2)
    for found, may in ((False, False), (None, False), (True, True)):
        tracked = Tracked("", (), (), day, b"", is_cancellable=found)
        polling.take_scans(Parcel.objects.select_related("order").get(), tracked, now=timezone.now())
        order.refresh_from_db()
        assert (can_cancel(order, timezone.now()), order.carrier_pickup_date) == (may, day)
    Order.objects.update(is_cancellable=False)
    order.refresh_from_db()
    with pytest.raises(Order.WrongStatus, match="can't be cancelled any more"):
        cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    Order.objects.update(is_cancellable=None)
    order.refresh_from_db()
    assert cancel(order, alice).status == "cancelled"


def test_the_booked_orders_own_arrival_days_replace_the_quoted_ones(submitted: Book, carrier: SandboxCarrier) -> None:
    order = submitted()
    Order.objects.update(eta_from="2026-01-01", eta_to="2026-01-02")
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    dates = carrier.ledger("booked")[0]["parcel"]["quote"]["dates"]
    assert [order.eta_from.isoformat(), order.eta_to.isoformat()] == dates


def test_nothing_is_cancelled_if_a_page_of_scans_cannot_be_read(
    booked: Book, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Tracked("", (), (), None, b"", is_whole=False)
    monkeypatch.setattr(Carrier, "track", lambda client, reference: part)
    order = cancel(booked(), alice)
    assert (order.status, bool(order.due_at), carrier.ledger("cancelled")) == ("cancelling", True, [])


@pytest.mark.parametrize(
    ("asked", "status", "left"), [("wanted", "booked", "refused"), ("unknown", "cancel_unconfirmed", "unknown")]
)
def test_a_parcel_of_another_carrier_account_is_not_cancelled(
    booked: Book, carrier: SandboxCarrier, alice: User, settings: Any, asked: str, status: str, left: str
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    order.cancels.update(state=asked)
    if asked == "unknown":
        move_to(order, "cancel_unconfirmed", reason="no answer", at=timezone.now())
    before = len(carrier.requests())
    settings.CARRIER_ACCOUNT = "another-account"
    work(order)
    assert (order.status, order.cancels.get().state) == (status, left)
    assert len(carrier.requests()) == before
    assert "another carrier account" in (order.problem.get("text") or order.cancels.get().answer)
    assert asked == "wanted" or order.due_at is None


@pytest.mark.parametrize("word", ["Pickup Attempted", "Missed Pickup", "Futile Pickup"])
def test_an_unreported_driver_visit_is_noticed_before_cancelling(
    booked: Book, carrier: SandboxCarrier, alice: User, word: str
) -> None:
    order = booked()
    carrier.scan(order.carrier_reference, word, push=False)
    cancel(order, alice)
    assert order.status == "booked"
    assert carrier.ledger("cancelled") == []


@pytest.mark.parametrize("progress", ["pickup_missed", "pickup_futile"])
def test_missed_and_futile_pickups_are_never_cancelled(quill: Sender, alice: User, progress: str) -> None:
    order = factories.order(quill, alice, status="booked", progress=progress)
    with pytest.raises(Order.PickupProblem):
        cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())
    assert not can_cancel(order, timezone.now())


def test_a_pickup_without_a_scan_counts_as_missed_from_the_next_day(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_pickup_date=dt.date(2026, 11, 20))
    on_the_day = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)  # 23:00 in Melbourne
    next_day = dt.datetime(2026, 11, 20, 13, 30, tzinfo=dt.UTC)  # 00:30 on the 21st in Melbourne
    assert order.shown_progress(on_the_day) == ""
    assert order.shown_progress(next_day) == "pickup_missed"
    with pytest.raises(Order.PickupProblem):
        refuse_cancel_unless_allowed(order, next_day)


def test_a_second_business_day_without_a_scan_is_a_second_missed_pickup(quill: Sender, alice: User) -> None:
    friday = dt.date(2026, 11, 20)
    order = factories.order(quill, alice, status="booked", carrier_pickup_date=friday)
    on_monday = dt.datetime(2026, 11, 23, 10, tzinfo=dt.UTC)  # 21:00 in Melbourne, the second driver may still come
    on_tuesday = dt.datetime(2026, 11, 23, 14, tzinfo=dt.UTC)  # 01:00 on the 24th in Melbourne
    assert order.shown_progress(on_monday) == "pickup_missed"
    assert [order.missed_twice(when) for when in (on_monday, on_tuesday)] == [False, True]
    order.note_pickup_date(dt.date(2026, 11, 25))
    assert not order.missed_twice(on_tuesday)


def test_a_drop_off_is_never_a_missed_pickup(quill: Sender, alice: User) -> None:
    order = factories.order(
        quill, alice, status="booked", first_mile="drop-off", carrier_pickup_date=dt.date(2026, 1, 1)
    )
    assert order.shown_progress(timezone.now()) == ""


@pytest.mark.parametrize("status", ["draft", "booking", "rejected", "unconfirmed", "conflict", "cancelled"])
def test_only_a_booked_order_can_be_cancelled(quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    with pytest.raises(Order.WrongStatus):
        cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())


def test_a_carriers_refusal_keeps_the_parcel_booked(booked: Book, carrier: SandboxCarrier, alice: User) -> None:
    order = booked()
    carrier.trouble("cancel", "422")
    cancel(order, alice)
    assert (order.status, order.cancels.get().state) == ("booked", "refused")
    assert order.problem["kind"] == "cancel_refused"


def test_after_a_lost_reply_the_request_is_repeated_and_cancels_once(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    carrier.trouble("cancel", "commit-close")
    cancel(order, alice)
    assert order.status == "cancel_unconfirmed"
    work(order)
    assert order.status == "cancelled"
    assert len(carrier.ledger("cancelled")) == 1


def test_cancelling_one_parcel_leaves_the_others_booked(booked: Book, alice: User) -> None:
    first, second = booked(), booked()
    cancels.ask_to_cancel(second, by=alice, why="not sending it", now=timezone.now())
    assert cancel(first, alice).cancels.get().state == "done"
    assert second.cancels.get().state == "wanted"
    assert work(second).status == "cancelled"


def test_if_cancelling_twice_is_not_safe_the_order_is_checked(
    booked: Book, carrier: SandboxCarrier, alice: User, contract: Callable[[str], None]
) -> None:
    contract("cancel_repeatable = false")
    order = booked()
    carrier.trouble("cancel", "commit-close")
    cancel(order, alice)
    assert order.status == "cancel_unconfirmed"
    work(order)
    assert order.status == "cancelled"
    assert sum(r["method"] == "DELETE" for r in carrier.requests()) == 1


def test_an_unreachable_carrier_is_tried_again_later(booked: Book, carrier: SandboxCarrier, alice: User) -> None:
    order = booked()
    carrier.trouble("track", "refuse")
    with time_machine.travel(timezone.now(), tick=False):
        cancel(order, alice)
        assert (order.status, order.cancels.get().state) == ("cancelling", "wanted")
        assert order.due_at > timezone.now()
    assert work(order).status == "cancelled"


def test_after_eight_unclear_tries_a_cancellation_goes_to_an_operator(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    carrier.trouble("cancel", "500", count=20)
    goes_on = [bool(cancel(order, alice).due_at), *(bool(work(order).due_at) for _ in range(8))]
    assert goes_on == [True] * 7 + [False] * 2
    assert order.status == "cancel_unconfirmed"
    assert order.cancels.get().state == CancelAttempt.State.UNKNOWN


def test_a_scan_after_cancelling_says_the_label_was_used(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="cancelled")
    advance(order, "collected", at=order.cancelled_at + dt.timedelta(hours=1))
    order.refresh_from_db()
    assert order.used_after_cancel_at is not None
    assert order.status == "cancelled"


def test_a_worker_that_slept_past_its_lease_changes_nothing(
    booked: Book, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    carrier.trouble("cancel", "commit-close")
    asleep = cancel_outcomes.record

    def another_resolves_it_first(stale: Order, attempt: CancelAttempt, outcome: Outcome) -> None:
        monkeypatch.setattr(cancel_outcomes, "record", asleep)
        assert [work(order).status, work(order).status] == ["cancel_unconfirmed", "cancelled"]
        asleep(stale, attempt, outcome)

    monkeypatch.setattr(cancel_outcomes, "record", another_resolves_it_first)
    cancel(order, alice)
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == ("cancelled", "done")
    assert order.due_at <= timezone.now()  # for tracking, not for another try
    assert len(carrier.ledger("cancelled")) == 1


def test_a_refusal_after_a_lost_reply_is_checked_against_the_order(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    carrier.trouble("cancel", "commit-close")
    cancel(order, alice)
    carrier.trouble("cancel", "422")
    assert work(order).status == "cancelled"


def test_a_futile_pickup_in_the_meantime_stops_a_second_try(booked: Book, carrier: SandboxCarrier, alice: User) -> None:
    order = booked()
    carrier.trouble("cancel", "500")
    cancel(order, alice)
    carrier.scan(order.carrier_reference, "Futile Pickup", push=False)
    assert work(order).status == "booked"
    assert carrier.ledger("cancelled") == []


def test_a_missed_pickup_known_only_from_a_webhook_is_not_cancelled(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(progress="pickup_missed")
    assert work(order).status == "booked"
    assert carrier.ledger("cancelled") == []


def test_a_parcel_whose_pickup_was_missed_meanwhile_is_not_cancelled(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(carrier_pickup_date=timezone.now().date() - dt.timedelta(days=5))
    assert work(order).status == "booked"
    assert carrier.ledger("cancelled") == []


def test_no_cancellation_is_sent_later_than_its_lease_allows(
    booked: Book, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    monkeypatch.setattr(recording, "send_until", lambda lease: 0.0)  # long ago
    cancel(order, alice)
    assert (order.status, order.cancels.get().state) == ("cancelling", "wanted")
    assert carrier.ledger("cancelled") == []


def test_a_slow_check_of_the_scans_leaves_the_cancellation_its_full_time(
    booked: Book, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    leases = []
    monkeypatch.setattr(
        recording, "send_until", lambda lease, real=recording.send_until: leases.append(lease) or real(lease)
    )
    look = cancels._forbidden_by_scans

    def long_look(*arguments: object) -> str:
        Order.objects.filter(pk=order.pk).update(due_at=timezone.now() + dt.timedelta(seconds=5))
        arguments[0].due_at = Order.objects.get(pk=order.pk).due_at
        return look(*arguments)

    monkeypatch.setattr(cancels, "_forbidden_by_scans", long_look)
    cancel(order, alice)
    assert order.status == "cancelled"
    assert leases[0] > timezone.now() + dt.timedelta(seconds=20)


def test_an_order_without_the_carriers_order_id_cannot_be_cancelled_here(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_order_id="")
    assert not can_cancel(order, timezone.now())
    with pytest.raises(Order.WrongStatus):
        cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())


def unclear(order: Order, by: User, carrier: SandboxCarrier) -> Order:
    carrier.trouble("cancel", "commit-close", count=1)
    return cancel(order, by)


@pytest.mark.parametrize(
    ("is_cancelled", "status", "state"), [(True, "cancelled", "done"), (False, "booked", "refused")]
)
def test_an_operator_resolves_an_unclear_cancellation_as_the_carrier_says(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User, is_cancelled: bool, status: str, state: str
) -> None:
    order = unclear(booked(), alice, carrier)
    assert order.status == "cancel_unconfirmed"
    cancel_outcomes.resolve(order, is_cancelled=is_cancelled, by=sam, reason="the carrier said so", now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == (status, state)
    assert (order.cancelled_at is not None) == is_cancelled


@pytest.mark.parametrize("is_found_by", ["an operator", "a worker"])
def test_a_refusal_after_an_unclear_request_was_given_up_is_checked_against_the_order(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User, is_found_by: str
) -> None:
    """The first request was still on its way when the carrier showed the order as booked."""
    order = booked()
    carrier.trouble("cancel", "500")
    assert cancel(order, alice).status == "cancel_unconfirmed"
    if is_found_by == "an operator":
        cancel_outcomes.resolve(order, is_cancelled=False, by=sam, reason="the carrier said so", now=timezone.now())
    else:
        carrier.trouble("cancel", "422")
        assert work(order).status == "booked"
    gateway.carrier_of(order).cancel(order.carrier_order_id)  # it arrives
    carrier.trouble("cancel", "422")
    assert cancel(order, alice).status == "cancelled"


def test_a_cancellation_being_sent_right_now_cannot_be_resolved(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = unclear(booked(), alice, carrier)
    order.cancels.update(state="in_flight")
    with pytest.raises(Order.WrongStatus, match="at this moment"):
        cancel_outcomes.resolve(order, is_cancelled=False, by=sam, reason="the carrier said so", now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == ("cancel_unconfirmed", "in_flight")
    assert not Audit.objects.exists()


def test_a_resolved_cancellation_is_not_resolved_again(booked: Book, alice: User, sam: User) -> None:
    order = booked()
    with pytest.raises(Order.WrongStatus):
        cancel_outcomes.resolve(order, is_cancelled=True, by=sam, reason="the carrier said so", now=timezone.now())


def test_a_late_acceptance_resolves_a_cancellation_marked_unclear_by_another_worker(
    booked: Book, carrier: SandboxCarrier, alice: User
) -> None:
    order = unclear(booked(), alice, carrier)
    cancel_outcomes.record(order, order.cancels.get(), Confirmed(YES))
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == ("cancelled", "done")


def test_a_late_yes_after_it_was_found_still_booked_waits_for_an_operator(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = unclear(booked(), alice, carrier)
    cancel_outcomes.resolve(order, is_cancelled=False, by=sam, reason="the carrier said so", now=timezone.now())
    cancel_outcomes.record(order, order.cancels.get(), Confirmed(YES))
    order.refresh_from_db()
    assert (order.status, order.due_at, order.cancels.get().state) == ("cancel_unconfirmed", None, "unknown")


def test_a_late_yes_resolves_a_cancellation_requested_again_meanwhile(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = unclear(booked(), alice, carrier)
    first = order.cancels.get()
    cancel_outcomes.resolve(order, is_cancelled=False, by=sam, reason="the carrier said so", now=timezone.now())
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancel_outcomes.record(order, first, Confirmed(YES))
    order.refresh_from_db()
    assert order.status == "cancelled"
    assert [attempt.state for attempt in order.cancels.order_by("pk")] == ["done", "done"]


def test_an_acceptance_survives_a_short_database_outage(
    booked: Book, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, failures = cancel_outcomes.confirm, [OperationalError("the server is starting up"), InterfaceError()]

    def away_at_first(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        store(*arguments)

    monkeypatch.setattr(cancel_outcomes, "confirm", away_at_first)
    monkeypatch.setattr(recording, "close_old_connections", lambda: None)
    monkeypatch.setattr(recording.time, "sleep", lambda seconds: None)
    assert cancel(booked(), alice).status == "cancelled"
    assert len(carrier.ledger("cancelled")) == 1


def test_repeated_failed_checks_leave_the_attempt_to_an_operator(
    booked: Book, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = unclear(booked(), alice, carrier)
    carrier.trouble("cancel", "422", count=20)
    carrier.trouble("view", "refuse", count=20)
    for _ in range(10):
        work(order)
    assert (order.status, order.due_at) == ("cancel_unconfirmed", None)
    assert order.cancels.get().state == "unknown"
    cancel_outcomes.resolve(order, is_cancelled=True, by=sam, reason="the carrier said so", now=timezone.now())
    assert order.status == "cancelled"


@pytest.mark.parametrize("trouble", ["500", "refuse"])
def test_the_number_of_tries_is_limited(booked: Book, carrier: SandboxCarrier, alice: User, trouble: str) -> None:
    order = booked()
    carrier.trouble("cancel", trouble)
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(tries=32_767)
    CancelAttempt.objects.update(tries=32_767)
    assert work(order).tries <= 32_767
    assert order.cancels.get().tries <= 32_767


def test_each_try_is_counted(booked: Book, alice: User) -> None:
    assert cancel(booked(), alice).cancels.get().tries == 1


def test_no_cancel_is_offered_for_a_carrier_without_cancellations(
    booked: Book, alice: User, contract: Callable[[str], None]
) -> None:
    order = booked()
    contract('cancel = ""')
    assert not can_cancel(order, timezone.now())
    with pytest.raises(Order.WrongStatus, match="takes no cancellations"):
        cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())


def test_a_queued_cancellation_the_carrier_no_longer_takes_leaves_the_parcel_booked_and_says_so(
    booked: Book, alice: User, contract: Callable[[str], None]
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    contract('cancel = ""')
    assert work(order).status == "booked"
    assert order.problem["text"] == cancel_rules.NO_WAY


def test_an_unclear_cancellation_stays_unclear_if_the_carrier_no_longer_takes_any(
    booked: Book, carrier: SandboxCarrier, alice: User, contract: Callable[[str], None]
) -> None:
    order = unclear(booked(), alice, carrier)
    contract('cancel = ""\nview = ""')
    assert work(order).status == "cancel_unconfirmed"
    assert order.cancels.get().state == "unknown"


def test_a_carrier_without_tracking_on_demand_still_gets_the_cancellation(
    booked: Book, alice: User, contract: Callable[[str], None]
) -> None:
    order = booked()
    contract('track = ""')
    assert cancel(order, alice).status == "cancelled"
