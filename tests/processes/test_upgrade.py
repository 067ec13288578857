"""The upgrade rehearsal: while people book, both webs are replaced in turn, on a database that changes below them.

The new version is a copy of this tree with one more column and one more index, made while the old one runs on. In the
end the webs go back to the old version, which runs on the new schema.
"""

import shutil
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

from tests.campaign.actors import Done, Sender
from tests.campaign.browser import Noticed
from tests.campaign.servers import ROOT
from tests.processes.behind import WEBS, Site, a_site
from tests.processes.portal import until

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("proxy")]

PACE = 3.0  # bookings a second at least
FIELD = (
    "    rehearsed = models.CharField(max_length=20, default='', db_default='')\n"
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
    """Copy the tree, and give the copy a column and an index more."""
    names = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT).decode()  # noqa: S607
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/", "tests/told/")):
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
    """People who book at a steady pace until there are enough; `pace` bookings a second."""

    def __init__(self, site: Site, orders: int, pace: float) -> None:
        super().__init__(daemon=True)
        self.noticed, self.done, self.pace = Noticed([]), Done(wanted=orders, seed=1), pace
        self.people = [Sender(person, site.proxy.url, self.noticed, self.done) for person in site.people]
        for person in self.people:
            person.browser.session.verify = str(site.proxy.certificate.bundle)

    def run(self) -> None:
        for person in self.people:
            person.start()
        began_at = time.monotonic()
        while self.done.pace < self.done.wanted:
            self.done.pace = min(self.done.wanted, int((time.monotonic() - began_at) * self.pace) + 1)
            time.sleep(0.05)
        for person in self.people:
            person.join()


def replace(site: Site, web: str, *, by: Path) -> None:
    """Stop one web as a deployment does, start the other version in its place, and wait until it is ready."""
    process = site.portal.running[web]
    process.terminate()
    until(lambda: not site.is_ready(web), seconds=10, what=f"{web} says that it drains")
    site.portal.end(web, seconds=40)
    site.start(web, version=by)


def rehearse(folder: Path, orders: int, pace: float, *, back: bool) -> float:
    """Return the bookings a second that people really made."""
    new = new_version(folder / "new")
    with a_site(folder) as site:
        stream = Stream(site, orders, pace)
        began_at = time.monotonic()
        stream.start()
        site.portal.run(
            "manage.py", "migrate", "-v0", version=new, MIGRATE_DATABASE_URL=site.portal.owner
        )  # old code goes on, on the new schema
        for version in (new, ROOT) if back else (new,):
            for web in WEBS:
                replace(site, web, by=version)
        is_replaced_in_time = stream.is_alive()
        stream.join(600)
        seconds = time.monotonic() - began_at
        done, answers = stream.done, stream.noticed.answers
        until(lambda: set(site.portal.orders().values()) <= {"booked", "cancelled"}, seconds=60, what="all is settled")
        assert (done.faults, stream.noticed.faults) == ([], Counter())
        failed = {status: count for status, count in answers.items() if status in {0, 429} or status >= 500}
        assert failed == {}, answers
        keys = list(site.portal.orders())
        assert len(done.orders) >= orders
        assert sorted(keys) == sorted(done.orders)
        assert site.portal.ever_unclear(keys) == []
        booked = {line["order_key"]: line["reference"] for line in site.carrier.ledger("booked")}
        assert len(site.carrier.ledger("booked")) == len(booked)  # none twice
        assert booked == site.portal.booked_as()
        assert {one["status"] // 100 for one in site.carrier.deliveries()} == {2}
        assert is_replaced_in_time, "the last web was replaced when nobody booked any more: nothing was shown"
        return len(done.orders) / seconds


@pytest.fixture(autouse=True)
def _the_carrier_trusts_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite adds no index while others write")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site" / "nginx" / "cert.pem"))


def test_both_webs_are_replaced_while_people_book(tmp_path: Path) -> None:
    rehearse(tmp_path / "site", 75, PACE, back=False)


@pytest.mark.nightly
def test_six_hundred_bookings_through_an_upgrade_and_back(tmp_path: Path) -> None:
    assert rehearse(tmp_path / "site", 600, 5.0, back=True) >= PACE
