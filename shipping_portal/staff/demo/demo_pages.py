"""Add the demo's own pages: a bar that controls the sandbox carrier, and its mail.

Available with DEMO=1, from this machine. Actions go to the sandbox's control pages; its bill is
uploaded like any other.
"""

import email
import email.policy
import json
import re
import urllib.request
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.management import call_command
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from shipping_portal.accounts import demo
from shipping_portal.accounts.access import public

MOST_MAILS = 30
ADDRESS = re.compile(r"(https?://\S+)")


@public
@never_cache
@require_safe
def mail(request: HttpRequest) -> HttpResponse:
    """Show the newest mails in the demo's folder, as text with links."""
    _only_here(request)
    folder = Path(getattr(settings, "EMAIL_FILE_PATH", "") or "/nowhere")
    files = sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime, reverse=True)[
        :MOST_MAILS
    ]
    mails = [_read_mail(text) for file in files for text in reversed(_split_mails(file))]
    return render(request, "demo_mail.html", {"mails": mails[:MOST_MAILS]})


@public
@require_POST
def act(request: HttpRequest, name: str) -> HttpResponse:
    """Make the sandbox carrier do something, report the result, and return to the page."""
    _only_here(request)
    if name not in ACTS:
        raise Http404
    messages.success(request, ACTS[name]())
    back = request.POST.get("back", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, {request.get_host()}) else "home")


def _only_here(request: HttpRequest) -> None:
    if not demo.is_here(request):
        raise Http404


def _move_parcels(switch: str, members: dict[str, Any], done: str, waits_for: str) -> str:
    moved = _turn_switch(switch, members)["parcels"]
    return done.format(moved) if moved else f"Nothing waits {waits_for}."


def _lose_the_reply() -> str:
    _turn_switch("trouble", {"operation": "book", "verb": "commit-close", "count": 1})
    return "The carrier will book the next parcel, and its reply will be lost on the way."


def _bill_the_week() -> str:
    call_command(
        "billing_import",
        _turn_switch("report", {})["path"],
        "--post",
        verbosity=0,
        stdout=StringIO(),
    )
    return "The carrier's report since the last one is taken in and posted."


ACTS: dict[str, Callable[[], str]] = {
    "driver-comes": partial(
        _move_parcels,
        "driver",
        {"missed": False},
        "The driver picked up {}. Scans arrive within a minute.",
        "for a driver",
    ),
    "driver-misses": partial(
        _move_parcels,
        "driver",
        {"missed": True},
        "No driver came for {}. Another one comes in ten minutes.",
        "for a driver",
    ),
    "drop-off": partial(
        _move_parcels,
        "drop_off",
        {},
        "You dropped off {}. Scans arrive within a minute.",
        "to be dropped off",
    ),
    "lose-the-reply": _lose_the_reply,
    "bill-the-week": _bill_the_week,
}


def _turn_switch(what: str, members: dict[str, Any]) -> Any:
    """Send a command to the sandbox carrier, which accepts it from this machine only."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"{settings.CARRIER_BASE_URL}/_sandbox/{what}"
    with direct.open(url, data=json.dumps(members).encode(), timeout=30) as reply:
        return json.load(reply)


def _split_mails(file: Path) -> list[str]:
    """Split a file of Django's file-based backend, which ends each mail with a line of dashes."""
    return [
        text
        for text in re.split(r"^-{79}\n", file.read_text(errors="replace"), flags=re.M)
        if text.strip()
    ]


def _read_mail(text: str) -> dict[str, Any]:
    found = email.message_from_string(text, policy=email.policy.default)
    plain = found.get_body(("plain",))
    parts = ADDRESS.split(plain.get_content() if plain else "")
    sent_at = parsedate_to_datetime(found["Date"])
    return {"to": found["To"], "subject": found["Subject"], "sent_at": sent_at, "parts": parts}
