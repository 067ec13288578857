"""Everything that can happen to a few orders, in any order: hypothesis tells the story, and shortens a sad one."""

import json
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from orders import booking, booking_rules, cancelling, resolving
from orders.models import CarrierAccount, Order
from orders.models.statuses import Status
from shipping_portal.carrier.contract import Contract
from shipping_portal.jobs.registry import kinds
from shipping_portal.jobs.sweep import Sweep
from tests import factories
from tests.journeys import promises
from tests.journeys.ledger import Fault, Ledger, LedgerCarrier
from tests.journeys.scene import Scene
from tracking import intake, polling

WORK: dict[str, Callable[[int], None]] = {
    Status.BOOKING: booking.work,
    Status.UNCONFIRMED: resolving.work,
    Status.CANCELLING: cancelling.work,
    Status.CANCEL_UNCONFIRMED: cancelling.work,
}
SWEPT = [kind for kind in kinds() if kind.name != "label"]
MOST_ORDERS = 2
SECONDS = [1, 6, 29, 31, 61, 181, 301, 3600]
WORDS = ["Pickup", "In Transit", "Delivered", "Info", "Missed Pickup", "Futile Pickup"]
WHICH = st.integers(0, MOST_ORDERS - 1)
FAULTS = st.sampled_from([*[Fault.NONE] * 4, *Fault, *[Fault.LOST_AFTER] * 3, *[Fault.LOST_BEFORE] * 2])
DECISIONS = ["adopt", "adopt another's", "not booked", "not booked"]
MOST_ROUNDS = 40
ACTS = st.sampled_from(
    [
        lambda story, which: story.the_operator_decides(which, "adopt"),
        lambda story, which: story.the_operator_decides(which, "not booked"),
        lambda story, which: story.the_sender_presses(which, "yes"),
        lambda story, which: story.the_sender_presses(which, "cancel"),
        lambda story, which: story.it_is_swept(31, Fault.NONE),
        lambda story, which: story.it_is_swept(31, Fault.REFUSED),
        lambda story, which: story.it_is_swept(31, Fault.LOST_AFTER),
    ]
)


