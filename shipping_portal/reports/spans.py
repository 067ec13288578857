"""Define the days and weeks of a report, and the weeks before for comparison."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from shipping_portal.billing.models import week_of

CHOICES = (4, 13, 52)
USUAL = 13


@dataclass(frozen=True)
class Days:
    """A range of days, from first to last, in the sender's zone."""

    first: dt.date
    last: dt.date
    zone: ZoneInfo

    @property
    def start(self) -> dt.datetime:
        return self._midnight(self.first)

    @property
    def end(self) -> dt.datetime:
        """Return the first instant after the last day."""
        return self._midnight(self.last + dt.timedelta(days=1))

    def holds(self, day: dt.date) -> bool:
        return self.first <= day <= self.last

    def day_of(self, at: dt.datetime) -> dt.date:
        """Return the date in the sender's zone."""
        return at.astimezone(self.zone).date()

    def _midnight(self, day: dt.date) -> dt.datetime:
        return dt.datetime.combine(day, dt.time(), self.zone).astimezone(dt.UTC)


@dataclass(frozen=True)
class Span(Days):
    """A number of weeks up to and including the last day. The first day is a Monday."""

    weeks: int

    @classmethod
    def until(cls, today: dt.date, weeks: int, zone: ZoneInfo) -> "Span":
        """Return the current week so far, and the full weeks before it."""
        return cls(week_of(today) - dt.timedelta(weeks=weeks - 1), today, zone, weeks)

    @property
    def before(self) -> "Span":
        """Return the same number of weeks just before, ending on the same weekday."""
        back = dt.timedelta(weeks=self.weeks)
        return Span(self.first - back, self.last - back, self.zone, self.weeks)


def weeks_asked(text: str) -> int:
    """Return the number of weeks in the query, or the default if it isn't on offer."""
    return next((weeks for weeks in CHOICES if str(weeks) == text), USUAL)
