"""The upgrade rehearsal: while people book, every process is replaced in turn, and the database's schema changes.

The new version is a copy of this tree with one more column and one more index, added while the old one runs. The long
test ends by going back to the old version, which runs on the new schema.
"""

import itertools
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.processes.behind import WEBS, Site, a_site
from tests.processes.portal import until
from tools.campaign.actors import Done, Sender
from tools.campaign.browser import Noticed
from tools.campaign.servers import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("proxy")]

PACE, BURST = 3.0, 60  # bookings a second at least; as many as fast as they go, to measure what the machine takes
SPARE = 1.1  # asked for a little faster, as the last ones take a moment
FIELD = (
    "    rehearsed = models.CharField(max_length=20, default='new', db_default='')\n"
    "\n    objects = OrderQuerySet.as_manager()\n"
)
MIGRATION = """from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

class Migration(migrations.Migration):
    atomic = False
    dependencies = [("orders", "{last}")]
    operations = [
        migrations.AddField("order", "rehearsed", models.CharField(max_length=20, default="", db_default="")),
        AddIndexConcurrently("order", models.Index(fields=["rehearsed", "id"], name="order_rehearsed")),
    ]
"""


def new_version(folder: Path) -> Path:
    """Copy the tree and give the copy one more column and one more index."""
    names = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT).decode()  # noqa: S607
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/", "tests/snapshots/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    model = folder / "orders" / "models" / "order.py"
    text, line = model.read_text(), "    objects = OrderQuerySet.as_manager()\n"
    assert text.count(line) == 1
    model.write_text(text.replace(line, FIELD))
    last = max(path.stem for path in (folder / "orders" / "migrations").glob("0*.py"))
    (folder / "orders" / "migrations" / "9999_rehearsed.py").write_text(MIGRATION.format(last=last))
    return folder


class Stream(threading.Thread):
    """People who book `burst` parcels as fast as they can, then carry on at a steady pace until `end`."""

    def __init__(self, site: Site, orders: int, *, burst: int) -> None:
        super().__init__(daemon=True)
        self.site, self.orders, self.burst = site, orders, burst
        self.noticed, self.done, self.is_over = Noticed([]), Done(wanted=sys.maxsize, seed=1), threading.Event()
        self.people = [Sender(person, site.proxy.url, self.noticed, self.done) for person in site.people]
        self.taken, self.pace, self.kept = 0.0, PACE * SPARE, 0.0  # bookings a second: measured, asked for, made
        for person in self.people:
            person.patience = 600.0  # each replacement is followed to its order, which is counted
            person.browser.session.verify = str(site.proxy.certificate.bundle)
            person.start()

    def run_burst(self) -> None:
        """Measure how fast this machine is, from the form to the carrier's reference, with everybody booking."""
        self.done.pace = self.burst
        until(lambda: self._booked() >= len(self.people), seconds=60, what="everybody booked")
        before, began_at = self._booked(), time.monotonic()
        until(lambda: self._booked() >= self.burst, seconds=120, what="the burst is booked")
        self.taken = (self.burst - before) / (time.monotonic() - began_at)
        self.pace = max(self.pace, self.taken / 2)

    def _booked(self) -> int:
        return sum(1 for reference in self.site.portal.booked_as().values() if reference)

    def run(self) -> None:
        before, began_at = len(self.done.orders), time.monotonic()
        while self.done.pace < self.burst + self.orders or not self.is_over.is_set():
            self.done.pace = self.burst + int((time.monotonic() - began_at) * self.pace) + 1
            time.sleep(0.02)
        self.done.wanted = self.done.pace
        done = self.done
        until(lambda: len(done.orders) + len(done.faults) >= done.wanted, seconds=300, what="the last pressed Book")
        self.kept = (len(self.done.orders) - before) / (time.monotonic() - began_at)
        for person in self.people:
            person.join()

    def end(self) -> None:
        """End once there are enough bookings and everybody has booked with the version running now."""
        enough = len(self.done.orders) + 3 * len(self.people)
        until(lambda: len(self.done.orders) >= enough, seconds=120, what="everybody booked again")
        self.is_over.set()
        self.join(900)
        assert not self.is_alive()

    def failed(self) -> dict[int, int]:
        """Return the responses nobody should get, by status. 0 is no response."""
        return {status: count for status, count in self.noticed.answers.items() if status in {0, 429} or status >= 500}

    def __str__(self) -> str:
        taken = f"the machine took {self.taken:.1f} bookings a second; " if self.taken else ""
        asked = f"asked for {self.pace:.1f} a second, made {self.kept:.1f}: {len(self.done.orders)} bookings in all; "
        return f"{taken}{asked}{self.noticed.answers.total()} requests, {sum(self.failed().values())} failed"


