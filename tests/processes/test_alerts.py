"""Thirteen causes that an operator meets, against real processes: each alerts once within its limit and clears once.

Eleven are the portal's own alerts. Only the heartbeat shows that the sweeper or the database is gone.
"""

import datetime as dt
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.certificates import own_certificate
from tests.processes.conftest import QUICK
from tests.processes.portal import Portal, until
from tests.processes.servers import Servers
from tests.receiver import Receiver
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        "postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="too fast for SQLite's one lock"
    ),
]
MINUTE = dt.timedelta(minutes=1)  # of the portal's clock; one second of ours
SLOW = 15 * MINUTE  # a round of the sweep and an email on a busy machine
# By its name: its severity, its term as far as it begins here, and a word of what to do.
CAUSES = {
    "carrieraccount-stopped": ("page", 0, "Ask the carrier again now"),
    "carrieraccount-fault": ("page", 15, "fix the settings or the contract file"),
    "order-conflict": ("page", 15, "compare the answers"),
    "deadletter": ("page", 60, "Try again"),
    "jobs-late": ("page", 5, "Check the workers, the broker and the database"),
    "webhook-silent": ("ticket", 360, "webhook_url --test"),
    "certificate-now": ("page", None, "Renew it"),
    "bill-missing": ("ticket", 9 * 24 * 60, "ask the carrier for it"),
    "money-near-limit": ("ticket", None, "raise DAILY_MONEY_LIMIT"),
    "label-store": ("ticket", None, "Add database space"),
    "backup-old": ("ticket", 12, "backup_taken"),
}
ONCE = {"LABEL_STORE_GB": "0.000000001", "BACKUP_HOURS": "0.2"}  # settings whose limits are exceeded
AT_FIRST = {"backup-old", "label-store", "certificate-now"}  # by the settings and the certificate of this test
RIGHT = {"LABEL_STORE_GB": "50", "BACKUP_HOURS": "2600"}


@dataclass
class Night:
    portal: Portal
    servers: Servers
    carrier: SandboxCarrier
    receiver: Receiver
    mails: Path

    def recorded(self, state: str) -> dict[str, dict[str, Any]]:
        """Return what the webhook received for each cause, once each. The emails say the same."""
        said = [json.loads(request.body) for request in self.receiver.requests if request.method == "POST"]
        found = [one for one in said if one["state"] == state]
        assert max(Counter(one["name"] for one in found).values(), default=1) == 1
        return {one["name"]: one for one in found}

    def subjects(self) -> Counter[str]:
        """Return the subjects of alert emails only, since senders get emails too."""
        texts = "".join(file.read_text() for file in sorted(self.mails.glob("*.log")))
        return Counter(re.findall(r"^Subject: (\[.+)$", texts, re.MULTILINE))

    def beats(self) -> int:
        return sum(request.method == "GET" for request in self.receiver.requests)

    def falls_silent(self) -> None:
        """Wait until the heartbeat's monitor has received nothing for five minutes, when it would alert somebody."""
        time.sleep(1)  # one may be under way
        beats = self.beats()
        time.sleep(5)
        assert self.beats() == beats

    def beats_again(self) -> None:
        beats = self.beats()
        until(lambda: self.beats() > beats + 1, seconds=60, what="the heartbeat is back")


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    (tmp_path / "receiver").mkdir()
    with (
        Servers(tmp_path) as servers,
        SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as carrier,
        Receiver(tmp_path / "receiver") as receiver,
    ):
        portal = Portal(tmp_path / "portal", carrier.url, contract=QUICK, database=servers.postgres())
        portal.env |= {
            "DJANGO_SETTINGS_MODULE": "tests.processes.fast_settings",
            "CLOCK_BEGAN": str(time.time()),
            "ALERT_CA_BUNDLE": receiver.bundle,
            "ALERT_PRIVATE_HOSTS": "127.0.0.1",
            "MAIL_FOLDER": str(tmp_path / "mails"),
            "REDIS_URL": servers.valkey(),
            "RESTORE_MARK_FILE": str(tmp_path / "mark"),
            "TIME_SCALE": "1",
            "CARRIER_DEADLINE": "600",
            "SITE_URL": receiver.url.rstrip("/"),
            "ALERT_EMAILS": "oncall@portal.example",
            "ALERT_WEBHOOK_URL": f"{receiver.url}alerts",
            "HEARTBEAT_URL": f"{receiver.url}beat",
            "ALERT_REPEAT_HOURS": "999",
            **ONCE,
        }
        with portal:
            yield Night(portal, servers, carrier, receiver, tmp_path / "mails")


@pytest.mark.nightly  # by day tests/staff/test_alerts.py and test_repeated_causes.py have each cause in one process
def test_each_cause_alerts_once_in_time_says_what_to_do_and_clears_once(night: Night, tmp_path: Path) -> None:
    portal, carrier = night.portal, night.carrier
    booked = portal.submit(1)
    until(lambda: portal.orders()[booked[0]] == "booked" and portal.labels_stored(), seconds=60, what="its label")
    carrier.trouble("book", "413")
    refused = portal.submit(1)
    until(lambda: portal.orders()[refused[0]] == "rejected", seconds=60, what="it is refused for a fault of ours")
    carrier.trouble("book", "401", count=999)
    portal.submit(3)
    until(lambda: "carrieraccount-stopped" in night.recorded("opened"), seconds=60, what="the stopped account pages")
    until(lambda: night.subjects(), seconds=30, what="its mail is sent, so the worker has nothing in hand")
    portal.kill("worker")
    portal.run("-m", "tests.processes.causes", "begin")

    until(lambda: night.recorded("opened").keys() >= CAUSES.keys(), seconds=180, what="each cause calls")
    opened = night.recorded("opened")
    assert opened.keys() == CAUSES.keys()
    for name, (severity, minutes, words) in CAUSES.items():
        said = opened[name]
        assert (said["severity"], words in said["next_step"]) == (severity, True), name
        if minutes is not None and said["oldest"]:
            waited = dt.datetime.fromisoformat(said["at"]) - dt.datetime.fromisoformat(said["oldest"])
            assert minutes * MINUTE <= waited <= minutes * MINUTE + SLOW, name

    until(lambda: night.subjects().total() == len(CAUSES), seconds=60, what="each has its mail")

    (tmp_path / "renewed").mkdir()
    renewed = own_certificate(tmp_path / "renewed", days=90)
    night.receiver.renew(renewed)
    carrier.clear()
    portal.kill("sweep")
    night.falls_silent()
    portal.env |= {**RIGHT, "ALERT_CA_BUNDLE": str(renewed.bundle)}
    portal.run("-m", "tests.processes.causes", "end")
    portal.start_workers()

    until(lambda: night.recorded("closed").keys() >= CAUSES.keys(), seconds=180, what="each of them clears")
    assert night.recorded("opened").keys() == night.recorded("closed").keys() == CAUSES.keys()
    night.beats_again()
    until(lambda: night.subjects().total() >= 2 * len(CAUSES), seconds=60, what="each has its mail")
    assert set(night.subjects().values()) == {1}, night.subjects()


def test_a_lost_database_stops_the_heartbeat_until_it_is_back(night: Night) -> None:
    night.beats_again()
    night.servers.stop("postgres")
    night.falls_silent()
    assert night.portal.running["sweep"].poll() is None
    night.servers.start("postgres")
    night.beats_again()
    assert night.recorded("opened").keys() <= AT_FIRST
