"""What the stories of tests/journeys found, each told once more in a few lines."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from orders import booking, cancelling, resolving, settling
from orders.models import Order
from shipping_portal.accounts.models import User
from shipping_portal.carrier.client import Carrier
from shipping_portal.staff.resolution import deciding
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
REASON = "the carrier told us on the phone"


def test_a_case_settled_meanwhile_is_not_adopted_out_of_its_cancellation(
    booked: Submit, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = booked()
    cancelling.ask(order, by=alice, why="not sending it", now=timezone.now())
    with pytest.raises(deciding.CannotResolve, match="already resolved"):
        deciding.adopt(order, order.carrier_reference or "", by=sam, reason=REASON, now=timezone.now())
    cancelling.work(order.pk)
    assert Order.objects.get(pk=order.pk).status == "cancelled"


def test_nobody_settles_what_is_being_asked_again_at_this_moment(
    submitted: Submit, carrier: SandboxCarrier, contract: Any, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract("replays = true")
    carrier.settings(replays=True)
    carrier.trouble("book", "accept-close")  # so that the operator is told the truth: there is no such order
    order = submitted()
    booking.work(order.pk)
    Order.objects.update(due_at=timezone.now())
    book = Carrier.book

    def meanwhile(self: Carrier, *body: Any, **more: Any) -> Any:
        case = Order.objects.get(pk=order.pk)
        with pytest.raises(deciding.CannotResolve, match="asking the carrier again right now"):
            deciding.not_booked(case, by=sam, reason=REASON, now=timezone.now())
        carrier.trouble("book", "commit-close")
        return book(self, *body, **more)

    monkeypatch.setattr(Carrier, "book", meanwhile)
    resolving.work(order.pk)
    order.refresh_from_db()
    assert (order.status, len(carrier.ledger("booked"))) == ("unconfirmed", 1)


def test_a_cancellation_leaves_in_good_time_or_not_at_all(
    booked: Submit, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    cancelling.ask(order, by=alice, why="not sending it", now=timezone.now())
    monkeypatch.setattr(settling, "send_until", lambda lease: 0.0)  # long ago
    cancelling.work(order.pk)
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state) == ("cancelling", "wanted")
    assert not [request for request in carrier.requests() if request["method"] == "DELETE"]


def test_a_worker_that_slept_while_it_looked_does_not_cancel(
    booked: Submit, carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = booked()
    cancelling.ask(order, by=alice, why="not sending it", now=timezone.now())
    look = Carrier.track

    def asleep(self: Carrier, reference: str) -> Any:
        monkeypatch.setattr(Carrier, "track", look)
        Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
        carrier.trouble("cancel", "refuse")
        cancelling.work(order.pk)
        return look(self, reference)

    monkeypatch.setattr(Carrier, "track", asleep)
    cancelling.work(order.pk)
    assert carrier.ledger("cancelled") == []
