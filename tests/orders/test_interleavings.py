"""Bugs found by the simulation and the protocol model, each reproduced in a few lines."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings, recording, resolving
from orders.calling import gateway
from orders.cancelling import cancel_outcomes, cancels
from orders.cancelling.cancel_verdict import Confirmed
from orders.models import Order, OrderChange
from shipping_portal.accounts.models import User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.messages import Cancelled
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import deciding, undoing
from tests.sandbox_carrier import SandboxCarrier
from tools.campaign import checker

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
REASON = "the carrier told us on the phone"


def test_a_case_resolved_meanwhile_cannot_be_adopted_during_its_cancellation(
    booked: Submit, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    with pytest.raises(Refused, match="already resolved"):
        deciding.adopt_reference(order, order.carrier_reference or "", by=sam, reason=REASON, now=timezone.now())
    cancels.process_cancel(order.pk)
    assert Order.objects.get(pk=order.pk).status == "cancelled"


def test_a_booking_being_sent_again_right_now_cannot_be_resolved(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract('replays = true\nview = ""')
    carrier.settings(replays=True)
    carrier.foreign("SFOUND12345")
    carrier.trouble("book", "accept-close")  # so the operator reads the truth: there is no such order
    order = submitted()
    bookings.process_booking(order.pk)
    Order.objects.update(due_at=timezone.now())
    book = Carrier.book

    def meanwhile(self: Carrier, *body: Any, **more: Any) -> Any:
        case, decision = Order.objects.get(pk=order.pk), {"by": sam, "reason": REASON, "now": timezone.now()}
        with pytest.raises(Refused, match="asking the carrier again right now"):
            deciding.not_booked(case, **decision)
        deciding.adopt_reference(case, "SFOUND12345", **decision)
        undoing.undo_adoption(case, **decision)
        with pytest.raises(Refused, match="asking the carrier again right now"):
            deciding.not_booked(case, **decision)
        carrier.trouble("book", "commit-close")
        return book(self, *body, **more)

    monkeypatch.setattr(Carrier, "book", meanwhile)
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    assert (order.status, len(carrier.ledger("booked"))) == ("unconfirmed", 1)


def test_a_booking_sent_again_without_success_may_be_resolved_at_once(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, sam: User
) -> None:
    contract("replays = true")
    carrier.trouble("book", "accept-close", count=2)
    order = submitted()
    bookings.process_booking(order.pk)
    Order.objects.update(due_at=timezone.now())
    resolving.resolve_due_order(order.pk)
    assert order.attempts.get().replays == 1
    deciding.not_booked(Order.objects.get(pk=order.pk), by=sam, reason=REASON, now=timezone.now())
    assert Order.objects.get(pk=order.pk).status == "not_booked"


def two_claims(order: Order) -> tuple[Order, Order]:
    """The order as a late worker has it, and as another worker has it now."""
    late, other = (bookings.DUE.filter(pk=order.pk).first() or Order.objects.get(pk=order.pk) for _ in range(2))
    assert late.claim()
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    other.refresh_from_db()
    assert other.claim()
    return late, other


def test_a_late_worker_does_not_resend_what_another_has(
    submitted: Submit, carrier: SandboxCarrier, contract: Any
) -> None:
    contract("replays = true")
    carrier.trouble("book", "accept-close")
    order = submitted()
    bookings.process_booking(order.pk)
    late, _ = two_claims(order)
    resolving.resolve_due_order.work(late)
    assert (order.attempts.get().replays, carrier.ledger("booked")) == (0, [])


def test_a_late_worker_marks_nothing_unclear_that_another_is_sending(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    late, other = two_claims(submitted())
    assert bookings._write_down(other, timezone.now())
    bookings.process_booking.work(late)
    assert (Order.objects.get(pk=late.pk).status, late.attempts.get().state) == ("booking", "in_flight")


def test_a_late_worker_marks_no_cancellation_unclear_that_another_is_sending(
    booked: Submit, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    late, _ = two_claims(order)
    Order.objects.update(due_at=timezone.now())
    cancel = Carrier.cancel

    def meanwhile(self: Carrier, *ids: Any, **more: Any) -> Any:
        cancels.process_cancel.work(late)
        assert (Order.objects.get(pk=order.pk).status, order.cancels.get().state) == ("cancelling", "in_flight")
        return cancel(self, *ids, **more)

    monkeypatch.setattr(Carrier, "cancel", meanwhile)
    cancels.process_cancel(order.pk)
    assert Order.objects.get(pk=order.pk).status == "cancelled"


def test_a_cancellation_is_sent_in_time_or_not_at_all(
    booked: Submit, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    monkeypatch.setattr(recording, "send_until", lambda lease: 0.0)  # long ago
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == ("cancelling", "wanted")
    assert not [request for request in carrier.requests() if request["method"] == "DELETE"]


def test_a_worker_that_slept_during_its_check_does_not_cancel(
    booked: Submit, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    look = Carrier.track

    def asleep(self: Carrier, reference: str) -> Any:
        monkeypatch.setattr(Carrier, "track", look)
        Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
        carrier.trouble("cancel", "refuse")
        cancels.process_cancel(order.pk)
        return look(self, reference)

    monkeypatch.setattr(Carrier, "track", asleep)
    cancels.process_cancel(order.pk)
    assert carrier.ledger("cancelled") == []


def test_a_reply_that_comes_while_its_worker_is_given_up_counts(
    submitted: Submit, carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The late worker resolves its attempt after another took over the order and before that one checked for it."""
    order = submitted()
    late = bookings.DUE.get(pk=order.pk)
    assert late.claim()
    attempt = bookings._write_down(late, timezone.now())
    assert attempt
    Order.objects.update(due_at=timezone.now())
    renew = Order.renew

    def meanwhile(self: Order, *args: Any, **more: Any) -> bool:
        is_mine = renew(self, *args, **more)
        if Order.objects.filter(status="booking").exists():
            client = gateway.carrier_of(late, first="book")
            recording.record_outcome(attempt, client.book(bytes(attempt.body), key=str(attempt.key)))
        return is_mine

    monkeypatch.setattr(Order, "renew", meanwhile)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.failures, len(carrier.ledger("booked"))) == ("booked", 0, 1)


