"""Break things: carry out a plan's strikes, each after a certain number of accepted bookings."""

import datetime as dt
import threading
import time
from collections import Counter
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from orders.models import BookingAttempt, CancelAttempt
from tools.campaign.actors import Done
from tools.campaign.plan import Plan, Strike
from tools.campaign.servers import LEASE_SECONDS, Servers

AHEAD = 12  # bookings that may be in progress beyond the next strike, so that it finds work
SOON = 3.0  # seconds to wait for a call to strike in
ARGUMENTS: dict[str, float | str] = {"commit-hang": 30.0, "sleep-commit": 6.0, "drip-body": 0.5, "307": "other"}


class Nemesis(threading.Thread):
    """Runs beside the actors; `done` holds every strike that was carried out."""

    def __init__(self, servers: Servers, plan: Plan, done: Done) -> None:
        super().__init__(name="nemesis", daemon=True)
        self.servers, self.plan, self.work = servers, plan, done
        self.done: list[Strike] = []
        self.problems: list[str] = []
        self.kinds: dict[str, Callable[[str, float], None]] = {
            "kill": self._kill,
            "kill child": self._kill_child,
            "kill in call": self._kill_in_call,
            "kill web in publish": self._kill_web_in_publish,
            "stop": self.servers.stop_for,
            "stop in call": self._stop_in_call,
            "stop in cancel": self._stop_in_cancel,
            "restart at once": self._restart_at_once,
            "flush": self._flush,
            "trouble": self._trouble,
        }

    def run(self) -> None:
        for number, strike in enumerate(self.plan.strikes):
            if number == len(self.plan.strikes) // 2 and self.servers.writes_bills:
                self.servers.tell_carrier("report")  # so that some are cancelled, and used, after they were billed
            self.work.pace = strike.after + AHEAD
            while len(self.work.orders) < strike.after and self.work.asked < self.work.wanted:
                time.sleep(0.02)
            try:
                self.kinds[strike.kind](strike.target, strike.leases * LEASE_SECONDS)
            except Exception as problem:  # noqa: BLE001  (a strike that failed voids the run; the others go on)
                self.problems.append(f"{strike}: {type(problem).__name__}: {problem}")
            self.done.append(strike)
        self.work.pace = self.work.wanted
        connection.close()

    def counts(self) -> Counter[str]:
        return Counter(f"{strike.kind} {strike.target}" for strike in self.done)

    def _kill(self, name: str, _: float = 0.0) -> None:
        self.servers.kill(name)
        self.servers.start(name)

    def _kill_child(self, name: str, _: float) -> None:
        self.servers.kill_child(name)

    def _kill_in_call(self, name: str, _: float) -> None:
        """Kill the worker that waits for the carrier's answer after it has booked."""
        self.servers.tell_carrier("trouble", operation="book", verb="commit-hang", count=6, arg=30.0)
        self._wait_for(lambda: _in_flight() >= 2)
        self._kill(name)

    def _kill_web_in_publish(self, name: str, _: float) -> None:
        """Kill the web server while it waits for a silent broker: after its commit, before its message."""
        self.servers.stop_for("valkey", 1.5)
        time.sleep(0.4)
        self._kill(name)

    def _stop_in_call(self, name: str, seconds: float) -> None:
        """Stop both workers past their leases with calls in flight; they wake to finish them."""
        self.servers.tell_carrier("trouble", operation="book", verb="slow", count=8, arg=1.5)
        self._wait_for(lambda: _in_flight() >= 4)
        self._stop_both(name, seconds)
        time.sleep(seconds + 1.0)  # nothing else strikes in that time: a killed worker never wakes

    def _stop_in_cancel(self, name: str, seconds: float) -> None:
        self.servers.tell_carrier("trouble", operation="cancel", verb="slow", count=2, arg=1.0)
        self._wait_for(lambda: CancelAttempt.objects.filter(state=CancelAttempt.State.IN_FLIGHT).exists())
        self._stop_both(name, seconds)

    def _stop_both(self, name: str, seconds: float) -> None:
        for worker in (name, "worker-b"):
            self.servers.stop_for(worker, seconds)

    def _restart_at_once(self, name: str, _: float) -> None:
        self.servers.restart_at_once(name)

    def _flush(self, name: str, _: float) -> None:
        self.servers.flush_broker()

    def _trouble(self, target: str, _: float) -> None:
        operation, _, verb = target.partition(":")
        self.servers.tell_carrier("trouble", operation=operation, verb=verb, count=4, arg=ARGUMENTS.get(verb))

    def _wait_for(self, there: Callable[[], bool]) -> None:
        """Wait for a call in flight. If there is none soon, strike between calls."""
        ends_at = time.monotonic() + SOON
        while time.monotonic() < ends_at:
            try:
                if there():
                    return
            except (DatabaseError, InterfaceError):
                connection.close()
            time.sleep(0.03)


def _in_flight() -> int:
    """Return calls that have been in flight for a moment."""
    since = timezone.now() - dt.timedelta(seconds=0.3)
    return BookingAttempt.objects.filter(state=BookingAttempt.State.IN_FLIGHT, sent_at__lte=since).count()
