"""What polling found before a webhook told of it: the sign that deliveries get lost (interface §6, reliability 2.6)."""

import datetime as dt

from django.db.models import F, Q, QuerySet

from orders.models import CarrierAccount
from tracking.models import Parcel, TrackingEvent

WINDOW = dt.timedelta(hours=1)
ALARM = 3  # so many in one window
HEAD_START = dt.timedelta(minutes=1)  # a poll may overtake a delivery that is under way; that is no gap
LATE_AFTER = dt.timedelta(minutes=15)

POLLED_FIRST = Q(source=TrackingEvent.Source.POLL) & (
    Q(pushed_at=None) | Q(pushed_at__gt=F("received_at") + HEAD_START)
)
LATE = Q(pushed_at__gt=F("scan_time") + LATE_AFTER)


def owed() -> QuerySet[TrackingEvent]:
    """Scans the carrier owes us a webhook for: of its orders for us, and of what it follows for us, from then on."""
    subscribed = Q(parcel__subscription=Parcel.Subscription.ON, scan_time__gte=F("parcel__created_at"))
    return TrackingEvent.objects.filter(Q(parcel__order__isnull=False) | subscribed)


def found_first_by_polling(now: dt.datetime, *, within: dt.timedelta = WINDOW) -> QuerySet[TrackingEvent]:
    return owed().filter(POLLED_FIRST, received_at__gt=now - within, received_at__lte=now)


def is_alarmed(account: CarrierAccount, now: dt.datetime) -> bool:
    """Do the account's deliveries get lost? Another one's may come all the while.

    One query on the index of what polling found first; it never counts further than the alarm.
    """
    found = found_first_by_polling(now).filter(account=account)
    return len(found.values_list("pk", flat=True)[:ALARM]) == ALARM
