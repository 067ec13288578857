"""Measure how fast labels are served, compared with a Django view that reads the same bytes by key."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tools.bench.webhooks import bench_settings, rates_of, tell
from tools.dev.processes import ChildProcesses

GOAL = 0.40
LABELS, LENGTH = 300, 60_000
PREPARING = "import sys, django; django.setup(); from tools.bench.labels import prepare; prepare(sys.argv[1])"


def measure(children: ChildProcesses, full: str) -> bool:
    """Measure it on the full portal and print it."""
    file = str(Path(children.logs) / "labels.json")
    subprocess.run([sys.executable, "-c", PREPARING, file], env={**os.environ, **bench_settings(full)}, check=True)
    rates = rates_of(children, {"plain": full, "portal": full}, file)
    return tell(f"labels of {LENGTH // 1000} kB ÷ a plain view", rates["portal"], rates["plain"], GOAL)


def prepare(file: str) -> None:
    """Make labels of realistic length for one sender, log a member in, and write their browser's requests."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: PLC0415  (once set up)

    from orders.models import Label, LabelBytes  # noqa: PLC0415
    from shipping_portal.accounts.login.session_store import SessionStore  # noqa: PLC0415
    from shipping_portal.accounts.models import User  # noqa: PLC0415
    from tools.bench.pages import BACKEND  # noqa: PLC0415

    mia, dice = User.objects.get(email="mia@bench.example"), random.Random(1)
    session = SessionStore()
    session.update({SESSION_KEY: str(mia.pk), BACKEND_SESSION_KEY: BACKEND, "began_at": time.time(), "device": "Phone"})
    session[HASH_SESSION_KEY] = mia.get_session_auth_hash()
    session.save()
    kept = Label.objects.filter(
        order__sender=mia.membership.sender, order__status="booked", size="full", purged_at=None
    )
    stored = kept.select_related("order").order_by("-pk")[:LABELS]
    for one in stored:
        content = dice.randbytes(LENGTH)
        kept.filter(pk=one.pk).update(sha256=hashlib.sha256(content).hexdigest(), length=LENGTH)
        LabelBytes.objects.filter(label=one).update(content=content)
    requests = [
        f"GET /parcels/{one.order.uuid}/label/full.pdf HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Row: {one.pk}\r\n"
        f"Cookie: session={session.session_key}\r\n\r\n"
        for one in stored
    ]
    Path(file).write_text(json.dumps(requests))
