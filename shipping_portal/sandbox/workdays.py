"""Count business days: no weekends, and no national holidays on which drivers are off."""

from datetime import date, timedelta


def is_business_day(day: date, country: str) -> bool:
    """Return whether drivers of ``country`` pick up on ``day``."""
    return day.weekday() < 5 and day not in _holidays(day.year, country)


def add_business_days(day: date, count: int, country: str) -> date:
    """Return the ``count``-th business day after ``day``."""
    while count:
        day += timedelta(days=1)
        count -= is_business_day(day, country)
    return day


def _holidays(year: int, country: str) -> set[date]:
    fixed = {
        "AU": ((1, 1), (1, 26), (4, 25), (12, 25), (12, 26)),
        "CA": ((1, 1), (7, 1), (12, 25)),
        "US": ((1, 1), (7, 4), (12, 25)),
    }.get(country, ((1, 1), (12, 25)))
    days = {date(year, month, day) for month, day in fixed}
    easter = _easter(year)
    if country in ("AU", "CA"):
        days.add(easter - timedelta(days=2))
    if country == "AU":
        days.add(easter + timedelta(days=1))
    if country == "US":
        days.add(_fourth_thursday_of_november(year))
    return days


def _fourth_thursday_of_november(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


def _easter(year: int) -> date:
    """Return Easter Sunday by the Gregorian computus (Meeus, Jones, Butcher)."""
    century = year // 100
    golden = year % 19
    skipped = century - century // 4 - (8 * century + 13) // 25
    epact = (19 * golden + skipped + 15) % 30
    epact -= (epact // 28) * (1 - (epact // 28) * (29 // (epact + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + epact + 2 - century + century // 4) % 7
    offset = epact - weekday
    month = 3 + (offset + 40) // 44
    return date(year, month, offset + 28 - 31 * (month // 4))