class Journeys(Scene):
    """The rules. A story begins with one booking under way, and ends when all its trouble has ended."""

    def teardown(self) -> None:
        try:
            if sys.exception() is None:  # the story ended as it should
                self.the_trouble_ends()
        finally:
            self.forget()

    @initialize(keeps_keys=st.booleans(), repeatable=st.booleans(), fault=FAULTS, nap=st.integers(0, 3))
    def a_day_begins(self, *, keeps_keys: bool, repeatable: bool, fault: Fault, nap: int) -> None:
        """With one booking under way, so that something is at stake from the first step."""
        contract = Contract(replays=keeps_keys, cancel_repeatable=repeatable)
        LedgerCarrier.ledger = self.ledger = Ledger(self.clock, self.crew.wait, contract)
        self.book_is_pressed()
        self.a_worker_does_what_is_owed(which=0, patient=False, fault=fault, nap=nap)

    @invariant()
    def every_promise_holds(self) -> None:
        promises.hold(self.ledger, told=self.told, misled=self.misled, now=self.clock.now())

    # -- What the sender does ----------------------------------------------------------------

    @precondition(lambda self: len(self.forms) < MOST_ORDERS)
    @rule()
    def book_is_pressed(self) -> None:
        quote = factories.quote(self.sender(), self.cast.alice, at=self.clock.now())
        token = uuid.uuid4()
        with suppress(booking_rules.Suspended, booking_rules.Paused):
            self.forms.append((token, quote, self.submit(quote, token).pk))

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, what=st.sampled_from(["again", "otherwise", "yes", "cancel", "cancel", "replace"]))
    def the_sender_presses(self, which: int, what: str) -> None:
        if what in {"again", "otherwise"}:
            self.send_form_again(*self.forms[which % len(self.forms)], is_other_parcel=what == "otherwise")
        elif what == "yes":
            self.say_yes(self.one_of({Status.DRAFT, Status.NOT_BOOKED}, which))
        else:
            self.cancel(self.one_of({Status.BOOKED}, which))
        if what == "replace" and len(self.forms) < MOST_ORDERS:
            self.book_is_pressed()

    # -- Who works ---------------------------------------------------------------------------

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, patient=st.booleans(), fault=FAULTS)
    def a_worker_does_what_is_owed(self, *, which: int, patient: bool, fault: Fault, nap: int = 0) -> None:
        """When it is due, or at once, which may be too early; and something may go wrong at the carrier."""
        order = self.one_of(WORK, which)
        if patient and order.due_at:
            self.clock.time = max(self.clock.time, order.due_at)
        self.ledger.faults |= {"book": fault, "cancel": fault}
        self.crew.start(partial(WORK.get(order.status, polling.open_parcel), order.pk), nap=nap)

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, patient=st.booleans(), fault=FAULTS, nap=st.integers(1, 4))
    def a_worker_falls_asleep(self, *, which: int, patient: bool, fault: Fault, nap: int) -> None:
        """Before its first call to the carrier, before that call's first byte, after it, and so on."""
        self.a_worker_does_what_is_owed(which=which, patient=patient, fault=fault, nap=nap)

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, work=st.sampled_from([*dict.fromkeys(WORK.values()), polling.open_parcel]))
    def a_message_comes_late(self, which: int, work: Callable[[int], None]) -> None:
        work(self.forms[which % len(self.forms)][2])

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, nap=st.integers(1, 3), acts=st.lists(ACTS, min_size=1, max_size=3), fault=FAULTS)
    def a_worker_sleeps_while_others_act(
        self, *, which: int, nap: int, acts: list[Callable[["Journeys", int], None]], fault: Fault
    ) -> None:
        """The same again as one step, so that what goes wrong between two acts is met often."""
        self.a_worker_falls_asleep(which=which, patient=True, fault=Fault.NONE, nap=nap)
        for act in acts:
            act(self, which)
            self.every_promise_holds()
        if self.crew.asleep:
            self.a_sleeping_worker_wakes(place=-1, is_killed=False, fault=fault)

    @precondition(lambda self: self.crew.asleep)
    @rule(place=st.sampled_from([0, -1]), is_killed=st.sampled_from([False, False, True]), fault=FAULTS)
    def a_sleeping_worker_wakes(self, *, place: int, is_killed: bool, fault: Fault) -> None:
        self.ledger.faults |= {"book": fault, "cancel": fault}
        if is_killed:
            self.crew.kill(place)
        else:
            self.crew.wake(place)

    @rule(seconds=st.sampled_from([*SECONDS, 25 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.step(seconds)

    @rule(seconds=st.sampled_from(SECONDS), fault=FAULTS)
    def it_is_swept(self, seconds: int, fault: Fault) -> None:
        self.clock.step(seconds)
        self.ledger.faults |= {"book": fault, "cancel": fault}
        assert [line for line in Sweep().once(SWEPT) if line.endswith("failed")] == []

    # -- What the carrier does ---------------------------------------------------------------

    @rule(call=st.sampled_from(["quote", "track", "view"]), fault=st.sampled_from(Fault))
    def a_lesser_call_will_go_wrong(self, call: str, fault: Fault) -> None:
        self.ledger.faults[call] = fault

    @precondition(lambda self: any(not held.is_made for held in self.ledger.held))
    @rule()
    def a_late_booking_is_made(self) -> None:
        next(held for held in self.ledger.held if not held.is_made).is_made = True

    @precondition(lambda self: any(held.is_made for held in self.ledger.held))
    @rule(which=WHICH, word=st.sampled_from(WORDS), pushed=st.booleans())
    def a_driver_scans(self, which: int, word: str, *, pushed: bool) -> None:
        made = [held for held in self.ledger.held if held.is_made]
        self.scans.append(self.ledger.scan(made[which % len(made)], word))
        if pushed:
            self.a_webhook_comes(len(self.scans) - 1)

    @precondition(lambda self: self.scans)
    @rule(which=st.integers(0, 9))
    def a_webhook_comes(self, which: int) -> None:
        """Any of the scans so far: in any order, twice, before the booking's answer, after a cancellation."""
        scan = self.scans[which % len(self.scans)]
        intake.receive(json.dumps(scan.raw).encode(), factories.account(), now=self.clock.now())
        self.told.add(scan.event_id)

    # -- What the operator does ----------------------------------------------------------------

    @precondition(lambda self: self.forms)
    @rule(which=WHICH, decision=st.sampled_from(DECISIONS))
    def the_operator_decides(self, which: int, decision: str) -> None:
        order = self.one_of({Status.UNCONFIRMED, Status.CONFLICT}, which)
        if decision == "adopt":
            self.adopt(order)
        elif decision == "adopt another's":
            self.adopt_anothers(order)
        else:
            self.say_not_booked(order)

    @rule(what=st.sampled_from(["dearer", "cheaper", "suspension", "pause", "contract"]))
    def something_changes(self, what: str) -> None:
        if what in {"dearer", "cheaper"}:
            self.ledger.price += 1 if what == "dearer" else -1
        elif what == "suspension":
            self.suspend_or_reinstate()
        elif what == "pause":
            self.pause(paused=not CarrierAccount.objects.filter(paused_at__isnull=False).exists())
        elif self.ledger.keeps_keys:
            contract = self.ledger.contract
            self.ledger.contract = replace(contract, replays=not contract.replays)

    # -- The end of all trouble ----------------------------------------------------------------

    def the_trouble_ends(self) -> None:
        """Everybody wakes, the carrier answers, and every order comes to rest or to an operator."""
        while self.crew.asleep:
            self.crew.wake(0)
            self.every_promise_holds()
        self.ledger.faults.clear()
        self.pause(paused=False)
        for _ in range(MOST_ROUNDS):
            owed = Order.objects.filter(status__in=WORK, due_at__isnull=False).order_by("due_at").first()
            if owed is None:
                return
            self.clock.time = max(self.clock.time, owed.due_at)
            self.it_is_swept(0, Fault.NONE)
            self.every_promise_holds()
        raise AssertionError(f"{owed.status} for ever")
