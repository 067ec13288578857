"""A worker that stalls finds an order changed by others, and then changes and sends nothing.

In each test one worker stalls at the worst moment, others finish, and it carries on.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules, bookings, recording, resolving, verdict
from orders.booking.limits import NOT_COUNTED
from orders.calling import gateway
from orders.models import BookingAttempt, Order, Quote
from orders.models.statuses import Status
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff.resolution import deciding
from tests import factories, older
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
OLD = dt.timedelta(minutes=4)


def let_lease_end(order: Order) -> None:
    Order.objects.filter(pk=order.pk, due_at__isnull=False).update(due_at=timezone.now())


def with_an_old_quote(order: Order) -> Order:
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - OLD)
    return order


@pytest.fixture
def asleep_with_its_new_price(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """`asleep_with_its_new_price(meanwhile)`: the next worker stalls between the new price and the sending."""
    compare = asking.compare_offer

    def sleep(meanwhile: Callable[[], None]) -> None:
        def stalled(order: Order, *rest: Any) -> verdict.PriceVerdict:
            monkeypatch.setattr(asking, "compare_offer", compare)
            let_lease_end(order)
            meanwhile()
            return compare(order, *rest)

        monkeypatch.setattr(asking, "compare_offer", stalled)

    return sleep


def test_an_order_refused_meanwhile_is_not_sent(
    submitted: Submit, carrier: SandboxCarrier, asleep_with_its_new_price: Any
) -> None:
    order = with_an_old_quote(submitted())

    def another_is_refused() -> None:
        carrier.trouble("book", "422")
        bookings.process_booking(order.pk)

    asleep_with_its_new_price(another_is_refused)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.count(), carrier.ledger("booked")) == ("rejected", 1, [])


def test_an_order_whose_price_rose_meanwhile_is_not_sent(
    submitted: Submit, carrier: SandboxCarrier, asleep_with_its_new_price: Any
) -> None:
    order = with_an_old_quote(submitted())

    def another_finds_it_dearer() -> None:
        carrier.prices(10)
        bookings.process_booking(order.pk)

    asleep_with_its_new_price(another_finds_it_dearer)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.count(), carrier.ledger("booked")) == ("draft", 0, [])


def test_an_order_another_worker_is_sending_does_not_go_back_to_its_sender(
    submitted: Submit, carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = with_an_old_quote(submitted())
    carrier.prices(10)
    compare, resolve = asking.compare_offer, recording.record_outcome

    def stalled(stale: Order, *rest: Any) -> verdict.Verdict:
        def and_wakes_before_the_answer_is_stored(attempt: BookingAttempt, outcome: Any) -> None:
            monkeypatch.setattr(recording, "record_outcome", resolve)
            bookings._carry_out(stale, compare(stale, *rest), timezone.now())
            resolve(attempt, outcome)

        monkeypatch.setattr(asking, "compare_offer", compare)
        monkeypatch.setattr(recording, "record_outcome", and_wakes_before_the_answer_is_stored)
        carrier.prices(0)
        let_lease_end(order)
        bookings.process_booking(order.pk)
        return verdict.WaitUntil(timezone.now())

    monkeypatch.setattr(asking, "compare_offer", stalled)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"


def test_a_stalled_worker_does_not_delay_the_one_who_sends(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    stale = Order.objects.get(pk=order.pk)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    stale.postpone(timezone.now() + dt.timedelta(days=1))
    bookings._carry_out(stale, verdict.BackToDraft({"kind": "gone", "text": "-"}), timezone.now())
    assert Order.objects.get(pk=order.pk).due_at == order.due_at
    assert Order.objects.get(pk=order.pk).status == "booked"


def test_a_replay_that_slept_past_its_lease_sends_nothing(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, alice: User, sam: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    contract("replays = true")
    carrier.settings(replays=True)
    carrier.trouble("book", "accept-close")
    order = submitted()
    bookings.process_booking(order.pk)
    let_lease_end(order)
    connect = gateway.carrier_client

    def stalled(*of: Any, **how: Any) -> Any:
        monkeypatch.setattr(gateway, "carrier_client", connect)
        let_lease_end(order)
        case, now = Order.objects.get(pk=order.pk), timezone.now()
        deciding.not_booked(case, by=sam, reason="the carrier has no such order", now=now)
        bookings.confirm(case, by=alice, now=now)
        bookings.process_booking(order.pk)
        return connect(*of, **how)

    monkeypatch.setattr(gateway, "carrier_client", stalled)
    resolving.resolve_due_order(order.pk)
    assert len(carrier.ledger("booked")) == 1


def test_a_replay_is_sent_in_time_or_not_at_all(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract("replays = true")
    carrier.settings(replays=True)
    carrier.trouble("book", "accept-close")
    order = submitted()
    bookings.process_booking(order.pk)
    let_lease_end(order)
    monkeypatch.setattr(recording, "send_until", lambda until: 0.0)  # long ago
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    assert (order.status, carrier.ledger("booked")) == ("unconfirmed", [])


def is_asked_with_the_same_key(order: Order, since: dt.datetime, now: dt.datetime) -> bool:
    return resolving._possible_ways(order, BookingAttempt(sent_at=since), now).can_send


def is_still_tried(order: Order, since: dt.datetime, now: dt.datetime) -> bool:
    order.submitted_at = since
    return not verdict.is_too_late(order, now)


def is_asked_about_as_a_duplicate(order: Order, since: dt.datetime, now: dt.datetime) -> bool:
    Order.objects.update(submitted_at=since)
    assert order.quote
    return booking_rules.booked_lately(order.quote, now, but=[uuid.uuid4()]) is not None


@pytest.mark.parametrize(
    ("holds", "hours", "at_its_end"),
    [(is_asked_with_the_same_key, 24, False), (is_still_tried, 24, True), (is_asked_about_as_a_duplicate, 2, False)],
)
def test_a_period_ends_to_the_second(
    quill: Sender, alice: User, contract: Any, holds: Callable[..., bool], hours: int, at_its_end: bool
) -> None:
    """A carrier forgets a key after some hours. Sent again after that, it would be another booking."""
    contract("replays = true\nreplay_hours = 24")
    order, now = factories.order(quill, alice, status="unconfirmed"), timezone.now()
    ends = [now - dt.timedelta(hours=hours, seconds=later) for later in (-1, 0, 1)]
    assert [holds(order, since, now) for since in ends] == [True, at_its_end, False]


@pytest.mark.parametrize("status", ["booking", "draft", "rejected", "not_booked"])
def test_a_late_yes_to_a_booking_resolved_differently_is_a_conflict(
    submitted: Submit, carrier: SandboxCarrier, sam: User, status: str
) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    late = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
    recording.record_unknown(attempt, "no reply in time", at=timezone.now())
    case = Order.objects.get(pk=order.pk)
    deciding.not_booked(case, by=sam, reason="the carrier has no such order", now=timezone.now())
    Order.objects.filter(pk=order.pk).update(status=status, generation=2, due_at=timezone.now())
    recording.record_outcome(attempt, late)
    order.refresh_from_db()
    assert (order.status, order.due_at, order.carrier_reference) == (Status.CONFLICT, None, None)
    bookings.process_booking(order.pk)
    assert len(carrier.ledger("booked")) == 1


def test_an_order_of_another_carrier_account_is_neither_sent_nor_priced_again(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, settings: Any
) -> None:
    contract("replays = true")
    carrier.settings(replays=True)
    carrier.trouble("book", "accept-close")
    due, unclear = submitted(), submitted(description="Another one")
    bookings.process_booking(unclear.pk)
    let_lease_end(unclear)
    settings.CARRIER_ACCOUNT = "another-account"
    bookings.process_booking(due.pk)
    resolving.resolve_due_order(unclear.pk)
    due.refresh_from_db()
    unclear.refresh_from_db()
    assert (due.status, due.problem["kind"]) == ("draft", "carrier_changed")
    assert (unclear.status, unclear.due_at, carrier.ledger("booked")) == ("unconfirmed", None, [])


def test_a_price_of_another_account_is_not_booked(
    quill: Sender, alice: User, carrier: SandboxCarrier, settings: Any
) -> None:
    """The quote is recent, but its offer came from another account, where the code may mean something else."""
    quote = factories.quote(quill, alice)
    settings.CARRIER_ACCOUNT = "another-account"
    chosen = {"code": quote.products[0]["code"], "form_token": uuid.uuid4(), "pickup_date": None}
    with pytest.raises(booking_rules.CarrierChanged):
        bookings.submit(quote=quote, by=alice, now=timezone.now(), **chosen)
    assert not Order.objects.exists()


def test_a_cached_price_of_another_account_is_not_shown_again(
    quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    details = factories.details(quill)
    kept = asking.ask_for_prices(quill, details, by=alice, now=timezone.now())
    assert asking.ask_for_prices(quill, details, by=alice, now=timezone.now()) == kept
    Quote.objects.update(account=older.unnamed())
    assert asking.ask_for_prices(quill, details, by=alice, now=timezone.now()) != kept


@pytest.mark.parametrize("kind", ["carrier_changed", "price_rose", "not_booked"])
def test_agreeing_after_a_change_of_accounts_does_not_move_the_order(
    submitted: Submit, carrier: SandboxCarrier, alice: User, visit: Callable[[User], Client], kind: str
) -> None:
    """The same code may mean another product there, and the attempts were made at the old account."""
    order = submitted()
    changes: dict[str, Any] = {"status": "draft", "problem": {"kind": kind}}
    if kind == "not_booked":
        changes = {"status": "not_booked"}
    Order.objects.filter(pk=order.pk).update(**changes, account=older.unnamed(), due_at=None, **NOT_COUNTED)
    order.refresh_from_db()
    answer = visit(alice).post(f"/parcels/{order.uuid}/confirm/", {"agreed": str(order.price_to_confirm)})
    assert answer["Location"] == f"/parcels/new/?again={order.uuid}"
    seen = Order.objects.get()
    assert (seen.status, seen.account_id) == (order.status, order.account_id)
    assert carrier.ledger("booked") == []


def test_a_trailing_slash_is_still_the_same_account(db: None, settings: Any) -> None:
    settings.CARRIER_BASE_URL = "https://carrier.example"
    one = gateway.current_account()
    settings.CARRIER_BASE_URL = "https://carrier.example/"
    assert gateway.current_account() == one


def test_agreeing_hours_later_checks_the_price_again(submitted: Submit, carrier: SandboxCarrier, alice: User) -> None:
    order = with_an_old_quote(submitted())
    carrier.prices(10)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    agreed = order.problem["new"]
    problem = order.problem | {"quoted_at": (timezone.now() - dt.timedelta(hours=5)).isoformat()}
    Order.objects.filter(pk=order.pk).update(problem=problem)
    order.refresh_from_db()
    carrier.prices(50)
    bookings.confirm(order, by=alice, now=timezone.now())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.problem["old"], carrier.ledger("booked")) == ("draft", agreed, [])


def test_a_fraction_of_a_cent_is_not_a_higher_price(submitted: Submit, carrier: SandboxCarrier) -> None:
    order = submitted()
    offer = order.quote.offer(order.product_code)
    assert offer
    tiny = {**offer, "amount": f"{order.price}4"}
    assert isinstance(asking.compare_offer(order, tiny, timezone.now()), verdict.Go)
    assert asking.offer_fields(tiny)["price"] == order.price
