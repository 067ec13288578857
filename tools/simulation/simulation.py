"""Run a seed from its first order to its bill, and shorten one that failed."""

import gc
import logging
import re
import shutil
import sqlite3
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from orders.calling import gateway, turns
from orders.models import CarrierAccount, Label, Order, Restore
from shipping_portal.accounts.models import Role
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import posting, uploads
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs import sweep
from shipping_portal.refused import Refused
from shipping_portal.sandbox.contract import Contract
from tests import factories
from tests.template import copy_of_template
from tools.simulation import quicker, verdict
from tools.simulation.carrier import Carrier
from tools.simulation.dice import Dice
from tools.simulation.invariants import OPEN, Invariants
from tools.simulation.people import SWEPT, People
from tools.simulation.world import BEGIN, Broken, World
from tracking.models import Poll, WebhookDelivery

STEPS = 80  # for each order, while anything may happen
MOST_ROUNDS = 2000
NEXT_ROUND = 120.0  # seconds
DECISIONS = 6  # of an operator, in each round
CONTRACTS = [
    f"replays = {keys}\ncancel_repeatable = {cancels}\n" for keys in ("false", "true") for cancels in ("false", "true")
]
CLIENTS = ["", "tools.simulation.two_calls.TwoCalls"]
PAUSES = (0.01, 0.5, 2.0, 5.0, 31.0, 61.0, 400.0)  # seconds
COLLECTED_AFTER = (50_000, 20, 100)  # objects, and rounds: a seed leaves little garbage
WEEK = 7 * 24 * 3600.0


@dataclass
class Outcome:
    """The result of a seed: the broken promise, if any, the history that led to it, and how much was `done`."""

    broken: str
    done: Counter[str]
    dice: Dice
    story: list[str]
    digest: str

    @property
    def kind(self) -> str:
        """Return the promise that was broken, without the order's name."""
        return re.sub(r"\d+|[0-9A-Z]{6,}|[0-9a-f-]{36}", "…", self.broken)[:80]


