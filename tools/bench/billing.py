"""Measure how fast the carrier's report is read and posted, on tables without statistics."""

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from tools.bench.webhooks import bench_settings

LINES, FEWER = 99_000, 10_000  # a report may have 100,000, its total among them
READ, MOST_MB, LINEAR = 5000, 150, 1.5  # lines a second; of the process; seconds a line ÷ those of a tenth of them
STEP = "import sys, django; django.setup(); from tools.bench import billing; billing.{}(int(sys.argv[1]))"
HEADER = "Type,Paid,Refund Reason,Reference,Customer Reference,Price,Currency,Order Date,Refund Date,Warranty Price\r\n"


def measure(full: str) -> bool:
    """Measure it on the full portal and print it."""
    fewer, all_of_them = (_run(full, lines) for lines in (FEWER, LINES))
    rate = all_of_them["lines"] / all_of_them["read"]
    growth = all_of_them["post"] / all_of_them["lines"] / (fewer["post"] / fewer["lines"])
    return all([
        tell(f"a report of {all_of_them['lines']:,} lines read", f"{rate:.0f}/s", f"{READ}/s", rate >= READ),
        tell("memory of its worker", f"{all_of_them['mb']:.0f} MB", f"{MOST_MB} MB", all_of_them["mb"] <= MOST_MB),
        tell(f"posted in {all_of_them['post']:.1f} s; a line ÷ one of {fewer['lines']:,}", f"{growth:.2f}",
              f"{LINEAR}", growth <= LINEAR),
    ])  # fmt: skip


def _run(url: str, lines: int) -> dict[str, float]:
    """Upload a report as the web does, then read and post it in a separate process, like a worker."""
    return _step(url, "read_and_post", _step(url, "take", lines))


def _step(url: str, name: str, number: int) -> Any:
    command = [sys.executable, "-c", STEP.format(name), str(number)]
    env = {**os.environ, **bench_settings(url), "LOG_LEVEL": "ERROR"}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def tell(name: str, found: str, goal: str, is_good: bool) -> bool:
    """Print one figure with its goal; return whether it is met."""
    print(f"{name:<48} {found:>10}   goal {goal:>8}{'' if is_good else '   OVER'}", flush=True)
    return is_good


def take(lines: int) -> None:
    """Upload a report of this many parcels, each with cover; print its key."""
    from django.db import connection  # noqa: PLC0415  (once Django is set up)
    from django.utils import timezone  # noqa: PLC0415

    from orders.calling import gateway  # noqa: PLC0415
    from shipping_portal.billing.reports import uploads  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE billing_charge SET (autovacuum_enabled = false)")
        cursor.execute("SELECT count(*) FROM orders_order WHERE carrier_reference LIKE 'SB%'")
        lines = min(lines, lines * cursor.fetchone()[0] // LINES)  # each bills its own parcel
    rows = [f"Order Invoiced,Paid,,SB{n:07d},,{12 + n % 7}.40,AUD,2026-11-18,,1.10\r\n" for n in range(lines)]
    total = sum(12 + n % 7 for n in range(lines)) + lines * 2 / 5
    content = f"{HEADER}{''.join(rows)}Total,,,,,{total:.2f},AUD,,,\r\n".encode()
    print(uploads.store_report(gateway.current_account(), f"{lines}.csv", content, by=None, now=timezone.now()).pk)


def read_and_post(key: int) -> None:
    """Read and post this report; print its lines, the seconds of each, and the most memory in MB."""
    from django.utils import timezone  # noqa: PLC0415  (once Django is set up)

    from shipping_portal.billing.models import BillingReport  # noqa: PLC0415
    from shipping_portal.billing.reports import checking, posting  # noqa: PLC0415
    from shipping_portal.ops import starting  # noqa: PLC0415

    starting.begin_work()
    report, seconds = BillingReport.objects.get(pk=key), {}
    for name, act in (
        ("read", lambda: checking.read_due_report(report.pk)),
        ("post", lambda: posting.post_report(report, by=None, now=timezone.now())),
    ):
        began = time.perf_counter()
        act()
        seconds[name] = time.perf_counter() - began
        report.refresh_from_db()
    if report.state != "posted":
        raise SystemExit(f"the report is {report.state}: {report.problems}")
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**seconds, "lines": report.rows, "mb": mb}))
