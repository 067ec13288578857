"""Measure how fast a list is exported and a whole account packed, and how much memory that takes."""

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from tools.bench.billing import tell
from tools.bench.webhooks import bench_settings

ROWS, MOST_SECONDS, OF, MOST_MB = 20_000, 180, 200_000, 250  # rows a second; seconds for OF parcels; memory
RUN = "import django; django.setup(); from tools.bench.exports import run; run()"


def measure(full: str) -> bool:
    """Measure it on the full portal and print it."""
    env = {**os.environ, **bench_settings(full)}
    done = subprocess.run([sys.executable, "-c", RUN], env=env, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    rate, seconds = found["parcels"] / found["list"], found["account"] * OF / found["parcels"]
    return all([
        tell(f"a list of {found['parcels']:,} parcels", f"{rate:,.0f}/s", f"{ROWS:,}/s", rate >= ROWS),
        tell(f"an account, for {OF:,} parcels", f"{seconds:.0f} s", f"{MOST_SECONDS} s", seconds <= MOST_SECONDS),
        tell("memory of both", f"{found['mb']:.0f} MB", f"{MOST_MB} MB", found["mb"] <= MOST_MB),
    ])  # fmt: skip


def run() -> None:
    """Export the bench's sender both ways, and print the seconds of each."""
    from django.conf import settings  # noqa: PLC0415  (once Django is set up)
    from django.test import Client  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from shipping_portal.accounts.models import User  # noqa: PLC0415
    from shipping_portal.exporting import packing  # noqa: PLC0415
    from tools.bench.pages import BACKEND  # noqa: PLC0415

    settings.ALLOWED_HOSTS = ["testserver"]
    mia = User.objects.get(email="mia@bench.example")
    client = Client()
    client.force_login(mia, backend=BACKEND)
    began = time.perf_counter()
    lines = sum(piece.count(b"\r\n") for piece in client.get("/parcels/export.csv", secure=True))
    listed = time.perf_counter() - began
    due = packing.request_export(mia.membership.sender, None, by=mia, now=timezone.now())
    began = time.perf_counter()
    packing.pack_due_export(due.pk)
    packed = time.perf_counter() - began
    due.refresh_from_db()
    if due.finished_at is None or due.done != lines - 1:
        raise SystemExit(f"packed {due.done} of {lines - 1}")
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"parcels": due.done, "list": listed, "account": packed, "mb": mb}))
