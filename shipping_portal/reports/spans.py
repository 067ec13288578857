"""The days that are counted, the weeks a report is about, and the weeks before them that it is compared with."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from shipping_portal.billing.models import week_of

CHOICES = (4, 13, 52)
USUAL = 13


@dataclass(frozen=True)
class Days:
    """From the first day through the last. All days are the sender's own, in their zone."""

    first: dt.date
    last: dt.date
    zone: ZoneInfo

    @property
    def start(self) -> dt.datetime:
        return self._midnight(self.first)

    @property
    def end(self) -> dt.datetime:
        """The first instant after it."""
        return self._midnight(self.last + dt.timedelta(days=1))

    def holds(self, day: dt.date) -> bool:
        return self.first <= day <= self.last

    def day_of(self, at: dt.datetime) -> dt.date:
        """Return the date on the sender's wall."""
        return at.astimezone(self.zone).date()

    def _midnight(self, day: dt.date) -> dt.datetime:
        return dt.datetime.combine(day, dt.time(), self.zone).astimezone(dt.UTC)


@dataclass(frozen=True)
class Span(Days):
    """So many weeks up to and with the last day. The first is a Monday."""

    weeks: int

    @classmethod
    def until(cls, today: dt.date, weeks: int, zone: ZoneInfo) -> "Span":
        """Return the week that runs, as far as it has come, and the full ones in front of it."""
        return cls(week_of(today) - dt.timedelta(weeks=weeks - 1), today, zone, weeks)

    @property
    def before(self) -> "Span":
        """As many weeks directly in front, ending on the same weekday, so that both are equally long."""
        back = dt.timedelta(weeks=self.weeks)
        return Span(self.first - back, self.last - back, self.zone, self.weeks)


def weeks_asked(text: str) -> int:
    """Return the weeks in an address; what nobody could have chosen is the usual."""
    return next((weeks for weeks in CHOICES if str(weeks) == text), USUAL)
