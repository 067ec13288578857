"""An operator pauses bookings or prices for everybody; it ends on time even if nothing runs then."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import booking_rules, bookings, verdict
from orders.calling import gateway
from orders.models import CarrierAccount, CarrierCall, Order
from orders.models.account import BOOKINGS, PAUSABLE, QUOTES
from orders.quoting import asking
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.jobs import sweep
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.refused import Refused
from shipping_portal.staff import queues
from shipping_portal.staff.admin.carrier import end_of
from shipping_portal.staff.carrier import pausing
from tests import factories, older
from tests.staff.conftest import REASON

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
NOW = dt.datetime(2026, 11, 27, 7, tzinfo=dt.UTC)
TEXT = "The depot is flooded."
Pause = Callable[..., CarrierAccount]


@pytest.fixture
def now(db: None) -> dt.datetime:
    return timezone.now()


@pytest.fixture
def paused(sam: User) -> Pause:
    """`paused(BOOKINGS, at=…, ends_at=…)` is the account, paused by Sam."""

    def pause(what: str, *, at: dt.datetime, ends_at: dt.datetime | None = None) -> CarrierAccount:
        account: CarrierAccount = factories.account()
        pausing.pause_account(account, what, text=TEXT, ends_at=ends_at, by=sam, reason=REASON, now=at)
        return gateway.current_account()

    return pause


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """`house()` does the sweeper's housekeeping."""
    monkeypatch.setattr(sweep, "publish_task", lambda *message: True)
    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    return Sweep().once_or_log


def act(name: str) -> str:
    return reverse("admin:orders_carrieraccount_act", args=[factories.account().pk, name])


def recorded() -> list[tuple[str, User | None]]:
    return [(row.action, row.actor) for row in Audit.objects.order_by("pk")]


@pytest.mark.parametrize("what", PAUSABLE)
def test_a_pause_ends_on_time_without_anything_running(paused: Pause, now: dt.datetime, what: str) -> None:
    account = paused(what, at=now, ends_at=now + HOUR)
    assert account.pause_of(what, now + HOUR - MINUTE)
    assert account.pause_of(what, now + HOUR) is None
    assert account.kept_pause(what)


@pytest.mark.parametrize("what", PAUSABLE)
def test_without_an_end_it_lasts_until_somebody_resumes_it(
    paused: Pause, sam: User, now: dt.datetime, what: str
) -> None:
    account = paused(what, at=now)
    assert account.pause_of(what, now + dt.timedelta(days=365))
    pausing.resume_account(account, what, by=sam, reason=REASON, now=now)
    assert gateway.current_account().pause_of(what, now) is None
    assert recorded() == [(f"{what} paused", sam), (f"{what} resumed", sam)]


def test_bookings_and_prices_are_paused_separately(paused: Pause, now: dt.datetime) -> None:
    assert paused(QUOTES, at=now).pause_of(BOOKINGS, now) is None
    assert paused(BOOKINGS, at=now, ends_at=now + HOUR).pause_of(QUOTES, now + 2 * HOUR)


def test_due_bookings_are_checked_again_within_a_minute_and_when_the_pause_ends(
    paused: Pause, now: dt.datetime
) -> None:
    account = paused(BOOKINGS, at=now, ends_at=now + HOUR)
    assert account.holds_until(now) == now + MINUTE
    assert account.holds_until(now + HOUR - MINUTE / 2) == now + HOUR
    assert account.holds_until(now + HOUR) is None


@pytest.mark.parametrize(
    ("choice", "at", "ends"),
    [
        ("30", "2026-11-21T05:00Z", "2026-11-21T05:30Z"),
        ("120", "2026-11-21T05:00Z", "2026-11-21T07:00Z"),
        ("Australia/Sydney", "2026-11-21T05:00Z", "2026-11-21T21:00Z"),
        ("Australia/Sydney", "2026-11-21T13:30Z", "2026-11-22T21:00Z"),  # past midnight there
        ("America/New_York", "2026-10-31T12:00Z", "2026-11-01T13:00Z"),  # the clocks change in the night
    ],
)
def test_a_pause_ends_some_minutes_later_or_at_8_am_in_a_zone(choice: str, at: str, ends: str) -> None:
    assert end_of(choice, dt.datetime.fromisoformat(at)) == dt.datetime.fromisoformat(ends)


def test_until_resumed_means_no_end(now: dt.datetime) -> None:
    assert end_of("", now) is None


