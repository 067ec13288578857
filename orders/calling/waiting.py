"""Limit who waits for the carrier at a page: a few threads, two per user (docs/decisions/0023).

A page waits for prices, the signed link and an operator's verification; everything else is a job. A
slow carrier must not block other people's pages.
"""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from orders.calling.turns import BEGUN
from shipping_portal.accounts.models import User

PLACES = threading.BoundedSemaphore(max(settings.WEB_THREADS // 4, 1))
OF_A_PERSON = ("waits_until", "waits_also_until")
# No wait is longer than this: a verification asks twice. A process that was killed keeps a user's
# place this long.
LONGEST = dt.timedelta(seconds=2 * (settings.CARRIER_DEADLINE + BEGUN))
AGAIN_SECONDS = 5


class Full(Exception):
    """Raised when nobody else may wait.

    The text says why, and `page_status` is the page's status.
    """

    def __init__(self, why: str, status: int) -> None:
        super().__init__(f"{why}. Try again in {AGAIN_SECONDS} s.")
        self.page_status = status


full: ContextVar[Full | None] = ContextVar("full", default=None)


@contextmanager
def at_a_page(person: User) -> Iterator[None]:
    """Hold one of the places for waiting at a page. Raises Full."""
    with _place_of_the_process(), _place_of_a_person(person):
        yield


@contextmanager
def _place_of_the_process() -> Iterator[None]:
    if not PLACES.acquire(blocking=False):
        raise _noted(Full("Many people are asking the carrier right now", 503))
    try:
        yield
    finally:
        PLACES.release()


@contextmanager
def _place_of_a_person(person: User) -> Iterator[None]:
    """Hold one of the user's two places.

    They are in the user's row, so all processes share them, and they expire.
    """
    now = timezone.now()
    row, until = User.objects.filter(pk=person.pk), now + LONGEST
    free = (
        name
        for name in OF_A_PERSON
        if row.filter(Q((name, None)) | Q((f"{name}__lt", now))).update(**{name: until})
    )
    mine = next(free, None)
    if mine is None:
        raise _noted(Full("Two of your pages are waiting for the carrier already", 429))
    try:
        yield
    finally:
        row.filter(**{mine: until}).update(**{mine: None})


def _noted(error: Full) -> Full:
    full.set(error)
    return error


def say_when_to_come_back(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Set the status and Retry-After of any page that shows Full (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        full.set(None)
        response = get_response(request)
        error = full.get()
        if error:
            response.headers["Retry-After"] = str(AGAIN_SECONDS)
        # A redirect leads to a page that shows the message.
        if error and response.status_code in {200, 422}:
            response.status_code = error.page_status
        return response

    return middleware
