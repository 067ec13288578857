"""Measure what an API call costs: GETs against bare django-ninja views, the POST against the page's.

A bare view is the same function, with the same queries, in a separate NinjaAPI: no token and no middleware,
because its member is known.
"""

import io
import json
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from tools.bench.webhooks import bench_settings

TIMES, WARM = 400, 50
MOST, BOOKED = 1.2, 1.1
RUN = "import django; django.setup(); from tools.bench.programs import run; run()"


def measure(full: str) -> bool:
    """Measure it on the full portal and print it."""
    done = subprocess.run(
        [sys.executable, "-c", RUN], env={**os.environ, **bench_settings(full)}, stdout=subprocess.PIPE, check=True
    )
    good = True
    for name, (ours, plain, goal) in json.loads(done.stdout.splitlines()[-1]).items():
        is_good = ours / plain <= goal
        good &= is_good
        print(
            f"{name:<36} {ours:>7.2f} ms {plain:>7.2f} ms {ours / plain:>6.2f} {'':>12}goal {goal:.2f}"
            f"{'' if is_good else '   OVER'}",
            flush=True,
        )
    return good


def run() -> None:
    """Print the median milliseconds of CPU of the calls: ours, the plain one's, and the goal."""
    from orders.models import Order  # noqa: PLC0415  (once Django is set up)
    from shipping_portal.accounts.models import User  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    mia = User.objects.get(email="mia@bench.example")
    mia.is_active = True
    order = Order.objects.filter(sender=mia.membership.sender, status="booked").latest("pk")
    token = factories.api_token(mia).text
    found = {}
    for name, path in (("a list of 50", "/parcels"), ("one parcel", f"/parcels/{order.uuid}")):
        ours, bare = _calls(path, token), _bare_calls(path, mia)
        found[f"API: {name} ÷ a bare view"] = (*_in_turn(ours, bare), MOST)
    found["API: a booking ÷ the page's"] = (*_in_turn(*_bookings(mia, token)), BOOKED)
    print(json.dumps(found))


def _in_turn(*calls: Callable[[], None]) -> list[float]:
    taken: list[list[float]] = [[] for _ in calls]
    for number in range(TIMES + WARM):
        for call, kept in zip(calls, taken, strict=True):
            began = time.process_time()
            call()
            if number >= WARM:
                kept.append(time.process_time() - began)
    return [statistics.median(kept) * 1000 for kept in taken]


def _calls(path: str, token: str) -> Callable[[], None]:
    from django.core.handlers.wsgi import WSGIHandler  # noqa: PLC0415

    return _asking(WSGIHandler(), f"/api/v1{path}", token)


def _bare_calls(path: str, user: Any) -> Callable[[], None]:
    from django.core.handlers.wsgi import WSGIHandler  # noqa: PLC0415
    from django.test import override_settings  # noqa: PLC0415

    from tools.bench import bare_programs  # noqa: PLC0415

    bare_programs.CALLER.update(user=user, membership=user.membership, sender=user.membership.sender)
    with override_settings(MIDDLEWARE=["tools.bench.bare_programs.as_caller"]):
        handler = WSGIHandler()
    return _asking(handler, path, "")


def _asking(handler: Any, path: str, token: str) -> Callable[[], None]:
    status = ""

    def note(line: str, headers: Any, exc_info: Any = None) -> None:
        nonlocal status
        status = line

    def ask() -> None:
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "127.0.0.1",
                   "SERVER_PORT": "80", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "https",
                   "HTTP_HOST": "127.0.0.1", "REMOTE_ADDR": "127.0.0.1",
                   "HTTP_AUTHORIZATION": f"Bearer {token}"}  # fmt: skip
        answer = handler(environ, note)
        text = b"".join(answer)
        if status[0] != "2":
            raise SystemExit(f"{path} answered {status}: {text[:300]!r}")
        answer.close()

    return ask


def _bookings(user: Any, token: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Book one more parcel with each call: through the API, and by the page's form. Both by Django's test client."""
    from django.test import Client  # noqa: PLC0415

    from tests import factories  # noqa: PLC0415
    from tools.bench.pages import BACKEND  # noqa: PLC0415

    sender = user.membership.sender
    type(sender).objects.filter(pk=sender.pk).update(bookings_a_day=100_000, money_a_day=None, unbilled_limit=10**9)
    quotes = [factories.quote(sender, user) for _ in range(2)]
    draft, browser, program = factories.draft(sender, user, quotes[1]), Client(), Client()
    browser.force_login(user, backend=BACKEND)
    chosen = {"product": "STANDARD-PICKUP", "another": True}

    def by_program() -> None:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid.uuid4())}
        sent = chosen | {"quote": str(quotes[0].uuid)}
        answer = program.post("/api/v1/parcels", sent, "application/json", headers=headers, secure=True)
        if answer.status_code != 202:
            raise SystemExit(f"a booking answered {answer.status_code}: {answer.content[:300]!r}")

    def by_page() -> None:
        form = chosen | {"form_token": str(uuid.uuid4())}
        answer = browser.post(f"/parcels/drafts/{draft.uuid}/prices/book/", form, secure=True)
        if answer.status_code != 302 or "/booking/" not in answer["Location"]:
            raise SystemExit(f"the page answered {answer.status_code}")

    return by_program, by_page