def test_an_operator_chooses_the_end_on_the_page(staff: Client, now: dt.datetime) -> None:
    assert "Tomorrow at 8 a.m. in Sydney" in staff.get(act("pause-quotes")).content.decode()
    staff.post(act("pause-quotes"), {"text": TEXT, "ends": "30", "reason": REASON})
    pause = gateway.current_account().pause_of(QUOTES, timezone.now())
    assert pause
    assert pause.text == TEXT
    assert pause.ends_at == pause.since + 30 * MINUTE


@pytest.mark.parametrize("ends", ["7 years", "America/Nowhere"])
def test_an_end_that_is_not_on_the_list_pauses_nothing(staff: Client, now: dt.datetime, ends: str) -> None:
    page = staff.post(act("pause-bookings"), {"text": TEXT, "ends": ends, "reason": REASON})
    assert page.context["form"].errors["ends"]
    assert gateway.current_account().pause_of(BOOKINGS, timezone.now()) is None


def test_senders_are_shown_no_signed_link(staff: Client) -> None:
    text = "See https://carrier.example/t/?token=eyJhbGciOiJIUzI1NiJ9.e30.c2ln"
    page = staff.post(act("pause-bookings"), {"text": text, "ends": "30", "reason": REASON})
    assert "Leave this link out" in page.content.decode()
    assert not Audit.objects.exists()


def test_the_audit_row_has_the_end_the_text_and_the_reason(paused: Pause, now: dt.datetime) -> None:
    paused(BOOKINGS, at=now, ends_at=dt.datetime(2030, 1, 2, 3, 4, tzinfo=dt.UTC))
    reason = Audit.objects.get().reason
    assert reason == f"until 2 Jan 2030, 03:04 UTC, senders see “{TEXT}”: {REASON}"


def test_the_text_changes_and_the_end_stays_as_it_is(staff: Client, paused: Pause, sam: User, now: dt.datetime) -> None:
    before = paused(BOOKINGS, at=now, ends_at=now + HOUR).kept_pause(BOOKINGS)
    page = staff.get(act("change-bookings-pause"))
    asked = {name: page.context["form"].get_initial_for_field(field, name)
             for name, field in page.context["form"].fields.items()}  # fmt: skip
    staff.post(act("change-bookings-pause"), {**asked, "text": "Back soon.", "reason": REASON})
    after = gateway.current_account().kept_pause(BOOKINGS)
    assert before
    assert after
    assert (after.since, after.ends_at, after.text) == (before.since, before.ends_at, "Back soon.")
    assert recorded()[-1] == ("bookings pause changed", sam)


def test_a_new_end_counts_from_now(staff: Client, paused: Pause, now: dt.datetime) -> None:
    paused(BOOKINGS, at=now - HOUR, ends_at=now + MINUTE)
    staff.post(act("change-bookings-pause"), {"text": TEXT, "ends": "120", "reason": REASON})
    assert gateway.current_account().pause_of(BOOKINGS, now + 119 * MINUTE)


@pytest.mark.parametrize("name", ["change-bookings-pause", "resume-bookings"])
def test_a_pause_that_ended_by_itself_is_neither_changed_nor_resumed(
    staff: Client, paused: Pause, now: dt.datetime, name: str
) -> None:
    paused(BOOKINGS, at=now - HOUR, ends_at=now - MINUTE)
    answer = staff.post(act(name), {"text": TEXT, "ends": "", "reason": REASON})
    assert answer.status_code == 409
    assert gateway.current_account().pause_of(BOOKINGS, timezone.now()) is None


def test_the_second_of_two_operators_who_pause_is_refused(paused: Pause, now: dt.datetime) -> None:
    paused(BOOKINGS, at=now)
    with pytest.raises(Refused, match="Bookings are already paused"):
        paused(BOOKINGS, at=now)
    assert Audit.objects.count() == 1