def unclear(submitted: Submit, carrier: SandboxCarrier) -> dict[str, Any]:
    """Make an order with an unclear booking, and return what the carrier booked for it."""
    carrier.trouble("book", "commit-close")
    bookings.process_booking(submitted().pk)
    return carrier.ledger("booked")[-1]


def adopted(submitted: Submit, carrier: SandboxCarrier, sam: User) -> Order:
    """Return an order whose booking was unclear, and that an operator booked with its own reference."""
    own = unclear(submitted, carrier)
    return adopt(Order.objects.get().pk, own, sam)


def adopt(pk: int, line: dict[str, Any], sam: User) -> Order:
    decision = {"by": sam, "reason": REASON, "now": timezone.now()}
    deciding.adopt_reference(Order.objects.get(pk=pk), line["reference"], carrier_order_id=line["order_id"], **decision)
    return Order.objects.get(pk=pk)


def cancel(order: Order) -> str:
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    return Order.objects.get(pk=order.pk).status


def cancelled_on_one_side(carrier: SandboxCarrier) -> list[str]:
    return list(checker._cancels(checker.Books.read(carrier.ledger()), list(Order.objects.all())))


def test_a_cancellation_that_arrives_after_its_adoption_was_taken_back_leaves_nothing_booked(
    submitted: Submit, carrier: SandboxCarrier, alice: User, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, send = adopted(submitted, carrier, sam), Carrier.cancel
    decision = {"by": sam, "reason": REASON, "now": timezone.now()}
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())

    def held_up(self: Carrier, *what: Any, **how: Any) -> Any:
        monkeypatch.setattr(Carrier, "cancel", send)
        carrier.trouble("cancel", "422")
        assert [cancel(order), cancel(order)] == ["cancel_unconfirmed", "booked"]
        undoing.undo_adoption(Order.objects.get(pk=order.pk), **decision)
        carrier.trouble("cancel", "commit-close")
        return send(self, *what, **how)

    monkeypatch.setattr(Carrier, "cancel", held_up)
    assert cancel(order) == "unconfirmed"
    deciding.not_booked(Order.objects.get(pk=order.pk), **decision)
    order.refresh_from_db()
    assert (order.status, order.carrier_reference, order.reserved_on) == ("not_booked", None, None)
    assert [line["reference"] for line in carrier.ledger("cancelled")] == [carrier.ledger("booked")[0]["reference"]]
    assert cancelled_on_one_side(carrier) == []
    OrderChange.objects.filter(reason__startswith="adoption undone").update(reason="-")
    assert len(cancelled_on_one_side(carrier)) == 1  # nobody took it back: a cancellation was lost


@pytest.mark.parametrize(
    ("is_asked_again", "status", "states"),
    [(True, "cancelling", ["refused", "wanted"]), (False, "booked", ["refused"])],
)
def test_a_late_yes_about_a_reference_taken_back_cancels_no_other(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, alice: User, sam: User,
    is_asked_again: bool, status: str, states: list[str],
) -> None:  # fmt: skip
    contract('view = ""')
    order, stale = two_references(submitted, carrier, alice, sam)
    if is_asked_again:
        cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    first = order.cancels.order_by("pk")[0]
    cancel_outcomes.record(stale, first, Confirmed(Cancelled("Cancelled", "", 200, b"{}")))
    order.refresh_from_db()
    assert (order.status, [attempt.state for attempt in order.cancels.order_by("pk")]) == (status, states)
    if is_asked_again:
        assert cancel(order) == "cancelled"
        assert [line["reference"] for line in carrier.ledger("cancelled")] == [order.carrier_reference]


def test_a_cancelled_order_of_a_reference_taken_back_cancels_no_other(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, alice: User, sam: User
) -> None:
    contract('view = ""')
    order, stale = two_references(submitted, carrier, alice, sam)
    viewed: Any = SimpleNamespace(state="cancelled", status=200, body=b"{}")
    cancel_outcomes.record_carrier_cancel(stale, viewed, why="-", is_asked=False)
    order.refresh_from_db()
    assert (order.status, order.cancels.count()) == ("booked", 1)


def two_references(submitted: Submit, carrier: SandboxCarrier, alice: User, sam: User) -> tuple[Order, Order]:
    """Return an order with its own reference, and as a late worker has it: with one that was taken back."""
    own = unclear(submitted, carrier)
    order = Order.objects.get()
    wrong = {"reference": "SWRONG0001", "order_id": "OTHER-1"}
    carrier.foreign(wrong["reference"])
    stale = adopt(order.pk, wrong, sam)
    carrier.trouble("cancel", "422")
    cancels.ask_to_cancel(Order.objects.get(), by=alice, why="not sending it", now=timezone.now())
    assert cancel(order) == "booked"
    undoing.undo_adoption(Order.objects.get(), by=sam, reason=REASON, now=timezone.now())
    return adopt(order.pk, own, sam), stale
