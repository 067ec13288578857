"""The processes at work and the events: each method is one thing that may happen at any moment."""

import datetime as dt
import sqlite3
from contextlib import suppress

from django.conf import settings
from django.db import connection
from django.utils import timezone

from orders.models import DatabaseMark
from shipping_portal.accounts.models import Sender
from shipping_portal.jobs.registry import all_kinds, kind_of
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.staff.restores import fencing
from tools.simulation.acting import REFUSALS, attempt
from tools.simulation.carrier import Carrier
from tools.simulation.operators import Operators
from tools.simulation.senders import Senders
from tools.simulation.world import World
from tracking.receiving import webhook_health
from tracking.scanning import reading

NAMES = {"book", "resolve", "cancel", "replace", "open", "label", "read", "fold", "poll", "report", "compare",
         "check-row", "book-row"}  # fmt: skip
SWEPT = [kind for kind in all_kinds() if kind.name in NAMES]
CLOCK = {"the clock jumps an hour ahead": 3600.0, "the clock jumps an hour back": -3600.0, "the clock is set": 0.0}
CHANGES = [
    *["bookings go on", "bookings pause", "prices fall", "prices rise", "suspended"] * 2,
    *["reinstated"] * 6, "a day passes", "bookings are paused for over a day", *CLOCK,
]  # fmt: skip
DAY = 25 * 3600.0


class People:
    """Everybody who acts, and the messages to the workers."""

    def __init__(self, world: World, carrier: Carrier, orders: int) -> None:
        self.world, self.carrier = world, carrier
        self.senders, self.operators = Senders(world, orders), Operators(world, carrier)
        self.messages: list[tuple[float, str, int]] = []  # when it expires, its task, its row
        self.sweep = Sweep()
        self.backup: tuple[dt.datetime, sqlite3.Connection] | None = None
        self.restored: int | None = None  # how many lines the carrier's ledger had then
        self.is_restoring = world.dice.below(3) == 2
        self.happenings = [
            *[self.a_worker_takes_a_message] * 72, *[self.it_is_swept] * 2, *[self.webhooks_are_read] * 6,
            self.the_webhook_is_judged,
            *[self.senders.book] * 30, *[self.senders.book_three] * 2, self.senders.import_a_file,
            *[self.senders.book_a_file] * 3,
            *[self.senders.say_yes] * 9, *[self.senders.press_again] * 3, *[self.senders.cancel] * 2,
            self.senders.replace, *[self.senders.send_back] * 2,
            *[self.operators.decide] * 12, *[self.operators.take_it_back] * 3,
            *[self.operators.close_the_gap] * 3, *[self.a_backup_is_made] * 2, self.something_changes,
        ]  # fmt: skip

    def publish(self, task: str, pk: int, at: dt.datetime | None = None) -> bool:
        """Do what a broker does: take a message, lose it, duplicate it, or be down."""
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
            self.world.start(f"{kind.name} {pk}", lambda: kind.run(pk))

    def it_is_swept(self) -> None:
        if not any(actor.name == "the sweep" for actor in self.world.actors):
            self.world.start("the sweep", lambda: self.sweep.once(SWEPT))

    def webhooks_are_read(self) -> None:
        """Have one of the workers read them, or the sweep in their place."""
        self.world.start("a reader", reading.read_due)

    def the_webhook_is_judged(self) -> None:
        """Judge it, so that polls sometimes rely on it, and are brought forward when it loses too much."""
        self.world.start("a judge", lambda: webhook_health.update_webhook_proof(timezone.now()))

    def a_backup_is_made(self) -> None:
        """Make a backup, or restore the only one, once. All processes are stopped for a restore."""
        if self.restored is not None or not self.is_restoring:
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
        self.restored = len(self.carrier.ledger.written)
        DatabaseMark.objects.all().delete()
        fencing.fence_database(at, now=timezone.now())
        self.senders.are_told_of_a_restore()

    def something_changes(self) -> None:
        what = self.world.dice.pick(CHANGES)
        self.world.tell(what)
        now, sender = timezone.now(), Sender.objects.get(pk=self.senders.quill.pk)
        if what.startswith("prices"):
            self.carrier.app.control.prices(5 if what == "prices rise" else 0)
        elif what == "bookings pause":
            attempt(self.world, what, self.operators.pause)
        elif what == "bookings go on":
            attempt(self.world, what, self.operators.resume)
        elif what in CLOCK:
            self.world.set_clock(ahead=CLOCK[what])
        elif what == "a day passes":
            self.world.pass_time(DAY)
        elif what == "bookings are paused for over a day":
            for act in (self.operators.pause, self.operators.resume):
                with suppress(*REFUSALS):
                    act()
                self.world.pass_time(DAY if act == self.operators.pause else 0.0)
        elif what == "suspended" and not sender.is_suspended:
            sender.suspend(by=self.operators.sam, category="terms", text="Terms review", note="", now=now)
        elif what == "reinstated" and sender.is_suspended:
            sender.reinstate(by=self.operators.sam, reason="resolved", now=now)
