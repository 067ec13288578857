"""Measure how fast a worker reads stored webhooks, and how soon it reads them at half its required rate."""

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time

from tools.bench.load import HEADERS, body
from tools.bench.webhooks import Server, bench_settings, start, stop
from tools.dev.processes import ChildProcesses

READ = 400  # a second, of as many as were stored while that was measured, up to
MOST_READ = 20_000
RATE, SECONDS, CONNECTIONS, SOON_MS = READ / 2, 15.0, 4, 1000.0
UNTIL_IT_READS = 4.0  # seconds
PROGRAM = "import django; django.setup(); from tools.bench import reading; reading."


def measure(children: ChildProcesses, database: str) -> bool:
    """Measure the rate and print it; `database` is the address of the full portal."""
    count, seconds = _asked("read_all()", database)
    measured = [
        _tell(f"scans read, of {count:,.0f}", f"{count / seconds:.0f}/s", f"{READ}/s", is_good=count / seconds >= READ)
    ]
    server = start(children, "web", database)
    sending = [threading.Thread(target=_send, args=[server, first]) for first in range(CONNECTIONS)]
    for one in sending:
        one.start()
    waits = _asked(f"read_along({UNTIL_IT_READS + SECONDS})", database)
    for one in sending:
        one.join()
    stop(children, server)
    soon, is_all = statistics.quantiles(waits, n=20)[-1], len(waits) == RATE * SECONDS
    name = f"read while {RATE:.0f} a second come, p95"
    measured.append(_tell(name, f"{soon:.0f} ms", f"{SOON_MS:.0f} ms", is_good=is_all and soon <= SOON_MS))
    return all(measured)


def _tell(name: str, figure: str, goal: str, *, is_good: bool) -> bool:
    print(f"{name:<36} {figure:>10}{'':>28}goal {goal}{'' if is_good else '   OVER'}", flush=True)
    return is_good


def _asked(what: str, database: str) -> list[float]:
    """Call a function of this file in a separate process, and return what it printed."""
    env = {**os.environ, **bench_settings(database)}
    done = subprocess.run([sys.executable, "-c", PROGRAM + what], env=env, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _send(server: Server, first: int) -> None:
    """Send this connection's share of the webhooks, each at its time."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    begin = time.monotonic() + UNTIL_IT_READS
    for number in range(first, int(RATE * SECONDS), CONNECTIONS):
        time.sleep(max(begin + number / RATE - time.monotonic(), 0.0))
        connection.request("POST", "/webhooks/tracking/", body(number), HEADERS)
        connection.getresponse().read()


def read_all() -> None:
    """Read what is stored, up to MOST_READ, and print how many there were and how long it took."""
    from tracking.models import WebhookDelivery  # noqa: PLC0415
    from tracking.scanning import reading  # noqa: PLC0415  (once Django is set up)

    began, count = time.perf_counter(), 0
    while count < MOST_READ and (found := reading.read_due()):
        count += found
    print(json.dumps([count, time.perf_counter() - began]))
    # Otherwise the workers of the next measurement would read the rest.
    WebhookDelivery.objects.filter(due_at__isnull=False).update(due_at=None)


def read_along(seconds: float) -> None:
    """Read for this long as a worker does, and print how many milliseconds each webhook waited."""
    from django.utils import timezone  # noqa: PLC0415

    from tracking.models import WebhookDelivery  # noqa: PLC0415
    from tracking.scanning import reading  # noqa: PLC0415

    read, waits = reading.read_deliveries, list[float]()

    def noted(*keys: int) -> None:
        read(*keys)
        came = WebhookDelivery.objects.filter(pk__in=keys).values_list("received_at", flat=True)
        waits.extend((timezone.now() - at).total_seconds() * 1000 for at in came)

    reading.read_deliveries = noted
    reader = reading.WebhookReader()
    reader.start()
    time.sleep(seconds)
    reader.stop()
    print(json.dumps(waits))
