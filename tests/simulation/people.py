"""What senders and operators do, and who works: each is one thing that may happen at any moment."""

import datetime as dt
import sqlite3
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from orders import booking, booking_rules, cancelling
from orders.limits import LimitReached
from orders.models import CarrierAccount, DatabaseMark, Label, Order, Quote, Restore
from orders.models.statuses import HELD, Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.registry import kind_of, kinds
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.staff import fencing, restoring
from shipping_portal.staff.resolution import deciding, undoing
from tests import factories
from tests.simulation.carrier import Carrier
from tests.simulation.world import World
from tracking import reading

REASON = "the carrier told us on the phone"
NAMES = {"book", "resolve", "cancel", "open", "label", "read", "fold", "poll", "report", "compare"}
SWEPT = [kind for kind in kinds() if kind.name in NAMES]
REFUSALS = (
    *(booking_rules.Suspended, booking_rules.Paused, booking_rules.PickupDayPassed, booking_rules.CarrierChanged),
    *(Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected, deciding.CannotResolve, undoing.CannotUndo),
    *(LimitReached, booking.TokenReused),
)
CHANGES = [
    *("bookings go on", "bookings pause", "prices fall", "prices rise", "a day passes"),
    *("suspended", "reinstated", "reinstated", "reinstated"),
]
DAY = 25 * 3600.0
UNCLEAR = (Status.UNCONFIRMED, Status.CONFLICT)


