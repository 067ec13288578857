"""Define the operators' queues about labels, prices and the daily limit."""

import datetime as dt

from django.db.models import Exists, OuterRef, Q

from orders.models import Label
from orders.models.statuses import STILL_AT_SENDER, Status
from shipping_portal.accounts.adminkit.queues import AT_ONCE, DAY, WEEK, Wait


def not_read_in_full(now: dt.datetime) -> Q:
    """Match recent calls with rows that we couldn't read: senders aren't offered those services."""
    # longer than its response time, or it could never be overdue
    return Q(unreadable__gt=0, at__gte=now - 2 * DAY)


def label_missing(now: dt.datetime) -> Q:
    """Match labels we couldn't get for parcels that haven't left, unless there is another size."""
    others = Label.objects.filter(
        order=OuterRef("order"), state__in=[Label.State.STORED, Label.State.PENDING]
    )
    has_none = Q(~Exists(others), state=Label.State.ABSENT)
    missing = Q(state__in=[Label.State.ABSENT, Label.State.FAILED])  # exactly as the index has it
    needed = Q(order__status=Status.BOOKED, order__progress__in=STILL_AT_SENDER)
    return Q(missing & needed, Q(state=Label.State.FAILED) | has_none)


def _refused_today(now: dt.datetime) -> Q:
    """Match days with a refusal by the limit, if they are still today somewhere on earth."""
    return Q(refused_at__isnull=False, day__gte=(now - dt.timedelta(hours=12)).date())


CALLS = {
    "reading": Wait(
        "Unreadable prices",
        not_read_in_full,
        "Senders can't see these services. Run carrier_contract --probe to see which, then fix the"
        " contract file.",
        "at",
    )
}
LABELS = {
    "fetching": Wait(
        "Labels not fetched",
        label_missing,
        "The parcel is booked, but the sender can't print. Press Fetch again, or ask the carrier"
        " for the file.",
        "order__booked_at",
        term=dt.timedelta(hours=1),
    )
}
SPENDING = {
    "room": Wait(
        "Daily money limit reached",
        _refused_today,
        "The rest waits until midnight, sender's time. To release it sooner, raise"
        " DAILY_MONEY_LIMIT and restart.",
        "refused_at",
        term=AT_ONCE,
    ),
    "recount": Wait(
        "Limit counters corrected",
        lambda now: Q(mended_at__gte=now - 2 * WEEK),
        "A counter didn't match its orders, or a week its charges. Find “recounted” in the audit"
        " log and report it.",
        "mended_at",
        term=WEEK,
    ),
}
