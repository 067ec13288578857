"""Through PgBouncer in transaction mode, limits work, races end the same, and no fault loses a parcel."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from tests.campaigns import campaign, holds
from tests.pooler import needs_pgbouncer, start_pgbouncer
from tests.processes.conftest import QUICK
from tests.processes.portal import Portal, until
from tests.processes.servers import Servers
from tests.sandbox_carrier import SandboxCarrier
from tests.template import app_in, owner
from tools.campaign.servers import ROOT

pytestmark = [
    pytest.mark.processes,
    pytest.mark.xdist_group("pooler"),  # one database of that name
    pytest.mark.skipif("postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="PgBouncer is PostgreSQL's"),
    needs_pgbouncer,
]


@pytest.fixture
def pooled(tmp_path: Path) -> Iterator[str]:
    """The address of the tests' server through PgBouncer, for the portal's role."""
    with Servers(tmp_path) as servers:
        yield start_pgbouncer(servers.children, app_in(owner()))


def shell(database: str, code: str) -> str:
    """Return the portal's database settings for an address."""
    env = os.environ | {"DATABASE_URL": database, "MIGRATE_DATABASE_URL": ""}
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


ASK = "from django.db import connection as c; u = c.cursor(); [print(u.execute(f'SHOW {n}').fetchone()[0]) for n in "


def test_the_roles_own_limits_apply_without_startup_options(pooled: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="unsupported startup parameter"):
        psycopg.connect(pooled.partition("?")[0], options="-c lock_timeout=5s")
    limits = dict(limit.split("=") for limit in settings.DATABASE_LIMITS.split())
    assert shell(pooled, f"{ASK}{[*limits]}]").split() == [*limits.values()]


def races(pooled: str, *which: str) -> str:
    """Run tests in a separate process, which makes a database as the owner and works in it through the pooler.

    Returns pytest's last line with the counts.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # An earlier run's database exists, emptied by its last test.
    command = [sys.executable, "-m", "pytest", "-q", "--create-db", "-m", "postgres and not nightly", *which]
    done = subprocess.run(
        command, cwd=ROOT, env=env | {"DATABASE_URL": pooled}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
    return done.stdout.splitlines()[-1]


FEW = (
    "tests/test_races.py::test_fifty_presses_of_one_button_make_one_order",
    "tests/test_races.py::test_scans_and_the_opening_of_their_parcel_never_deadlock",
    "tests/jobs/test_races.py",
)


def test_a_few_races_end_the_same(pooled: str) -> None:
    races(pooled, *FEW)


def test_twenty_parcels_are_booked_by_real_processes(
    pooled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", pooled)
    with SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as carrier:
        with Portal(tmp_path / "portal", carrier.url, contract=QUICK) as portal:
            assert portal.env["DATABASE_URL"].endswith("?pooled=1")
            keys = portal.submit(20)
            until(lambda: portal.orders() == dict.fromkeys(keys, "booked"), seconds=90, what="all booked")
        assert len(carrier.ledger("booked")) == len(keys)


@pytest.mark.nightly
def test_every_race_ends_the_same(pooled: str, say: Callable[[str], None]) -> None:
    say(f"Races through PgBouncer: {races(pooled, 'tests')}")


@pytest.mark.nightly
def test_no_fault_loses_one_of_sixty_parcels(say: Callable[[str], None]) -> None:
    done = campaign("--seed=1", "--orders=60", "--pooled")
    say(done.stdout)
    holds(done)