def test_a_pause_that_changed_since_it_was_read_is_not_overwritten(
    paused: Pause, sam: User, now: dt.datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = paused(BOOKINGS, at=now, ends_at=now + HOUR)
    running = pausing._running_pause

    def slowly(*which: Any) -> Any:
        found = running(*which)
        CarrierAccount.objects.update(pause_ends_at=now + 9 * HOUR)
        return found

    monkeypatch.setattr(pausing, "_running_pause", slowly)
    with pytest.raises(Refused, match="Someone else just changed this pause"):
        pausing.resume_account(account, BOOKINGS, by=sam, reason=REASON, now=now)
    assert gateway.current_account().pause_of(BOOKINGS, now)


def test_the_sweep_records_once_that_a_pause_ended_by_itself(
    paused: Pause, sam: User, now: dt.datetime, house: Callable[[], object]
) -> None:
    paused(BOOKINGS, at=now, ends_at=now + HOUR)
    paused(QUOTES, at=now - HOUR, ends_at=now - MINUTE)
    house()
    house()
    assert recorded() == [("bookings paused", sam), ("quotes paused", sam), ("quotes pause ended", None)]
    account = gateway.current_account()
    assert account.kept_pause(QUOTES) is None
    assert account.kept_pause(BOOKINGS)


def test_a_new_pause_first_records_how_the_last_one_ended(paused: Pause, sam: User, now: dt.datetime) -> None:
    paused(BOOKINGS, at=now - 2 * HOUR, ends_at=now - HOUR)
    assert paused(BOOKINGS, at=now).pause_of(BOOKINGS, now)
    assert recorded() == [("bookings paused", sam), ("bookings pause ended", None), ("bookings paused", sam)]


@pytest.mark.parametrize(("ends_in", "waiting"), [(None, 1), (HOUR, 1), (-MINUTE, 0)])
@pytest.mark.parametrize("what", PAUSABLE)
def test_the_admin_counts_an_account_as_paused_until_the_end(
    staff: Client, paused: Pause, now: dt.datetime, what: str, ends_in: dt.timedelta | None, waiting: int
) -> None:
    """One with an end doesn't become overdue: it waits for no one."""
    paused(what, at=now - HOUR, ends_at=now + ends_in if ends_in else None)
    queue = next(queue for queue in queues.waiting_queues(now) if "paused" in queue.title)
    assert (queue.count, queue.oldest) == (waiting, None if ends_in else now - HOUR)
    assert staff.get(queue.url).context["cl"].result_count == waiting


def test_the_list_of_accounts_says_what_is_paused_and_until_when(
    staff: Client, paused: Pause, now: dt.datetime
) -> None:
    paused(QUOTES, at=now)
    page = staff.get("/admin/orders/carrieraccount/").content.decode()
    assert ">Paused until resumed<" in page
    assert ">On<" in page
    paused(BOOKINGS, at=now, ends_at=now + HOUR)
    page = staff.get("/admin/orders/carrieraccount/").content.decode()
    assert f">Paused until {now + HOUR:%-d %b %Y, %H:%M} UTC<" in page


# -- What a pause holds back --------------------------------------------------------------------


def test_a_due_booking_waits_for_the_end_of_the_pause_and_is_then_sent(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime
) -> None:
    order = submitted()
    paused(BOOKINGS, at=now, ends_at=now + HOUR)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booking"
    assert not order.attempts.exists()
    CarrierAccount.objects.update(pause_ends_at=now)
    Order.objects.update(due_at=now)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"


@pytest.mark.parametrize(("ended_before", "status"), [(HOUR, "booked"), (25 * HOUR, "rejected")])
@pytest.mark.parametrize("how", ["resumed", "by itself", "by itself and written down"])
@pytest.mark.parametrize("what", PAUSABLE)
def test_a_bookings_24_hours_of_tries_restart_when_a_pause_ends(
    submitted: Callable[..., Order], paused: Pause, sam: User, now: dt.datetime, what: str, how: str,
    ended_before: dt.timedelta, status: str,
) -> None:  # fmt: skip
    order, end = submitted(), now - ended_before
    Order.objects.update(submitted_at=now - 49 * HOUR)
    account = paused(what, at=now - 48 * HOUR, ends_at=None if how == "resumed" else end)
    if how == "resumed":
        pausing.resume_account(account, what, by=sam, reason=REASON, now=end)
    if "written down" in how:
        pausing.end_expired_pauses(now)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == status


@pytest.mark.parametrize("ends_in", [None, MINUTE, 30 * HOUR], ids=str)
@pytest.mark.parametrize("what", PAUSABLE)
def test_no_booking_is_given_up_during_a_pause_of_over_a_day(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime, what: str, ends_in: dt.timedelta | None
) -> None:
    order = submitted()
    Order.objects.update(submitted_at=now - 49 * HOUR, quoted_at=now - 49 * HOUR)
    paused(what, at=now - 48 * HOUR, ends_at=now + ends_in if ends_in else None)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.count()) == ("booking", 0)
    assert order.due_at
    assert timezone.now() < order.due_at <= timezone.now() + MINUTE


