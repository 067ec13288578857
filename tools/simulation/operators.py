"""What operators do: they act on what the carrier says, and never on anything untrue."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from orders.calling import gateway
from orders.cancelling import cancel_outcomes
from orders.models import BookingAttempt, Label, Order, OrderChange, Restore
from orders.models.account import BOOKINGS
from orders.models.statuses import HELD, Status
from shipping_portal.accounts.models import User
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.registry import kind_of
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.staff.carrier import pausing
from shipping_portal.staff.resolution import deciding, undoing
from shipping_portal.staff.restores import restoring
from tools.simulation.acting import attempt, one_of
from tools.simulation.carrier import Carrier
from tools.simulation.world import World

REASON = "the carrier said so on the phone"
UNCLEAR = (Status.UNCONFIRMED, Status.CONFLICT)


class Operators:
    """The operator Sam, and what the carrier knows."""

    def __init__(self, world: World, carrier: Carrier) -> None:
        self.world, self.carrier = world, carrier
        self.sam = User.objects.get(email="sam@portal.example")
        self.resumed: list[tuple[int, dt.datetime]] = []  # an order's newest change then, and when

    def decide(self) -> None:
        """Resolve an order as the carrier says. Do nothing while a booking may still be made."""
        order = one_of(self.world, (*UNCLEAR, Status.CANCEL_UNCONFIRMED))
        if order is None:
            return
        if order.status == Status.CANCEL_UNCONFIRMED:
            parcel = self.carrier.depot.parcel(order.carrier_reference or "")
            if parcel and order.due_at is None:
                is_cancelled = parcel.cancelled_at is not None
                self.world.tell(f"the operator finds {order.pk} {'cancelled' if is_cancelled else 'still booked'}")
                self._decide(cancel_outcomes.resolve, order, is_cancelled=is_cancelled)
        elif live := self.carrier.live(str(order.uuid)):
            self.world.tell(f"the operator adopts {live[0].reference} for {order.pk}")
            self._decide(deciding.adopt_reference, order, live[0].reference, carrier_order_id=live[0].order_id)
        elif other := Order.objects.filter(status__in=HELD).first() if self.world.trouble(10) else None:
            self.world.tell(f"the operator tries the reference of {other.pk} for {order.pk}")
            self._decide(self._adopt_anothers, order, str(other.carrier_reference))
        elif not self.carrier.may_still_book(order):
            self.world.tell(f"the operator resolves {order.pk} as not booked")
            self._decide(deciding.not_booked, order)

    def take_it_back(self) -> None:
        order = one_of(self.world, (Status.BOOKED,))
        if order and undoing.is_adopted(order):
            self.world.tell(f"the operator takes the adoption of {order.pk} back")
            self._decide(self.world.dice.pick([undoing.undo_adoption, undoing.contest_adoption]), order)

    def pause(self) -> None:
        pausing.pause_account(gateway.current_account(), BOOKINGS, text="Closed today.", ends_at=None, **self._why())

    def resume(self) -> None:
        pausing.resume_account(gateway.current_account(), BOOKINGS, **self._why())
        newest = OrderChange.objects.order_by("pk").last()
        self.resumed.append((newest.pk if newest else 0, timezone.now()))

    def let_dead_letters_go_on(self) -> None:
        for letter in DeadLetter.objects.all():
            kind = kind_of(letter.job)
            assert kind
            kind.queue.filter(pk=letter.row).update(parked_at=None, failures=0, due_at=timezone.now())
            letter.delete()

    def close_the_gap(self) -> None:
        """Close the gap once the carrier was asked about every hidden label, and has cancelled what nobody here has."""
        restore = Restore.objects.open().first()
        is_hidden = Label.objects.filter(state=Label.State.WITHHELD).exists()
        if restore is None or is_hidden or self.carrier.on_their_way:
            return
        for parcel in list(self.carrier.depot.by_id.values()):
            order = Order.objects.filter(uuid=parcel.order_key[:36]).first()
            is_known = order and (order.carrier_reference == parcel.reference or order.status in UNCLEAR)
            if parcel.cancelled_at is None and not is_known and not self._is_being_resolved(parcel):
                self.carrier.depot.cancel(parcel, by="carrier")
        if held := restoring.count_held(restore):
            what = self.world.dice.pick([restoring.release_held, restoring.leave_out])
            self.world.tell(f"the operator: {what.__name__} {held} held parcels")
            what(restore, held, **self._why())
        self.world.tell("the operator closes the gap")
        restoring.lift_gap(restore, **self._why())

    def _is_being_resolved(self, parcel: Parcel) -> bool:
        """Return whether a worker has yet to store the carrier's answer: then the reference is this order's."""
        key, _ = self.carrier.ledger.booked[parcel.reference]
        return BookingAttempt.objects.filter(key=key, state=BookingAttempt.State.IN_FLIGHT).exists()

    def _adopt_anothers(self, order: Order, reference: str, **how: Any) -> None:
        deciding.adopt_reference(order, reference, **how)
        self.world.fail(f"order {order.pk} was given {reference}, which another has")

    def _decide(self, decision: Callable[..., None], order: Order, *what: Any, **how: Any) -> None:
        attempt(self.world, f"decision on {order.pk}", decision, order, *what, **self._why(), **how)

    def _why(self) -> dict[str, Any]:
        return {"by": self.sam, "reason": REASON, "now": timezone.now()}
