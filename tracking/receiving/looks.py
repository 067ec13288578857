"""Poll a parcel because a webhook says so: immediately, but at most every 20 seconds."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import transaction

from shipping_portal.jobs.models import UNDER_WAY
from shipping_portal.jobs.registry import enqueue
from tracking.models import Parcel, Poll

APART = dt.timedelta(seconds=20 * settings.TIME_SCALE)  # three a minute
GIVE_UP = dt.timedelta(days=1)


def request_poll(parcel: int, *, now: dt.datetime) -> None:
    """Make this parcel's poll due now, or as soon as it may be polled again."""
    if not Poll.objects.filter(pk=parcel).exists():
        _make_poll(parcel)
    with transaction.atomic():
        poll = Poll.objects.select_for_update().get(pk=parcel)
        at = _next_look(poll.look_due_at, now)
        changes: dict[str, Any] = {"due_at": min(poll.due_at or at, at)}
        if poll.last_error == UNDER_WAY and poll.due_at and poll.due_at > now:
            # The poll in progress may have asked too early. Once `due_at` has changed, that poll
            # writes nothing when it ends, as if it had never begun.
            changes = {"due_at": at, "failures": poll.failures - 1, "last_error": ""}
        Poll.objects.filter(pk=parcel).update(look_due_at=at, **changes)
    if at <= now:
        enqueue("poll", parcel)


@transaction.atomic
def _make_poll(parcel: int) -> None:
    """Make a parcel's poll, unless another process does."""
    # Opening a parcel locks it and then makes its poll; in the opposite order the two would
    # deadlock.
    Parcel.objects.select_for_update(no_key=True).get(pk=parcel)
    Poll.objects.get_or_create(parcel_id=parcel)


def is_poll_unanswered(poll: Poll, *, now: dt.datetime) -> bool:
    """Return whether a webhook asked for a poll that hasn't been answered yet."""
    at, polled_at = poll.look_due_at, poll.polled_at
    return at is not None and now - GIVE_UP < at <= now and (polled_at is None or polled_at < at)


def _next_look(last: dt.datetime | None, now: dt.datetime) -> dt.datetime:
    """Return when the next such poll may start; one that is already planned is enough."""
    if last is None or last > now:
        return last or now
    return max(now, last + APART)