class Portal:
    """A database in memory, made as a copy of the tests' migrated file, and reset for every seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        logging.disable(logging.CRITICAL)
        turns.APART = 0.0
        quicker.prepare()
        connection.ensure_connection()
        with closing(sqlite3.connect(copy_of_template(folder / "migrated.sqlite3"))) as migrated:
            migrated.backup(connection.connection)
        call_command("createcachetable", verbosity=0)
        quill = factories.sender(name="Quill & Co", bookings_a_day=30_000, money_a_day=None)
        alice = factories.user("alice@quill.example", name="Alice Quill")
        factories.member(quill, alice, role=Role.OWNER, since=BEGIN.replace(year=2020))
        factories.pickup_address(quill, email=alice.email)
        bob = factories.user("bob@bolts.example", name="Bob Stranger")
        factories.member(factories.sender(name="Bob's Bolts"), bob, role=Role.OWNER, since=BEGIN.replace(year=2020))
        factories.user("sam@portal.example", name="Sam Staff", is_staff=True, is_superuser=True)
        factories.localities()
        self.template = sqlite3.connect(":memory:")
        connection.connection.backup(self.template)
        self.stranger = Client()
        gc.freeze()  # all of the above is kept
        gc.set_threshold(*COLLECTED_AFTER)

    def afresh(self, toml: str, client: str) -> Contract:
        """Delete all orders on both sides; the carrier and the portal use these points of the contract."""
        settings.CARRIER_CLIENT = client
        shutil.rmtree(self.folder / "carrier", ignore_errors=True)
        self.template.backup(connection.connection)
        file = self.folder / f"contract-{CONTRACTS.index(toml)}.toml"
        if not file.exists():
            file.write_text(toml)
        settings.CARRIER_CONTRACT = str(file)
        return Contract.load(file)


def simulate(portal: Portal, dice: Dice, orders: int) -> Outcome:
    """Run one seed."""
    world, broken = World(dice), ""
    contract = portal.afresh(dice.pick(CONTRACTS), dice.pick(CLIENTS))
    with ExitStack() as stack:
        stack.enter_context(quicker.worked_out_once())
        stack.enter_context(world.installed())
        state, speed = portal.folder / "carrier", dice.pick([0.05, 0.0, 1.0])
        carrier = Carrier(world, state, contract=contract, speed=speed, seed=dice.seed)
        stack.enter_context(carrier.installed())
        people = People(world, carrier, orders)
        for place in ("jobs.registry", "jobs.sweep"):
            stack.enter_context(mock.patch(f"shipping_portal.{place}.publish_task", people.publish))
        report = mock.Mock(side_effect=lambda *_, extra: world.breaks(sys.exception(), f"the sweep, {extra['job']}"))
        stack.enter_context(mock.patch.object(sweep.logger, "exception", report))
        world.on_commit = Invariants(carrier).hold
        try:
            _live(world, people)
            carrier.lose_only_webhooks()
            _end(world, people)
            _bill(world, people, carrier)
            broken = verdict.broken(people.restored, people.operators.resumed, carrier, state, portal.stranger)
        except Broken as error:
            broken = str(error)
        finally:
            outcome = Outcome(broken, _done(carrier), dice, list(world.lines), world.digest.hexdigest())
            world.is_calm, world.on_commit = True, lambda: None
            for actor in list(world.actors):
                world.kill(actor)
    return outcome


def _done(carrier: Carrier) -> Counter[str]:
    return Counter({
        "bookings at the carrier": len(carrier.ledger.booked),
        "rows imported": ImportRow.objects.filter(state=ImportRow.State.BOOKED).count(),
        "parcels replaced": Order.objects.exclude(replaces=None).count(),
        "parcels sent back": Order.objects.exclude(returns=None).count(),
        "parcels of three": Order.objects.exclude(consignment=None).count(),
        "restores": Restore.objects.count(),
    })  # fmt: skip


def _live(world: World, people: People) -> None:
    """Run the part in which anything may happen at any time."""
    for _ in range(people.senders.wanted * STEPS):
        awake, fate = world.awake(), world.dice.below(100)
        if awake and fate < 80:
            world.go_on(world.dice.pick(awake))
        elif fate < 94:
            world.dice.pick(people.happenings)()
        elif fate < 99 or not awake:
            gap, coming = world.dice.pick(PAUSES), world.next_at()
            world.pass_time(gap if coming is None else max(0.001, min(gap, coming - world.time)))
        elif world.dice.below(4) == 3:
            world.kill(world.dice.pick(awake))


def _end(world: World, people: People) -> None:
    """Let all work finish: the carrier answers, and the operator decides what is left. Raises Broken."""
    world.is_calm = True
    world.tell("all trouble ends")
    CarrierAccount.objects.update(stopped_at=None)
    _rest(world, people)


def _rest(world: World, people: People) -> None:
    began_at = timezone.now()
    for _ in range(MOST_ROUNDS):
        people.operators.let_dead_letters_go_on()
        people.operators.close_the_gap()
        with suppress(Refused):  # bookings are on, or will be on once the gap is closed
            people.operators.resume()
        for _ in range(DECISIONS):
            people.operators.decide()
        people.webhooks_are_read()
        people.it_is_swept()
        while people.messages or world.awake():
            people.a_worker_takes_a_message()
            for actor in world.awake():
                world.go_on(actor)
        coming = [at - world.time for at in [world.next_at()] if at is not None]
        for kind in SWEPT:
            due = kind.queue.filter(due_at__isnull=False)
            due = WebhookDelivery.objects.filter(due_at__isnull=False) if kind.name == "read" else due
            due = due.filter(due_at__lte=began_at) if kind.name == "poll" else due
            coming += [(at - timezone.now()).total_seconds() for at in due.values_list("due_at", flat=True)]
        if not coming and not Order.objects.filter(status__in=OPEN).exists():
            return
        world.pass_time(max(NEXT_ROUND, min(coming, default=0.0)))
    world.fail("its work is never finished")


def _bill(world: World, people: People, carrier: Carrier) -> None:
    """Read the carrier's bill a week later, for all of it and more."""
    world.pass_time(WEEK)
    carrier.app.troubles.clear()
    Poll.objects.filter(parcel__order__isnull=False).update(due_at=timezone.now(), is_optional=False)
    due = Label.objects.exclude(state=Label.State.STORED).filter(due_at__isnull=False)
    due.update(due_at=timezone.now(), is_spare=False)
    _rest(world, people)
    booked = [line for line in carrier.ledger.lines() if line["effect"] == "booked"]
    for line in booked[::3]:
        if carrier.depot.parcels[line["reference"]].cancelled_at is None:
            carrier.app.control.charge(line["reference"], "oversize", "3.10")
            carrier.app.control.charge(line["reference"], "refund", "1.25")
    carrier.app.control.stray("SSTRAY001", "31.40")
    path = Path(carrier.app.control.report()["path"])
    with suppress(uploads.TakenBefore):
        uploads.store_report(gateway.current_account(), path.name, path.read_bytes(), by=None, now=timezone.now())
    _rest(world, people)
    for report in BillingReport.objects.all():
        posting.post_report(report, by=None, now=timezone.now())


def shortest(portal: Portal, failed: Outcome, orders: int) -> Outcome:
    """Return the shortest history found in a minute that breaks the same promise, by leaving out drawn numbers."""
    until, size = time.perf_counter() + 60.0, len(failed.dice.drawn) // 2
    while size and time.perf_counter() < until:
        place = 0
        while place < len(failed.dice.drawn) and time.perf_counter() < until:
            script = failed.dice.drawn[:place] + failed.dice.drawn[place + size :]
            outcome = simulate(portal, Dice(failed.dice.seed, script), orders)
            if outcome.kind == failed.kind and len(outcome.dice.drawn) < len(failed.dice.drawn):
                failed = outcome
            else:
                place += size
        size //= 2
    return failed