class People:
    """Everybody who acts, and the messages between them."""

    def __init__(self, world: World, carrier: Carrier, orders: int) -> None:
        self.world, self.carrier, self.wanted = world, carrier, orders
        self.messages: list[tuple[float, str, int]] = []  # until when it is good, its task, its row
        self.forms: list[tuple[uuid.UUID, Quote]] = []
        self.sweep = Sweep()
        self.backup: tuple[dt.datetime, sqlite3.Connection] | None = None
        self.restored_at: dt.datetime | None = None
        self.is_restoring = world.dice.below(3) == 2
        self.happenings = [
            *[self.a_worker_takes_a_message] * 24, *[self.a_sender_books] * 12, self.it_is_swept,
            *[self.webhooks_are_read] * 2,
            *[self.a_sender_cancels] * 2, *[self.an_operator_decides] * 4, *[self.a_sender_says_yes] * 2,
            self.a_sender_presses_again, self.an_operator_takes_it_back, self.something_changes, self.a_backup_is_made,
            self.an_operator_closes_the_gap,
        ]  # fmt: skip

    # -- Messages and workers --------------------------------------------------------------------

    def publish(self, task: str, pk: int) -> bool:
        """The broker: it takes a message, loses it, doubles it, or is away."""
        self.world.pause("a message is sent")
        fate = 0 if self.world.is_calm else self.world.dice.below(20)
        if fate == 19:
            return False
        message = (self.world.time + settings.LEASE_SECONDS, task, pk)
        self.messages += [message] * {18: 0, 17: 2}.get(fate, 1)
        return True

    def a_worker_takes_a_message(self) -> None:
        self.messages = [one for one in self.messages if one[0] >= self.world.time]
        if self.messages:
            _, task, pk = self.messages.pop(self.world.dice.below(min(len(self.messages), 4)))
            kind = kind_of(task.removeprefix("jobs."))
            assert kind
            self.world.tell(f"a worker takes {kind.name} {pk}")
            self.world.start(f"{kind.name} {pk}", lambda: kind(pk))

    def it_is_swept(self) -> None:
        if not any(actor.name == "the sweep" for actor in self.world.actors):
            self.world.start("the sweep", lambda: self.sweep.once(SWEPT))

    def webhooks_are_read(self) -> None:
        """By any of the workers, or the sweep in their place."""
        self.world.start("a reader", reading.read_due)

    # -- Senders ---------------------------------------------------------------------------------

    def a_sender_books(self) -> None:
        if len(self.forms) < self.wanted:
            parcel = factories.details(_quill(), description=f"Boxed ceramic mugs, {len(self.forms) + 1}")
            quote = factories.quote(_quill(), _alice(), parcel=parcel, at=timezone.now())
            self.forms.append((uuid.uuid4(), quote))
            self.world.tell(f"a sender presses Book, parcel {len(self.forms)}")
            self._do("Book", self._submit, *self.forms[-1])

    def a_sender_presses_again(self) -> None:
        if self.forms:
            (token, quote), (_, other) = self.world.dice.pick(self.forms), self.world.dice.pick(self.forms)
            if self.world.dice.below(3) == 2 and other.pk != quote.pk:
                self._do("another parcel", self._submit_changed, token, other)
            else:
                self._do("Book again", self._submit, token, quote)

    def a_sender_says_yes(self) -> None:
        if order := self._one_of((Status.DRAFT, Status.NOT_BOOKED)):
            self.world.tell(f"a sender says yes to {order.pk}")
            self._do(f"yes to {order.pk}", booking.confirm, order, by=_alice(), now=timezone.now())

    def a_sender_cancels(self) -> None:
        if order := self._one_of((Status.BOOKED,)):
            self.world.tell(f"a sender cancels {order.pk}")
            why = "not sending it"
            self._do(f"cancel of {order.pk}", cancelling.ask, order, by=_alice(), why=why, now=timezone.now())

    def _submit(self, token: uuid.UUID, quote: Quote) -> None:
        booking.submit(
            quote=Quote.objects.get(pk=quote.pk), code=factories.OFFER["code"], by=_alice(), form_token=token,
            pickup_date=None, now=timezone.now(),
        )  # fmt: skip

    def _submit_changed(self, token: uuid.UUID, quote: Quote) -> None:
        """The same form with another parcel in it: it is refused, or it is the first that comes."""
        form = Order.objects.filter(form_token=token).exclude(quote=quote)
        is_known = form.exists()
        with suppress(booking.TokenReused):
            self._submit(token, quote)
            if is_known:
                self.world.fail("one form booked two parcels")

    # -- Operators -------------------------------------------------------------------------------

    def an_operator_decides(self) -> None:
        """What the carrier says, and nothing while a booking may still be made."""
        order = self._one_of((*UNCLEAR, Status.CANCEL_UNCONFIRMED))
        if order is None:
            return
        if order.status == Status.CANCEL_UNCONFIRMED:
            parcel = self.carrier.depot.parcel(order.carrier_reference or "")
            if parcel and order.due_at is None:
                is_cancelled = parcel.cancelled_at is not None
                self.world.tell(f"the operator finds {order.pk} {'cancelled' if is_cancelled else 'still booked'}")
                self._decide(cancelling.settle, order, is_cancelled=is_cancelled)
        elif live := self.carrier.live(str(order.uuid)):
            self.world.tell(f"the operator adopts {live[0].reference} for {order.pk}")
            self._decide(deciding.adopt, order, live[0].reference, carrier_order_id=live[0].order_id)
        elif other := Order.objects.filter(status__in=HELD).first() if self.world.trouble(10) else None:
            self.world.tell(f"the operator tries the reference of {other.pk} for {order.pk}")
            self._decide(self._adopt_anothers, order, str(other.carrier_reference))
        elif not self.carrier.may_still_book(order):
            self.world.tell(f"the operator settles {order.pk} as not booked")
            self._decide(deciding.not_booked, order)

    def _adopt_anothers(self, order: Order, reference: str, **how: Any) -> None:
        deciding.adopt(order, reference, **how)
        self.world.fail(f"order {order.pk} was given {reference}, which another has")

    def an_operator_takes_it_back(self) -> None:
        order = self._one_of((Status.BOOKED,))
        if order and undoing.stands(order):
            self.world.tell(f"the operator takes the adoption of {order.pk} back")
            self._decide(self.world.dice.pick([undoing.undo, undoing.contest]), order)

    def an_operator_lets_dead_letters_go_on(self) -> None:
        for letter in DeadLetter.objects.all():
            kind = kind_of(letter.job)
            assert kind
            kind.queue.filter(pk=letter.row).update(parked_at=None, failures=0, due_at=timezone.now())
            letter.delete()

    # -- A restore -------------------------------------------------------------------------------

    def a_backup_is_made(self) -> None:
        """Or the only one is restored, once: everybody who works is stopped for it."""
        if self.restored_at or not self.is_restoring:
            return
        if self.backup and self.world.dice.below(3) == 2:
            self._restore(*self.backup)
        else:
            self.backup = timezone.now(), sqlite3.connect(":memory:")
            connection.connection.backup(self.backup[1])

    def _restore(self, at: dt.datetime, backup: sqlite3.Connection) -> None:
        self.world.tell(f"the backup of {at:%H:%M:%S} is restored")
        for actor in list(self.world.actors):
            self.world.kill(actor)
        self.messages, self.sweep = [], Sweep()
        backup.backup(connection.connection)
        self.restored_at = timezone.now()
        DatabaseMark.objects.all().delete()
        fencing.fence(at, now=self.restored_at)
        known = set(Quote.objects.values_list("pk", flat=True))
        self.forms = [(token, quote) for token, quote in self.forms if quote.pk in known]

    def an_operator_closes_the_gap(self) -> None:
        """Once every hidden label was asked about, and the carrier has called off what nobody here has."""
        restore = Restore.objects.open().first()
        is_hidden = Label.objects.filter(state=Label.State.WITHHELD).exists()
        if restore is None or is_hidden or self.carrier.on_their_way:
            return
        for parcel in list(self.carrier.depot.by_id.values()):
            order = Order.objects.filter(uuid=parcel.order_key[:36]).first()
            is_known = order and (order.carrier_reference == parcel.reference or order.status in UNCLEAR)
            if parcel.cancelled_at is None and not is_known:
                self.carrier.depot.cancel(parcel, by="carrier")
        self.world.tell("the operator closes the gap")
        restoring.lift(restore, by=_sam(), reason=REASON, now=timezone.now())

    def something_changes(self) -> None:
        what = self.world.dice.pick(CHANGES)
        self.world.tell(what)
        now, sender, sam = timezone.now(), _quill(), _sam()
        if what.startswith("prices"):
            self.carrier.app.control.prices(5 if what == "prices rise" else 0)
        elif what.startswith("bookings"):
            paused_at = now if what == "bookings pause" else None
            CarrierAccount.objects.update(paused_at=paused_at, pause_text="Closed today.")
        elif what == "a day passes":
            self.world.pass_time(DAY)
        elif what == "suspended" and not sender.is_suspended:
            sender.suspend(by=sam, category="terms", text="Terms review", note="", at=now)
        elif what == "reinstated" and sender.is_suspended:
            sender.reinstate(by=sam, reason="settled", at=now)

    # -- Helpers ---------------------------------------------------------------------------------

    def _do(self, name: str, act: Callable[..., Any], *what: Any, **how: Any) -> None:
        def do() -> None:
            with suppress(*REFUSALS):
                act(*what, **how)

        self.world.start(name, do)

    def _decide(self, decision: Callable[..., None], order: Order, *what: Any, **how: Any) -> None:
        self._do(f"decision on {order.pk}", decision, order, *what, by=_sam(), reason=REASON, now=timezone.now(), **how)

    def _one_of(self, statuses: Collection[str]) -> Order | None:
        fitting = list(Order.objects.filter(status__in=statuses).order_by("pk").values_list("pk", flat=True))
        return Order.objects.get(pk=self.world.dice.pick(fitting)) if fitting else None


def _quill() -> Sender:
    return Sender.objects.get(name="Quill & Co")


def _alice() -> User:
    return User.objects.get(email="alice@quill.example")


def _sam() -> User:
    return User.objects.get(email="sam@portal.example")
