"""The operators' queues about labels, prices and the daily limit; see adminkit/queues.py."""

import datetime as dt

from django.db.models import Exists, OuterRef, Q

from orders.models import Label
from orders.models.statuses import STILL_AT_SENDER, Status
from shipping_portal.accounts.adminkit.queues import AT_ONCE, DAY, WEEK, Wait


def not_read_in_full(now: dt.datetime) -> Q:
    """Return calls of the last days whose reply had rows we could not read: services that senders aren't offered."""
    return Q(unreadable__gt=0, at__gte=now - 2 * DAY)  # longer than its term, or it could never be overdue


def label_missing(now: dt.datetime) -> Q:
    """Return the labels we could not get, of parcels yet to leave; a size is left out where another one is there."""
    others = Label.objects.filter(order=OuterRef("order"), state__in=[Label.State.STORED, Label.State.PENDING])
    has_none = Q(~Exists(others), state=Label.State.ABSENT)
    missing = Q(state__in=[Label.State.ABSENT, Label.State.FAILED])  # in the words of the index
    needed = Q(order__status=Status.BOOKED, order__progress__in=STILL_AT_SENDER)
    return Q(missing & needed, Q(state=Label.State.FAILED) | has_none)


def _refused_today(now: dt.datetime) -> Q:
    """Return days on which the limit refused somebody, and that are still under way somewhere on earth."""
    return Q(refused_at__isnull=False, day__gte=(now - dt.timedelta(hours=12)).date())


CALLS = {
    "reading": Wait(
        "Unreadable prices",
        not_read_in_full,
        "Senders can't see these services. Run carrier_contract --probe to see which, then fix the contract file.",
        "at",
    )
}
LABELS = {
    "fetching": Wait(
        "Labels not fetched",
        label_missing,
        "The parcel is booked, but the sender can't print. Press Fetch again, or ask the carrier for the file.",
        "order__booked_at",
        term=dt.timedelta(hours=1),
    )
}
SPENDING = {
    "room": Wait(
        "Daily money limit reached",
        _refused_today,
        "The rest waits until midnight, sender's time. To release it sooner, raise DAILY_MONEY_LIMIT and restart.",
        "refused_at",
        term=AT_ONCE,
    ),
    "recount": Wait(
        "Limit counters corrected",
        lambda now: Q(mended_at__gte=now - 2 * WEEK),
        "A counter didn't match its orders, or a week its charges. Find “recounted” in the audit log and report it.",
        "mended_at",
        term=WEEK,
    ),
}
