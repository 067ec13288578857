"""Who is in a story, and what each of them can do; the rules of `machine` say when."""

import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from django.db import transaction
from hypothesis.stateful import RuleBasedStateMachine

from orders import booking, booking_rules, cancelling
from orders.models import CarrierAccount, Order, Quote
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Scan
from shipping_portal.staff.resolution import deciding
from tests import factories
from tests.journeys.ledger import Ledger
from tests.journeys.workers import Clock, Crew

REASON = "the carrier told us on the phone"


@dataclass
class Cast:
    """Who is there in every story."""

    quill: Sender
    alice: User
    sam: User


class Scene(RuleBasedStateMachine):
    """The model: the ledger, what was typed (`forms`), what the webhook took (`told`), who was wrong (`misled`)."""

    ledger: Ledger
    cast: ClassVar[Cast]

    def __init__(self) -> None:
        super().__init__()
        self.story = transaction.atomic()
        self.story._from_testcase = True  # durable transactions may begin inside it; its end undoes them
        self.story.__enter__()
        self.clock, self.crew = Clock(), Crew()
        self.forms: list[tuple[uuid.UUID, Quote, int]] = []  # token, quote, order
        self.scans: list[Scan] = []
        self.told: set[str] = set()
        self.misled: set[str] = set()

    def forget(self) -> None:
        while self.crew.asleep:
            self.crew.kill(0)
        transaction.set_rollback(True)
        self.story.__exit__(None, None, None)

    def one_of(self, statuses: Collection[str], which: int) -> Order:
        """One of those in these statuses, if any is; else any."""
        orders = Order.objects.filter(pk__in=[order for _, _, order in self.forms]).order_by("pk")
        fitting = [order for order in orders if order.status in statuses] or list(orders)
        return fitting[which % len(fitting)]

    def sender(self) -> Sender:
        return Sender.objects.get(pk=self.cast.quill.pk)

    def send_form_again(self, token: uuid.UUID, quote: Quote, order: int, *, is_other_parcel: bool) -> None:
        if not is_other_parcel:
            assert self.submit(quote, token).pk == order
            return
        parcel = factories.details(self.sender(), description="Something else")
        other = factories.quote(self.sender(), self.cast.alice, parcel=parcel, at=self.clock.now())
        with pytest.raises(booking.TokenReused):
            self.submit(other, token)

    def say_yes(self, order: Order) -> None:
        """To a new price, or to booking again what was not booked."""
        if order.status in {Status.DRAFT, Status.NOT_BOOKED}:
            with suppress(booking_rules.Suspended, booking_rules.Paused, booking_rules.PickupDayPassed):
                booking.confirm(order, by=self.cast.alice, now=self.clock.now())

    def cancel(self, order: Order) -> None:
        with suppress(Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected):
            cancelling.ask(order, by=self.cast.alice, why="not sending it", now=self.clock.now())

    def submit(self, quote: Quote, token: uuid.UUID) -> Order:
        quote.sender = self.sender()
        return booking.submit(
            quote=quote, code=factories.OFFER["code"], by=self.cast.alice, form_token=token, pickup_date=None,
            now=self.clock.now(),
        )  # fmt: skip

    def suspend_or_reinstate(self) -> None:
        sender, now = self.sender(), self.clock.now()
        if sender.is_suspended:
            sender.reinstate(by=self.cast.sam, reason="settled", at=now)
        else:
            sender.suspend(by=self.cast.sam, category="terms", text="Terms review", note="", at=now)

    def adopt(self, order: Order) -> None:
        for held in self.ledger.of(str(order.uuid)):
            if held.is_live:
                self.decide(deciding.adopt, order, held.reference, carrier_order_id=held.order_id)

    def adopt_anothers(self, order: Order) -> None:
        others = Order.objects.exclude(pk=order.pk).exclude(carrier_reference=None)
        for reference in others.values_list("carrier_reference", flat=True):
            assert not self.decide(deciding.adopt, order, reference)

    def say_not_booked(self, order: Order) -> None:
        """True where the carrier has no such order; wrong, on purpose, where it has or will have one."""
        if self.decide(deciding.not_booked, order) and self.ledger.of(str(order.uuid)):
            self.misled.add(str(order.uuid))

    def decide(self, decision: Callable[..., None], *case: Any, **more: Any) -> bool:
        """False where it is refused, because the order needs no decision or not this one."""
        try:
            decision(*case, by=self.cast.sam, reason=REASON, now=self.clock.now(), **more)
        except deciding.CannotResolve:
            return False
        return True

    def pause(self, *, paused: bool) -> None:
        CarrierAccount.objects.update(paused_at=self.clock.now() if paused else None, pause_text="Closed today.")