@pytest.mark.parametrize("what", ["", *PAUSABLE])
def test_no_booking_is_lost_in_a_stop_of_over_a_day(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime, what: str
) -> None:
    """One is sent as a probe once it is due and nothing else is paused. Then the others have their 24 hours."""
    first, second = submitted(), submitted(description="Another one")
    Order.objects.update(submitted_at=now - 49 * HOUR)
    account = factories.account()
    CarrierAccount.objects.update(stopped_at=now - 48 * HOUR, stopped_reason="unpaid", probe_due_at=now + MINUTE)
    if what:
        paused(what, at=now - 40 * HOUR, ends_at=now - 39 * HOUR)
        pausing.end_expired_pauses(now)
    bookings.process_booking(first.pk)
    first.refresh_from_db()
    assert (first.status, first.attempts.count()) == ("booking", 0)
    CarrierAccount.objects.update(probe_due_at=now)
    for order in (first, second):
        Order.objects.filter(pk=order.pk).update(due_at=now)
        bookings.process_booking(order.pk)
        order.refresh_from_db()
    account.refresh_from_db()
    assert (first.status, second.status, account.stopped_at) == ("booked", "booked", None)


@pytest.mark.parametrize(("ended_before", "status"), [(HOUR, "booked"), (25 * HOUR, "rejected")])
def test_the_24_hours_restart_when_the_carrier_accepts_the_account_again(
    submitted: Callable[..., Order], sam: User, now: dt.datetime, ended_before: dt.timedelta, status: str
) -> None:
    order = submitted()
    Order.objects.update(submitted_at=now - 49 * HOUR)
    CarrierAccount.objects.update(stopped_at=now - 48 * HOUR, stopped_reason="unpaid", probe_due_at=now)
    pausing.end_stop(gateway.current_account(), by=sam, reason=REASON, now=now - ended_before)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == status


@pytest.mark.parametrize(("paused_at", "ends_at"), [(NOW, None), (NOW, NOW + HOUR), (None, NOW - HOUR), (None, None)])
def test_the_end_of_a_stop_leaves_a_pause_as_it_is(db: None, paused_at: Any, ends_at: Any) -> None:
    CarrierAccount.objects.filter(pk=factories.account().pk).update(
        stopped_at=NOW - 2 * HOUR, paused_at=paused_at, pause_ends_at=ends_at
    )
    gateway.current_account().note_answer(NOW)
    account = gateway.current_account()
    assert (account.stopped_at, account.paused_at) == (None, paused_at)
    assert account.pause_ends_at == (ends_at if paused_at else NOW)


def test_a_reply_that_ends_no_stop_restarts_no_24_hours(db: None) -> None:
    CarrierAccount.objects.filter(pk=factories.account().pk).update(failures=2, pause_ends_at=NOW - HOUR)
    gateway.current_account().note_answer(NOW)
    account = gateway.current_account()
    assert (account.failures, account.pause_ends_at) == (0, NOW - HOUR)


def test_a_booking_made_after_a_pause_is_tried_for_its_own_24_hours(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime
) -> None:
    submitted()
    paused(BOOKINGS, at=now - 9 * HOUR, ends_at=now - 8 * HOUR)
    order = Order.objects.get()
    assert not verdict.is_too_late(order, now + 23 * HOUR)
    assert verdict.is_too_late(order, now + 25 * HOUR)


def test_bookings_paused_during_a_price_check_are_not_sent(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = submitted()
    Order.objects.update(quoted_at=now - HOUR)
    monkeypatch.setattr(asking, "ask_again", lambda order, client: paused(BOOKINGS, at=now) and verdict.Go())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.count()) == ("booking", 0)
    assert order.due_at
    assert timezone.now() < order.due_at <= timezone.now() + MINUTE


def test_only_bookings_with_an_old_price_wait_while_prices_are_paused(
    submitted: Callable[..., Order], paused: Pause, now: dt.datetime
) -> None:
    fresh, old = submitted(), submitted(description="Another one")
    Order.objects.filter(pk=old.pk).update(quoted_at=now - HOUR)
    paused(QUOTES, at=now)
    asked_before = CarrierCall.objects.filter(operation="quote").count()
    for order in (fresh, old):
        bookings.process_booking(order.pk)
        order.refresh_from_db()
    assert (fresh.status, old.status) == ("booked", "booking")
    assert CarrierCall.objects.filter(operation="quote").count() == asked_before
    assert old.due_at
    assert old.due_at <= timezone.now() + MINUTE


