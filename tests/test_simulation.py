"""The simulation in the tests: a few seeds always, more before every merge, and verified by sabotage."""

import datetime as dt
import os
import re
import subprocess
import sys

import pytest
from django.utils import timezone

from orders.models import OrderChange
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tools.campaign import checker
from tools.campaign.sabotage import ROOT, SABOTAGES, Sabotage, broken_copy
from tools.simulation import verdict
from tools.simulation.dice import Dice

COMES_ABOUT = (
    *("bookings at the carrier", "rows imported", "parcels replaced", "parcels sent back", "parcels of three"),
    "restores",
)
NOWHERE = "postgres://portal@127.0.0.1:9/nothing"
# Below the point at which the simulated carrier is called, or about a carrier that sells what was prepared.
ON_THE_WIRE = {"follow redirects", "buy another shipment after a lost reply"}


def simulated(*options: str, root: str = str(ROOT)) -> tuple[int, str]:
    """Return the exit code and output of a simulation. It never uses a database named in the environment."""
    command = [sys.executable, "-m", "tools.simulation", *options]
    env = {**os.environ, "PYTHONPATH": "", "DATABASE_URL": NOWHERE, "MIGRATE_DATABASE_URL": NOWHERE}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=3000, check=False)
    return done.returncode, done.stdout + done.stderr[-3000:]


def test_a_few_seeds_keep_every_promise_and_repeat_the_same_history() -> None:
    code, said = simulated("--seed=1", "--seeds=2", "--orders=4")
    assert code == 0, said
    again = simulated("--seed=2", "--orders=4")[1]
    assert said.splitlines()[1] == again.splitlines()[0]
    assert "seed 2: sha256" in again


@pytest.mark.full
def test_more_seeds_keep_every_promise() -> None:
    code, said = simulated("--seed=324", "--seeds=6", "--orders=20", "--processes=2")
    assert code == 0, said
    missing = [what for what in COMES_ABOUT if what not in said]
    assert not missing, said


@pytest.mark.nightly
def test_a_thousand_orders_keep_every_promise() -> None:
    code, said = simulated("--seed=1000", "--seeds=100", "--orders=10")
    assert code == 0, said


@pytest.mark.django_db
@pytest.mark.parametrize(("ended_before", "faults"), [(True, 1), (False, 0)])
def test_only_a_pause_that_ended_before_a_booking_was_given_up_counts(
    quill: Sender, alice: User, ended_before: bool, faults: int
) -> None:
    """The clock may jump back in between, so the time doesn't say what came first."""
    order, now = factories.order(quill, alice, status="rejected"), timezone.now()
    OrderChange.objects.filter(order=order).delete()
    given_up = {"new": "rejected", "reason": "The booking could not be sent for 24 hours."}
    for at, change in ((now - dt.timedelta(hours=25), {"new": "booking"}), (now, given_up)):
        OrderChange.objects.create(order=order, at=at, **change)
    newest = OrderChange.objects.latest("pk").pk - ended_before
    assert len(list(verdict._refused_early([(newest, now - dt.timedelta(hours=1))]))) == faults


@pytest.mark.parametrize(
    ("scans", "progress"),
    [
        ([("in_transit", "02:30:16", "01:48:36"), ("delivered", "01:48:35", "01:48:36")], "delivered"),
        ([("delivered", "02:30:16", "01:48:36"), ("in_transit", "01:48:35", "01:48:36")], "delivered"),
        ([("in_transit", "02:30:16", "01:48:36"), ("delivered", "02:38:36", "01:38:41")], "delivered"),
        ([("delivered", "01:30:16", "01:48:36"), ("in_transit", "01:40:16", "01:48:36")], "in_transit"),
        ([], ""),
    ],
)
def test_a_scan_from_a_clock_that_was_ahead_moves_no_parcel_back(
    scans: list[tuple[str, str, str]], progress: str
) -> None:
    """The clock jumped an hour back between the scans. What the portal showed was right (seed 24 of 20 orders)."""
    lines = [{"event_type": name, "progress": name, "scan_time": f"2026-11-19T{dated}Z"} for name, dated, _ in scans]
    receipts = [dt.datetime.fromisoformat(f"2026-11-19T{received}Z") for *_, received in scans]
    known = {(line["event_type"], line["scan_time"]): at for line, at in zip(lines, receipts, strict=True)}
    assert checker._latest_progress(lines, known) == progress


def test_dice_repeat_their_script_and_then_use_defaults() -> None:
    dice = Dice(7)
    drawn = [dice.below(6) for _ in range(5)]
    again = Dice(8, dice.drawn)
    assert [again.below(6) for _ in range(7)] == [*drawn, 0, 0]
    assert not Dice(9, []).happens(99)
    assert Dice(9, [5]).below(3) == 0


@pytest.mark.nightly
@pytest.mark.sabotage
@pytest.mark.parametrize(
    "sabotage", [one for one in SABOTAGES if one.name not in ON_THE_WIRE], ids=lambda sabotage: sabotage.name
)
def test_the_simulation_notices_every_sabotage(sabotage: Sabotage) -> None:
    with broken_copy(sabotage) as copy:
        code, said = simulated("--seeds=200", "--orders=10", "--quietly", root=str(copy))
    assert code == 1, said
    assert re.match(r"seed \d+: sha256 [0-9a-f]+  ", said), said  # not a program that fell over


@pytest.mark.nightly
@pytest.mark.sabotage
def test_a_failing_history_is_printed_as_short_as_possible() -> None:
    [sabotage] = [one for one in SABOTAGES if one.name.startswith("set due_at")]
    with broken_copy(sabotage) as copy:
        code, said = simulated("--seed=1", "--orders=5", root=str(copy))
    story = said.partition("The shortest way to it")[2].splitlines()[1:]
    assert code == 1
    assert len(story) == 2, said
    assert story[0].endswith("a sender presses Book, parcel 1")
    assert story[1].endswith("order 1 is booking: it should have a job, but is never due")