def replace(site: Site, web: str, *, by: Path) -> None:
    """Stop one web server as a deployment does, start the other version in its place, and wait until it is ready."""
    process = site.portal.running[web]
    process.terminate()
    until(lambda: not site.is_ready(web), seconds=20, what=f"{web} says that it drains")
    site.portal.end(web, seconds=60)
    site.start(web, version=by)


def replace_all(site: Site, *, by: Path) -> None:
    """Replace processes in the run-book's order: each web server, then worker and sweeper, which finish their work."""
    for web in WEBS:
        replace(site, web, by=by)
    for name in ("worker", "sweep"):
        site.portal.end(name, seconds=60)
    site.portal.start_workers(version=by)


def booked_by(site: Site) -> list[str]:
    """Return the versions that accepted orders, in order. The new one writes "new" into its column."""
    with psycopg.connect(site.portal.owner) as database:
        found = [row[0] for row in database.execute("SELECT rehearsed FROM orders_order ORDER BY id")]
    return [version for version, _ in itertools.groupby(found)]


def rehearse(folder: Path, orders: int, *, say: Callable[[str], None], burst: int = 0, back: bool = False) -> Stream:
    new = new_version(folder / "new")
    with a_site(folder) as site:
        stream = Stream(site, orders, burst=burst)
        if burst:
            stream.run_burst()
        stream.start()
        site.portal.run(
            "manage.py", "migrate", "-v0", version=new, MIGRATE_DATABASE_URL=site.portal.owner
        )  # old code still runs on the new schema
        for version in (new, ROOT) if back else (new,):
            replace_all(site, by=version)
        stream.end()
        done = stream.done
        until(
            lambda: set(site.portal.orders().values()) <= {"booked", "cancelled"}, seconds=120, what="all is resolved"
        )
        keys = list(site.portal.orders())
        unclear = site.portal.ever_unclear(keys)
        say(f"Upgrade rehearsal{' and back' * back}: {stream}, {len(unclear)} unclear")
        assert (done.faults, stream.noticed.faults) == ([], Counter())
        assert stream.failed() == {}, stream.noticed.answers
        assert len(done.orders) >= burst + orders
        assert sorted(keys) == sorted(done.orders)
        assert unclear == []
        booked = {line["order_key"]: line["reference"] for line in site.carrier.ledger("booked")}
        assert len(site.carrier.ledger("booked")) == len(booked)  # nothing twice
        assert booked == site.portal.booked_as()
        assert {one["status"] // 100 for one in site.carrier.deliveries()} == {2}
        versions = booked_by(site)
        assert versions[0] == ""
        assert "new" in versions
        assert versions[-1] == ("" if back else "new")
        return stream


@pytest.fixture(autouse=True)
def _the_carrier_trusts_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite adds no index while others write")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site" / "nginx" / "cert.pem"))


def test_every_process_is_replaced_while_people_book(tmp_path: Path, say: Callable[[str], None]) -> None:
    rehearse(tmp_path / "site", 45, say=say)


@pytest.mark.nightly
def test_six_hundred_bookings_through_an_upgrade_and_back(tmp_path: Path, say: Callable[[str], None]) -> None:
    stream = rehearse(tmp_path / "site", 600, say=say, burst=BURST, back=True)
    if stream.kept < PACE:
        pytest.skip(f"nothing failed, but a busy machine made {stream.kept:.1f} bookings a second: no pace shown")
