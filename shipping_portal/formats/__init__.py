"""Format the admin's times: one format, with the zone, on Django's pages and in our sentences."""

import datetime as dt

from django.utils import timezone


def admin_time(at: dt.datetime | None, *, seconds: bool = False) -> str:
    """Return a time in the operators' zone, for the admin: "22 Nov 2026, 20:05 UTC"."""
    form = "%-d %b %Y, %H:%M:%S %Z" if seconds else "%-d %b %Y, %H:%M %Z"
    zone = timezone.get_default_timezone()
    return at.astimezone(zone).strftime(form) if at else "an unknown time"


def hours_and_minutes(span: dt.timedelta) -> str:
    """Return a duration to the nearest minute: "10:30"."""
    return "{}:{:02}".format(*divmod(round(span.total_seconds() / 60), 60))