def test_a_second_sender_is_held_as_well(paused: Pause, bob: User, quill: Sender, now: dt.datetime) -> None:
    paused(BOOKINGS, at=now)
    for sender in (quill, bob.membership.sender):
        with pytest.raises(booking_rules.Paused, match="flooded"):
            booking_rules.refuse_unless_booking_is_on(sender, now)


def test_an_action_on_one_account_does_not_change_another(
    paused: Pause, sam: User, now: dt.datetime, settings: Any
) -> None:
    today, other = factories.account(), older.named(settings)
    CarrierAccount.objects.update(stopped_at=now - HOUR, stopped_reason="unpaid", probe_due_at=None)
    paused(BOOKINGS, at=now)
    pausing.try_now(today, by=sam, reason=REASON, now=now)
    pausing.end_stop(gateway.current_account(), by=sam, reason=REASON, now=now)
    other.refresh_from_db()
    assert (other.paused_at, other.probe_due_at, other.stopped_at) == (None, None, now - HOUR)
    CarrierAccount.objects.filter(pk=other.pk).update(paused_at=now, pause_text=TEXT, probe_due_at=None)
    pausing.resume_account(gateway.current_account(), BOOKINGS, by=sam, reason=REASON, now=now)
    other.refresh_from_db()
    assert (gateway.current_account().paused_at, other.paused_at) == (None, now)


@pytest.mark.parametrize("what", PAUSABLE)
def test_each_pause_that_ends_by_itself_is_recorded(paused: Pause, sam: User, now: dt.datetime, what: str) -> None:
    account = paused(what, at=now - HOUR, ends_at=now - MINUTE)
    pausing.end_expired_pauses(now)
    assert recorded() == [(f"{what} paused", sam), (f"{what} pause ended", None)]
    assert f"senders see “{TEXT}”" in Audit.objects.latest("pk").reason
    account.refresh_from_db()
    assert account.kept_pause(what) is None


@pytest.mark.parametrize("fault_at", [None, dt.timedelta(0), dt.timedelta(seconds=1)])
def test_a_fault_is_corrected_once_and_not_one_that_came_after_it_was_read(
    sam: User, now: dt.datetime, fault_at: dt.timedelta | None
) -> None:
    CarrierAccount.objects.filter(pk=factories.account().pk).update(
        fault_at=now, fault_since=now - HOUR, fault="partner_id: can't be blank"
    )
    account = CarrierAccount.objects.get()
    CarrierAccount.objects.update(fault_at=None if fault_at is None else now + fault_at)
    if fault_at == dt.timedelta(0):
        pausing.end_fault(account, by=sam, reason=REASON, now=now)
        assert Audit.objects.get().reason == f"partner_id: can't be blank: {REASON}"
        assert CarrierAccount.objects.get().fault == "", "the list would show it as if it went on"
    with pytest.raises(Refused, match="just refused again"):
        pausing.end_fault(account, by=sam, reason=REASON, now=now)
    assert CarrierAccount.objects.filter(fault_since=now - HOUR).exists() is (fault_at != dt.timedelta(0))


def test_only_a_stopped_account_can_be_tried_at_once_or_restarted(sam: User, now: dt.datetime) -> None:
    account = factories.account()
    for act in (pausing.try_now, pausing.end_stop):
        with pytest.raises(Refused, match="isn't stopped"):
            act(account, by=sam, reason=REASON, now=now)
    assert not Audit.objects.exists()


def test_repeats_that_a_second_reference_ended_are_allowed_again_once(
    staff: Client, sam: User, now: dt.datetime, settings: Any
) -> None:
    """Until then the account is in a queue, and nothing else takes it out."""
    rows = CarrierAccount.objects.filter(pk=factories.account().pk)
    rows.update(replays_off_at=now)
    account = rows.get()
    page = staff.get(reverse("admin:orders_carrieraccount_change", args=[account.pk])).content.decode()
    assert "Allow repeats again" in page
    assert queues.held_accounts(now) == [account]
    pausing.allow_repeats(account, by=sam, reason=REASON, now=now)
    assert (rows.get().replays_off_at, queues.held_accounts(now)) == (None, [])
    with pytest.raises(Refused, match="already allowed"):
        pausing.allow_repeats(account, by=sam, reason=REASON, now=now)
    assert recorded() == [("repeats allowed again", sam)]
