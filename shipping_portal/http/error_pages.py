"""Show error pages, and log browsers' reports of content security policy violations.

Django's own 400 and 500 handlers read the CSRF secret from the session, which doesn't exist yet if
a request fails early.
"""

import json
import re
import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shipping_portal.accounts.access import FromElsewhere, public
from shipping_portal.accounts.login import security_events
from shipping_portal.accounts.login.seeing_as import OnlyLooking

KEY = re.compile(r"[0-9a-f-]{36}")  # of a draft or an order, as forms contain it
logger = structlog.get_logger("security")
LARGEST_REPORT = 8 * 1024
REPORTS_A_MINUTE = 20  # limit per process; a broken extension sends thousands


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The person was logged out while the request ran. It may have taken effect.
    if isinstance(exception, SessionInterrupted):
        return redirect(settings.LOGIN_URL)
    return HttpResponse(render_to_string("400.html"), status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Show the request id from the log, for the person to quote to the operator."""
    context = {"request_id": getattr(request, "id", ""), "contact_email": settings.CONTACT_EMAIL}
    return HttpResponse(render_to_string("500.html", context), status=500)


def denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    security_events.record_event(
        "denied", request, user=_person_of(request), detail=request.path[:200]
    )
    why = {
        "is_from_elsewhere": isinstance(exception, FromElsewhere),
        "only_looks": isinstance(exception, OnlyLooking),
        "is_admin": request.path.startswith(reverse("admin:index")),
    }
    return render(request, "403.html", why, status=403)


@never_cache
def expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form after its login has ended. Give back what was typed, which wasn't saved."""
    _, _, page = request.headers.get("Referer", "").partition(f"//{request.get_host()}")
    context = {"typed": _typed_texts(request), "back": page if _is_ours(request) else ""}
    return render(request, "403_csrf.html", context, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 404. If a form's object has since been deleted, give back what was typed."""
    # If its CSRF token wasn't checked, nobody has read the body, and it may be unreadable.
    is_read = getattr(request, "csrf_processing_done", False)
    typed = _typed_texts(request) if is_read else ""
    # A single word is a button's value.
    is_text = len(typed.split()) > 1
    return render(request, "404.html", {"typed": typed if is_text else ""}, status=404)


def _is_ours(request: HttpRequest) -> bool:
    """Return whether our own page sent this. Otherwise another site could make us show its text."""
    return request.headers.get("Sec-Fetch-Site") == "same-origin"


def _typed_texts(request: HttpRequest) -> str:
    """Return the form's values, one per line, without passwords, codes and keys."""
    if not _is_ours(request):
        return ""
    return "\n".join(
        value.strip()
        for name, values in request.POST.lists()
        if name not in {"csrfmiddlewaretoken", "code"} and "password" not in name
        for value in values
        if value.strip() and not KEY.fullmatch(value)
    )


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Answer requests over allauth's rate limits."""
    security_events.record_event("requests slowed down", request, user=_person_of(request))
    return render(request, "429.html", status=429)


def _person_of(request: HttpRequest) -> Any:
    user = getattr(request, "user", None)
    return user if user is not None and user.is_authenticated else None


class Allowance:
    """A limit per minute in this process."""

    def __init__(self, most: int) -> None:
        self.most, self.minute, self.count = most, 0, 0

    def is_left(self) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self.minute:
            self.minute, self.count = minute, 0
        self.count += 1
        return self.count <= self.most


allowance = Allowance(REPORTS_A_MINUTE)


@public
@csrf_exempt
@require_POST
def csp_report(request: HttpRequest) -> HttpResponse:
    """Log a page's policy violation, up to a limit per minute; always answer 204."""
    if allowance.is_left() and (report := _read_violation(request)):
        logger.warning("csp_report", **report)
    return HttpResponse(status=204)


def _read_violation(request: HttpRequest) -> dict[str, str]:
    """Return the directive, page and blocked address, both addresses without queries."""
    try:
        body = request.read(LARGEST_REPORT + 1)
        found = json.loads(body if len(body) <= LARGEST_REPORT else b"")["csp-report"]
        names = {
            "directive": "effective-directive",
            "page": "document-uri",
            "blocked": "blocked-uri",
        }
        return {
            name: str(found.get(theirs, ""))[:200].partition("?")[0]
            for name, theirs in names.items()
        }
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OSError,
        RequestDataTooBig,
    ):
        return {}
