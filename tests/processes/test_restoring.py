"""The run-book's backup and restore with its own commands: nothing is booked twice, and nobody sets a mark by hand."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from shipping_portal.ops.starting import REFUSED
from tests.ports import free_port
from tests.processes.backups import back_up, names_at_the_carrier, restore
from tests.processes.conftest import QUICK
from tests.processes.portal import Portal, until, until_ready
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        "postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="the run-book is PostgreSQL's"
    ),
]
MANY = 20
TEN_SWEEPS = 3.0  # seconds


@pytest.fixture
def carrier(tmp_path: Path) -> Iterator[SandboxCarrier]:
    with SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as it:
        yield it


@pytest.fixture
def portal(tmp_path: Path, carrier: SandboxCarrier) -> Iterator[Portal]:
    made = Portal(tmp_path / "portal", carrier.url, contract=QUICK)
    made.env["RESTORE_MARK_FILE"] = str(tmp_path / "mark")
    with made:
        yield made


def refused(portal: Portal, name: str) -> bool:
    process = portal.running.pop(name)
    said = process.wait(60) == REFUSED and (portal.folder / f"{name}.log").read_text()
    return "python manage.py after_restore --backup-at TIME" in str(said)


def test_due_bookings_in_a_backup_are_booked_once_and_unknown_ones_become_cases(
    portal: Portal, carrier: SandboxCarrier, tmp_path: Path
) -> None:
    file = portal.take_import(MANY, 0)
    until(lambda: portal.import_counts(file)["ready"] == MANY, seconds=60, what="the rows are checked")
    portal.kill_workers()
    due = portal.submit(MANY, "owed")
    portal.book_import(file)
    backup_at = timezone.now()
    back_up(portal, tmp_path / "portal.dump")

    portal.start_workers()
    portal.submit(MANY, "later")
    until(lambda: len(carrier.ledger("booked")) == 3 * MANY, seconds=120, what="all of it is booked")
    portal.kill_workers()
    booked = [line["reference"] for line in carrier.ledger("booked")]
    restore(portal, tmp_path / "portal.dump")

    port = free_port()
    portal.start_workers()
    portal.start_web(port)
    assert [refused(portal, name) for name in ("web", "worker", "sweep")] == [True] * 3
    portal.run_as_owner("manage.py", "after_restore", f"--backup-at={backup_at.isoformat()}")
    portal.start_workers()
    portal.start_web(port)
    until_ready(port)

    carrier.listen_at(f"http://{settings.WEBHOOK_SECRETS[0]}@127.0.0.1:{port}/webhooks/tracking/")
    for reference in booked:
        carrier.scan(reference, "In Transit")
    until(lambda: set(booked) <= set(portal.unknown_references()), seconds=60, what="all are cases, and polled")
    portal.lift_the_gap()
    sent = portal.submit(1, "after")
    until(lambda: portal.orders()[sent[0]] == "booked", seconds=30, what="bookings go out again")
    time.sleep(TEN_SWEEPS)  # whatever is not fenced is due, and is booked now
    assert {portal.orders()[key] for key in due} == {"unconfirmed"}
    assert portal.import_counts(file)["waiting"] == MANY
    times = Counter(names_at_the_carrier(carrier))
    assert (len(times), set(times.values())) == (3 * MANY + 1, {1})
