"""What all senders together spend in a day."""

from decimal import Decimal

from django.db import models


class DailySpend(models.Model):
    """One day of the calendar: the orders that count for it, each on its own sender's day, in whatever currency.

    `refused_at`: DAILY_MONEY_LIMIT refused a booking, and nothing was counted since. `mended` counters of senders or
    of this table were found wrong on this day, and put right: see orders/limits.py.
    """

    day = models.DateField(unique=True)
    spent = models.DecimalField(max_digits=16, decimal_places=2, default=Decimal(0))
    refused_at = models.DateTimeField(null=True, blank=True)
    mended = models.PositiveIntegerField("counters put right", default=0)
    mended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "daily spend"

    def __str__(self) -> str:
        return self.day.isoformat()
