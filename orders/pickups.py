"""Nobody came: missed pickups told by the calendar, whatever words the carrier has for them (interface §3 rule 2)."""

import datetime as dt
from zoneinfo import ZoneInfo

from shipping_portal.accounts import places
from shipping_portal.carrier.messages import Party

MOST = 2  # from the second on a refund may apply; further ones change nothing


def day_at(pickup: Party, at: dt.datetime) -> dt.date:
    """The date where the parcel starts: the carrier plans its pickups by that, wherever the sender is (§8)."""
    return at.astimezone(ZoneInfo(places.zone(pickup.country, pickup.state, pickup.postcode))).date()


def misses(
    asked: dt.date | None, *, booked_on: dt.date, heard_on: dt.date | None, today: dt.date, where: tuple[str, str]
) -> int:
    """How many pickup days went by without a driver, counted up to two. All dates are those at the pickup address.

    `asked` is the pickup day; left blank it is the next business day (interface §2.1). `where` is the country and
    state whose holidays count. `heard_on` is the day of the last scan: one from after the pickup day, of whatever
    kind, shows that somebody has the parcel. The scans of the booking itself come before and show nothing.
    """
    day = asked or places.next_business_day(*where, after=booked_on)
    if today <= day or (heard_on is not None and heard_on > day):
        return 0
    second = places.next_business_day(*where, after=day)
    return MOST if today > second else 1
