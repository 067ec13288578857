"""Every compare-and-swap in orders, tracking and jobs: a row that fails a single condition stays as it is.

The other tests run one worker, so a swap rarely meets a changed row. Here each condition is tested by itself.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from orders.admin import _fetch_again
from orders.booking import limits, recording, resolving
from orders.calling import waiting
from orders.cancelling import cancel_outcomes, replacing
from orders.labels import fetching, printing
from orders.models import (
    BookingAttempt,
    CancelAttempt,
    CarrierAccount,
    DailySpend,
    Label,
    LabelBytes,
    Order,
    Replacement,
)
from orders.models.account import BREAK_AFTER_FAILURES
from orders.restoring import comparing
from orders.status import dismissing
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import AccountStopped, NotSent, Rejected
from shipping_portal.carrier.messages import Booked, LabelFile
from shipping_portal.jobs import dead_letters
from shipping_portal.jobs.models import PARK_AFTER, UNDER_WAY, DeadLetter
from tests import factories
from tests.swaps import row, stays
from tracking import watching, word_decisions
from tracking.models import LastTime, Parcel, Poll, WebhookDelivery
from tracking.receiving import webhook_health
from tracking.scanning import reading

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2026, 11, 27, 7, tzinfo=dt.UTC)
SECOND, HOUR = dt.timedelta(seconds=1), dt.timedelta(hours=1)
STORED = {"state": "stored", "sha256": "1" * 64, "length": 1, "stored_at": NOW}
FILE = LabelFile(b"%PDF-1.4 %%EOF", "0" * 64)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", due_at=NOW)


# -- Jobs -------------------------------------------------------------------------------------------

HELD = [
    ("claim", {}),
    ("renew", {}),
    ("finish", {}),
    ("retry", {"at": NOW}),
    ("postpone", {"at": NOW}),
    ("give_up", {}),
]


@pytest.mark.parametrize("differs", [{"due_at": NOW + SECOND}, {"due_at": None}, {"status": "cancelling"}], ids=str)
@pytest.mark.parametrize(("act", "given"), HELD, ids=lambda value: value if isinstance(value, str) else "")
def test_a_job_that_another_worker_has_stays_as_it_is(
    order: Order, act: str, given: dict[str, Any], differs: dict[str, Any]
) -> None:
    assert stays(order, differs, lambda: getattr(order, act)(**given)) is False


@pytest.mark.parametrize(("act", "given"), HELD, ids=lambda value: value if isinstance(value, str) else "")
def test_an_unchanged_job_is_written(order: Order, act: str, given: dict[str, Any]) -> None:
    assert getattr(order, act)(**given) is True


def test_a_failure_is_not_written_on_another_workers_row(order: Order) -> None:
    order.claim()
    stays(order, {"due_at": NOW + 9 * HOUR}, lambda: order.fail(ValueError(), failures=1))


def test_a_dead_letter_of_a_row_no_longer_parked_stays_as_it_is(quill: Sender, alice: User, order: Order) -> None:
    letter = DeadLetter.objects.create(job="cancel", row=order.pk, failures=9, parked_at=NOW)
    stays(order, {"parked_at": None}, lambda: dead_letters.try_again(letter, now=NOW + HOUR))


# -- Orders -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("differs", [{"state": "refused"}, {"sent_at": NOW}], ids=str)
def test_a_cancellation_that_changed_state_stays_as_it_is(order: Order, alice: User, differs: dict[str, Any]) -> None:
    attempt = CancelAttempt.objects.create(order=order, by=alice, why="-", asked_at=NOW)
    assert stays(attempt, differs, lambda: attempt.change(answer="late")) is False


@pytest.mark.parametrize("differs", [{"state": "accepted"}, {"replays": 3}], ids=str)
def test_an_unclear_booking_sent_again_or_resolved_stays_as_it_is(unclear: Any, differs: dict[str, Any]) -> None:
    attempt = unclear.attempts.get()
    assert stays(attempt, differs, lambda: resolving._change(attempt, lease_until=NOW)) is False


@pytest.fixture
def unclear(quill: Sender, alice: User) -> Order:
    made = factories.order(quill, alice, status="unconfirmed")
    BookingAttempt.objects.create(
        order=made,
        generation=1,
        key=uuid.uuid4(),
        body=b"{}",
        body_sha256="0" * 64,
        sent_at=NOW,
        lease_until=NOW,
        state="unknown",
    )
    return made


LATE_ANSWERS: list[tuple[Callable[[BookingAttempt], None], tuple[str, ...]]] = [
    (lambda attempt: recording.not_sent(attempt, NotSent("late"), at=NOW), ("unknown", "accepted")),
    (lambda attempt: recording.account_stopped(attempt, AccountStopped(402, "late"), at=NOW), ("unknown", "accepted")),
    (lambda attempt: recording.record_unknown(attempt, "late", at=NOW), ("unknown", "accepted")),
    (lambda attempt: recording.reject(attempt, Rejected(422, "late", "No."), at=NOW), ("accepted",)),
]


@pytest.mark.parametrize("status", ["booking", "unconfirmed"])
@pytest.mark.parametrize(("resolve", "live"), LATE_ANSWERS, ids=["not sent", "stopped", "unknown", "rejected"])
def test_an_attempt_resolved_before_a_late_reply_stays_as_it_is(
    unclear: Order, resolve: Callable[[BookingAttempt], None], live: tuple[str, ...], status: str
) -> None:
    """If it counted as not sent, a parcel that may be booked would be sent again."""
    attempt = unclear.attempts.get()
    Order.objects.filter(pk=unclear.pk).update(status=status, due_at=NOW)
    for state in (*live, "rejected", "not_sent", "not_created"):
        before = row(unclear)
        stays(attempt, {"state": state}, lambda: resolve(attempt))
        assert row(unclear) == before


@pytest.mark.parametrize("status", ["draft", "rejected", "not_booked"])
def test_a_refusal_of_a_booking_nobody_waits_for_changes_nothing(unclear: Order, status: str) -> None:
    attempt = unclear.attempts.get()
    Order.objects.filter(pk=unclear.pk).update(status=status)
    before = row(attempt)
    recording._record(attempt, Rejected(422))  # which is not an error in the worker
    assert row(attempt) == before


@pytest.mark.parametrize("state", ["in_flight", "done", "refused"])
def test_a_cancellation_being_checked_right_now_stays_as_it_is(order: Order, sam: User, state: str) -> None:
    attempt = CancelAttempt.objects.create(order=order, by=sam, why="-", asked_at=NOW, state=state)
    Order.objects.filter(pk=order.pk).update(status="cancel_unconfirmed")
    order.refresh_from_db()
    resolve = partial(cancel_outcomes.resolve, order, is_cancelled=True, by=sam, reason="-", now=NOW + HOUR)
    stays(attempt, {}, resolve)


@pytest.mark.parametrize("state", ["done", "refused"])
def test_an_acceptance_ends_no_older_attempt_that_has_a_reply(order: Order, sam: User, state: str) -> None:
    older = CancelAttempt.objects.create(order=order, by=sam, why="-", asked_at=NOW, state=state)
    newest = CancelAttempt.objects.create(order=order, by=sam, why="-", asked_at=NOW)
    Order.objects.filter(pk=order.pk).update(status="cancelling")
    answer = SimpleNamespace(status=200, body=b"{}", message="")
    stays(older, {}, lambda: cancel_outcomes.confirm(order, newest.pk, answer))  # type: ignore[arg-type]
    newest.refresh_from_db()
    assert newest.state == "done"


def test_money_that_was_given_back_is_not_given_back_again(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(reserved_on=NOW.date())
    assert limits._locked_counts(order) is not None
    assert stays(order, {"reserved_on": None}, lambda: limits._locked_counts(order)) is None


@pytest.fixture
def accepted(order: Order) -> BookingAttempt:
    return BookingAttempt.objects.create(
        order=order,
        generation=1,
        key=uuid.uuid4(),
        body=b"{}",
        body_sha256="0" * 64,
        sent_at=NOW,
        lease_until=NOW,
        state="accepted",
    )


@pytest.mark.parametrize("at", [NOW - SECOND, NOW + SECOND])
def test_the_time_replays_were_first_turned_off_is_kept(
    order: Order, accepted: BookingAttempt, at: dt.datetime
) -> None:
    booked = SimpleNamespace(status=200, body=b"{}", reference="SANOTHER01", message="")
    with suppress(AttributeError):  # the result is another test's subject
        stays(order.account, {"replays_off_at": at}, lambda: recording.accept(accepted, booked, at=NOW))  # type: ignore[arg-type]
    order.account.refresh_from_db()
    assert order.account.replays_off_at == at


@pytest.mark.parametrize(("reference", "are_off"), [("sq7k2m", False), ("SQ7K2M", False), ("SQ7K2N", True)])
def test_only_another_reference_turns_replays_off(
    order: Order, accepted: BookingAttempt, reference: str, are_off: bool
) -> None:
    Order.objects.filter(pk=order.pk).update(carrier_reference="SQ7K2M")
    booked = Booked("id-1", reference, "Booked", (), None, None, (), "", "", 200, b"{}")
    recording.accept(accepted, booked, at=NOW)
    order.account.refresh_from_db()
    assert (order.account.replays_off_at is not None) == are_off


def test_a_replacement_that_ended_is_not_ended_again(order: Order, alice: User) -> None:
    made = Replacement.objects.create(
        order=order, asked_by=alice, asked_at=NOW, product_code="-", form_token=uuid.uuid4()
    )
    stays(made, {"ended_at": NOW, "problem": "kept"}, lambda: replacing.leave_out(made, now=NOW + HOUR))


@pytest.mark.parametrize("places", range(3))
def test_a_person_takes_no_more_waiting_places_than_allowed(alice: User, places: int) -> None:
    taken = dict.fromkeys(waiting.OF_A_PERSON[:places], timezone.now() + HOUR)
    User.objects.filter(pk=alice.pk).update(**taken)
    before = row(alice)
    try:
        with waiting.at_a_page(alice):
            held = {name: value for name, value in row(alice).items() if value != before[name]}
    except waiting.Full:
        held = {}
    assert held.keys() == set(waiting.OF_A_PERSON[places : places + 1])
    assert row(alice) == before


def test_a_place_that_another_page_has_now_stays_with_it(alice: User) -> None:
    first = waiting.OF_A_PERSON[0]
    later = timezone.now() + 9 * HOUR
    with waiting.at_a_page(alice):
        User.objects.filter(pk=alice.pk).update(**{first: later})
    assert row(alice)[first] == later


@pytest.mark.parametrize("state", ["stored", "pending", "absent", "failed"])
def test_only_a_withheld_label_is_shown_again(label: Label, state: str) -> None:
    facts = {"sha256": "1" * 64, "length": 1, "stored_at": NOW}
    stays(
        label,
        {**facts, "state": state},
        lambda: comparing.show_labels(Label.objects.filter(pk=label.pk), now=NOW + HOUR),
    )


@pytest.mark.parametrize(("sha256", "state"), [("1" * 64, "stored"), ("", "pending")])
def test_a_withheld_label_is_shown_as_it_was(label: Label, sha256: str, state: str) -> None:
    facts = {"sha256": sha256, "length": 1, "stored_at": NOW} if sha256 else {}
    Label.objects.filter(pk=label.pk).update(state="withheld", **facts)
    comparing.show_labels(Label.objects.filter(pk=label.pk), now=NOW + HOUR)
    label.refresh_from_db()
    assert (label.state, label.due_at) == (state, None if sha256 else NOW + HOUR)


def test_an_order_whose_status_changed_stays_as_it_is(order: Order) -> None:
    move = transaction.atomic(lambda: move_to(order, "cancelling", reason="-", at=NOW))
    stays(order, {"status": "cancelling"}, move)
    assert not order.changes.filter(at=NOW, new="cancelling").exists()


def test_an_order_that_is_sent_again_keeps_its_refusal(order: Order) -> None:
    mine = Order.objects.filter(pk=order.pk)
    stays(order, {"status": "cancelling", "cancel_refused_at": NOW}, lambda: dismissing.dismiss(mine, NOW + HOUR))


@pytest.mark.parametrize("differs", [{"status": "cancelling"}, {"printed_at": NOW}], ids=str)
def test_a_label_now_marked_or_useless_stays_as_it_is(order: Order, alice: User, differs: dict[str, Any]) -> None:
    assert not stays(order, differs, lambda: printing.mark_printed(order, by=alice, at=NOW + HOUR))


@pytest.fixture
def label(order: Order) -> Label:
    return Label.objects.create(order=order, size="full", due_at=NOW)


@pytest.mark.parametrize("differs", [{"purged_at": NOW}, STORED], ids=str)
def test_a_file_for_a_label_already_stored_or_erased_is_dropped(label: Label, differs: dict[str, Any]) -> None:
    stays(label, differs, lambda: fetching.store(label, FILE, at=NOW))
    assert not LabelBytes.objects.exists()


@pytest.mark.parametrize(
    ("due_in", "other", "is_taken"),
    [
        (0, {}, True),
        (60, {}, True),
        (60, {"last_error": UNDER_WAY}, False),  # another worker fetches it
        (-60, {"last_error": UNDER_WAY}, True),  # that worker is gone
        (0, {"failures": PARK_AFTER - 1}, True),
        (0, {"failures": PARK_AFTER}, False),
        (0, {"state": "withheld"}, False),
    ],
    ids=str,
)
def test_a_labels_worker_fetches_the_other_size_unless_another_has_it(
    label: Label, due_in: int, other: dict[str, Any], is_taken: bool
) -> None:
    due_at = timezone.now() + due_in * SECOND
    second = Label.objects.create(order=label.order, size="cropped", due_at=due_at, **other)
    assert fetching._other_wanted_sizes(label) == ([second] if is_taken else [])


@pytest.mark.parametrize("differs", [{"purged_at": NOW}, STORED, {"state": "withheld"}], ids=str)
def test_a_label_that_may_not_be_fetched_again_stays_as_it_is(label: Label, sam: User, differs: dict[str, Any]) -> None:
    stays(label, differs, lambda: _fetch_again(label, reason="-", by=sam, now=NOW + HOUR))


# -- Accounts ---------------------------------------------------------------------------------------


@pytest.fixture
def account() -> CarrierAccount:
    made = factories.account()
    CarrierAccount.objects.update(stopped_at=NOW)
    made.refresh_from_db()
    return made


def test_a_probe_goes_out_once_in_five_minutes(account: CarrierAccount) -> None:
    assert stays(account, {"probe_due_at": NOW + SECOND}, lambda: account.take_probe(NOW)) is False
    CarrierAccount.objects.update(probe_due_at=NOW)
    assert account.take_probe(NOW) is True
    assert account.take_probe(NOW) is False


def test_a_probe_is_not_given_back_to_an_account_that_is_running(account: CarrierAccount) -> None:
    stays(account, {"stopped_at": None}, lambda: account.give_probe_back(NOW))


def test_a_reply_already_recorded_changes_nothing(account: CarrierAccount) -> None:
    at_rest = {"failures": 0, "stopped_at": None, "resting_until": None}
    stays(account, {**at_rest, "stopped_reason": "kept", "probe_due_at": NOW}, lambda: account.note_answer(NOW))


@pytest.mark.parametrize(("failures", "rests"), [(BREAK_AFTER_FAILURES - 2, False), (BREAK_AFTER_FAILURES - 1, True)])
def test_the_fifth_failure_holds_back_the_account(account: CarrierAccount, failures: int, rests: bool) -> None:
    CarrierAccount.objects.update(failures=failures)
    account.note_failure(NOW)
    account.refresh_from_db()
    assert (account.resting_until is not None, account.failures) == (rests, 0 if rests else failures + 1)


# -- Tracking ---------------------------------------------------------------------------------------


def test_a_last_time_changed_by_another_process_stays_as_it_is() -> None:
    made = LastTime.objects.create(name="beat", at=NOW)
    assert LastTime.move("beat", now=NOW + HOUR) == NOW
    for at, is_first in ((NOW + HOUR + SECOND, False), (NOW + HOUR, True)):
        LastTime.objects.filter(pk=made.pk).update(at=at)
        assert LastTime.is_first_in(HOUR, "beat", now=NOW + 2 * HOUR) is is_first


@pytest.mark.parametrize("state", ["on", "refused", "wanted"])
def test_a_reference_already_subscribed_is_not_subscribed_again(quill: Sender, alice: User, state: str) -> None:
    parcel = factories.watch(quill, alice, reference="SWATCH001").parcel
    stays(
        parcel,
        {"subscription": state},
        lambda: watching.follow_reference(quill, "SWATCH001", name="", by=alice, now=NOW),
    )


def test_a_reference_booked_here_is_not_subscribed(order: Order, quill: Sender, alice: User) -> None:
    parcel = factories.parcel(order)
    stays(
        parcel,
        {"subscription": ""},
        lambda: watching.follow_reference(quill, parcel.reference, name="", by=alice, now=NOW),
    )


@pytest.mark.parametrize(
    ("due_at", "left"), [(None, NOW), (NOW + SECOND, NOW), (NOW, NOW), (NOW - SECOND, NOW - SECOND)], ids=str
)
def test_scan_processing_that_is_due_sooner_stays_due_sooner(order: Order, due_at: Any, left: Any) -> None:
    parcel = factories.parcel(order, due_at=due_at)
    word_decisions._schedule_projections(Parcel.objects.all(), NOW)
    parcel.refresh_from_db()
    assert parcel.due_at == left


# -- Several rows at once -------------------------------------------------------------


def test_a_batch_of_webhooks_takes_only_the_free_ones() -> None:
    free = factories.delivery(due_at=NOW)
    others = [
        factories.delivery(due_at=NOW + SECOND),
        factories.delivery(due_at=NOW, failures=1),
        factories.delivery(due_at=NOW, parked_at=NOW),
        factories.delivery(due_at=NOW, state="stored"),
        factories.delivery(due_at=None),
    ]
    before = [row(one) for one in others]
    assert reading._claim_batch(NOW) == [free.pk]
    assert [row(one) for one in others] == before


def test_a_batch_that_failed_frees_only_what_is_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    done, unread = (factories.delivery(due_at=NOW) for _ in range(2))

    def fails(*keys: int) -> None:
        WebhookDelivery.objects.filter(pk=done.pk).update(state="stored", due_at=None)
        raise ValueError

    monkeypatch.setattr(reading, "read_deliveries", fails)
    reading.read_due(before=NOW)
    for one in (done, unread):
        one.refresh_from_db()
    assert (done.due_at, unread.due_at is not None, unread.failures) == (None, True, 1)


def test_catching_up_moves_only_the_free_polls(quill: Sender, alice: User) -> None:
    def poll(**fields: Any) -> Poll:
        parcel = factories.parcel(factories.order(quill, alice, status="booked"))
        return Poll.objects.create(parcel=parcel, **{"due_at": NOW + HOUR, **fields})

    free = poll()
    others = [poll(last_error=UNDER_WAY), poll(parked_at=NOW), poll(due_at=NOW), poll(due_at=None)]
    before = [row(one) for one in others]
    assert list(webhook_health.waiting_polls(free.parcel.account, NOW)) == [free.pk]
    assert webhook_health.catch_up(NOW) == 1
    free.refresh_from_db()
    assert free.due_at == NOW
    assert [row(one) for one in others] == before


# -- Money ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "fits"), [("10.00", True), ("10.01", False), ("9.99", True), ("11.00", False), ("9.00", True)]
)
@pytest.mark.parametrize("is_first", [False, True])
def test_a_day_takes_what_fits_to_the_cent(amount: str, fits: bool, is_first: bool, settings: Any) -> None:
    day, settings.DAILY_MONEY_LIMIT = NOW.date(), Decimal("10.00") if is_first else Decimal("110.00")
    if not is_first:
        DailySpend.objects.create(day=day, spent=Decimal("100.00"))
    assert limits._spend(day, Decimal(amount), is_limited=True) is fits
    before = Decimal(0) if is_first else Decimal("100.00")
    assert DailySpend.objects.get(day=day).spent == before + (Decimal(amount) if fits else 0)
