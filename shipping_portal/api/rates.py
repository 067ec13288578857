"""Put the account's limits and the time to retry into headers."""

import datetime as dt
import math

from orders.booking import bookings, limits
from orders.calling import waiting
from orders.quoting import asking
from orders.views.responses import error_sentence
from shipping_portal.accounts.models import Sender
from shipping_portal.api.problems import ApiProblem

DAY_SECONDS = 86_400
AGAIN_SECONDS = 60  # seconds, if the real time is unknown


def unavailable_problem(error: Exception, sender: Sender, now: dt.datetime) -> ApiProblem:
    """Return the problem that prevents prices or a booking now, with when to retry."""
    kind, wait = "unavailable", getattr(error, "retry_after", None) or AGAIN_SECONDS
    headers = {}
    match error:
        case asking.TooManyQuotes():
            kind, headers = "limit", quote_headers(sender, now)
            wait = _seconds_of_minute(sender, now)
        case bookings.LimitReached():
            kind, headers = "limit", booking_headers(sender, now)
            wait = _seconds_of_day(sender, now) if is_daily_limit(error) else None
        case waiting.Full(page_status=status):
            kind, wait = ("limit" if status == 429 else kind), waiting.AGAIN_SECONDS
    if wait is not None:
        headers["Retry-After"] = str(math.ceil(wait))
    return ApiProblem(kind, error_sentence(error, sender), headers=headers)


def is_daily_limit(error: bookings.LimitReached) -> bool:
    """Return whether the limit resets at midnight; others wait for a bill or a person."""
    return error.limit.endswith("_a_day") or error.limit == "all_senders"


def quote_headers(sender: Sender, now: dt.datetime) -> dict[str, str]:
    """Return headers with how many more prices may be requested this minute."""
    sender.refresh_from_db(fields=["minute_began_at", "quotes_this_minute", "quotes_a_minute"])
    is_this = sender.minute_began_at and now - sender.minute_began_at < limits.MINUTE
    used = sender.quotes_this_minute if is_this else 0
    return _headers("quotes", sender.quotes_a_minute, 60, used, _seconds_of_minute(sender, now))


def booking_headers(sender: Sender, now: dt.datetime) -> dict[str, str]:
    """Return headers with how many more parcels may be booked today, in the sender's zone."""
    sender.refresh_from_db(fields=["counted_on", "booked_today"])
    own, most = sender.own_bookings_a_day, sender.bookings_a_day
    return _headers(
        "bookings",
        most if own is None else min(own, most),
        DAY_SECONDS,
        limits.count_used(sender, now)["booked_today"],
        _seconds_of_day(sender, now),
    )


def _headers(name: str, most: int, window: int, used: int, left: int) -> dict[str, str]:
    return {
        "RateLimit-Policy": f'"{name}";q={most};w={window}',
        "RateLimit": f'"{name}";r={max(0, most - used)};t={left}',
    }


def _seconds_of_minute(sender: Sender, now: dt.datetime) -> int:
    began = sender.minute_began_at or now
    return max(1, math.ceil((began + limits.MINUTE - now).total_seconds()))


def _seconds_of_day(sender: Sender, now: dt.datetime) -> int:
    opens = dt.datetime.combine(limits.next_day(sender, now), dt.time(), sender.tzinfo)
    return math.ceil((opens - now).total_seconds())
