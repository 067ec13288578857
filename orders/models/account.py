"""The partner's carrier account, its call queues, and what all senders spend in a day."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce

BOOKINGS: Final = "bookings"
QUOTES: Final = "quotes"
PAUSABLE = (BOOKINGS, QUOTES)
STOPPED: Final = "account"
HELD_UP = "Bookings are held up at the carrier; yours waits, nothing is charged."
# Waiting jobs check again this often, because somebody may resume early.
AT_MOST = dt.timedelta(minutes=1)


@dataclass(frozen=True)
class Pause:
    """Describe an operator's pause, or the carrier's stop of the account. `text` is for senders.

    `ends_at` is None if somebody has to resume it.
    """

    what: str
    since: dt.datetime
    text: str
    ends_at: dt.datetime | None = None

    def is_over(self, now: dt.datetime) -> bool:
        """Return whether the pause has ended. Only the clock decides, so no job has to run."""
        return self.ends_at is not None and self.ends_at <= now

    def look_again_at(self, now: dt.datetime) -> dt.datetime:
        """Return when a waiting job may check again."""
        return min(now + AT_MOST, self.ends_at or now + AT_MOST)


FAULT_COUNTS = dt.timedelta(days=1)  # once its last fault is this old, a series of faults is over
BREAK_AFTER_FAILURES = 5
BREAK_SECONDS = 30 * settings.TIME_SCALE
PROBE_SECONDS = 300 * settings.TIME_SCALE
# For each pause: its start, its text for senders, its end.
PAUSE_FIELDS = {
    BOOKINGS: ("paused_at", "pause_text", "pause_ends_at"),
    QUOTES: ("quotes_paused_at", "quotes_pause_text", "quotes_pause_ends_at"),
}


class CarrierAccount(models.Model):
    """One row per account and base address, with the circuit breaker and the operator's pauses.

    `stopped_at`: the carrier refused the account itself (401, 402, 403, 412). Every booking waits,
    none is lost.
    `fault_at`: when the carrier last rejected how we asked, for the operator to correct. `fault` is
    in its words. `fault_since`: when the first of a series began, each within a day of the one
    before.
    `pause_ends_at`: when bookings resume by themselves, and afterwards when the last pause or stop
    ended.
    `webhook_proven_at`: when webhooks were first proven to send its scans (see tracking/pace.py).
    `resting_until`: after too many unclear replies in a row, nothing new is sent for half a minute.
    """

    fingerprint = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=120)
    stopped_at = models.DateTimeField(null=True, blank=True)
    stopped_reason = models.CharField(max_length=300, blank=True)
    probe_due_at = models.DateTimeField(null=True, blank=True)
    fault_at = models.DateTimeField(null=True, blank=True)
    fault_since = models.DateTimeField(null=True, blank=True)
    fault = models.CharField(max_length=300, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    resting_until = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_text = models.CharField("text shown to senders", max_length=300, blank=True)
    pause_ends_at = models.DateTimeField(null=True, blank=True)  # empty: until somebody resumes
    quotes_paused_at = models.DateTimeField(null=True, blank=True)
    quotes_pause_text = models.CharField("text shown to senders", max_length=300, blank=True)
    quotes_pause_ends_at = models.DateTimeField(null=True, blank=True)
    replays_off_at = models.DateTimeField(null=True, blank=True)
    webhook_proven_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def locked(cls, pk: int) -> "CarrierAccount":
        """Read and lock an account, so that its bills change one at a time."""
        return cls.objects.select_for_update(no_key=True).get(pk=pk)

    def holds_until(self, now: dt.datetime) -> dt.datetime | None:
        """Return when booking may be tried again, or None if it may be tried now."""
        if pause := self.pause_of(BOOKINGS, now):
            return pause.look_again_at(now)
        if self.stopped_at and self.probe_due_at and self.probe_due_at > now:
            return self.probe_due_at
        if self.resting_until and self.resting_until > now:
            return self.resting_until
        return None

    def pause_of(self, what: str, now: dt.datetime) -> Pause | None:
        """Return the pause in force, or None if there is none or it has expired."""
        pause = self.kept_pause(what)
        return None if pause is None or pause.is_over(now) else pause

    def stop_as_a_pause(self) -> Pause | None:
        """Return the carrier's stop as senders see it, or None while the account works."""
        return Pause(STOPPED, self.stopped_at, HELD_UP, None) if self.stopped_at else None

    def kept_pause(self, what: str) -> Pause | None:
        """Return the stored pause, expired or not."""
        since, text, ends_at = (getattr(self, name) for name in PAUSE_FIELDS[what])
        return Pause(what, since, text, ends_at) if since else None

    def take_probe(self, now: dt.datetime) -> bool:
        """Return whether this booking may test a stopped account: one every five minutes may."""
        if not self.stopped_at:
            return True
        due = Q(probe_due_at=None) | Q(probe_due_at__lte=now)
        later = now + dt.timedelta(seconds=PROBE_SECONDS)
        return bool(CarrierAccount.objects.filter(due, pk=self.pk).update(probe_due_at=later))

    def give_probe_back(self, at: dt.datetime) -> None:
        """Let the next booking test the account at once, because this one wasn't sent."""
        CarrierAccount.objects.filter(pk=self.pk, stopped_at__isnull=False).update(probe_due_at=at)

    def stop(self, reason: str, at: dt.datetime) -> None:
        """Make every booking wait.

        A rejected test keeps the start time, which alerts count from.
        """
        CarrierAccount.objects.filter(pk=self.pk).update(
            stopped_at=Coalesce("stopped_at", Value(at)),
            stopped_reason=reason[:300],
            probe_due_at=at + dt.timedelta(seconds=PROBE_SECONDS),
        )

    def note_fault(self, words: str, at: dt.datetime) -> None:
        """Store the last fault and when its series began. An accepted booking doesn't end it."""
        began = Case(
            When(fault_at__gte=at - FAULT_COUNTS, then=Coalesce("fault_since", "fault_at")),
            default=Value(at),
        )
        CarrierAccount.objects.filter(pk=self.pk).update(
            fault_since=began, fault_at=at, fault=words[:300]
        )

    def note_answer(self, at: dt.datetime) -> None:
        """End the account's stop or rest, as it was just read.

        The carrier answered a booking clearly.
        """
        if not (self.failures or self.stopped_at or self.resting_until):
            return
        CarrierAccount.objects.filter(
            Q(failures__gt=0) | Q(stopped_at__isnull=False) | Q(resting_until__isnull=False),
            pk=self.pk,
        ).update(
            failures=0,
            resting_until=None,
            stopped_at=None,
            stopped_reason="",
            probe_due_at=None,
            pause_ends_at=Case(
                When(stopped_at__isnull=False, paused_at=None, then=Value(at)),
                default=F("pause_ends_at"),
            ),
        )

    def note_failure(self, at: dt.datetime) -> None:
        """Rest the account for half a minute after five unclear or unsent bookings in a row."""
        CarrierAccount.objects.filter(pk=self.pk).update(failures=F("failures") + 1)
        CarrierAccount.objects.filter(pk=self.pk, failures__gte=BREAK_AFTER_FAILURES).update(
            failures=0, resting_until=at + dt.timedelta(seconds=BREAK_SECONDS)
        )


class CarrierLine(models.Model):
    """A queue of calls to one account (see orders/calling/turns.py). Times are seconds since 1970.

    It has its own row, because posting a report locks the account's row for a long time.
    """

    account = models.ForeignKey(CarrierAccount, on_delete=models.CASCADE, related_name="lines")
    name = models.CharField(max_length=10)
    free_at = models.FloatField(default=0.0)
    had = models.JSONField(default=dict)  # by lane: until when its past use counts

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="one_line_of_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.name} of account {self.account_id}"


class CarrierCall(models.Model):
    """One request to the carrier and its result; never a body, a query value or a secret."""

    at = models.DateTimeField(db_index=True)
    account = models.ForeignKey(
        CarrierAccount, on_delete=models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    operation = models.CharField(max_length=20)
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=200)
    status = models.PositiveSmallIntegerField(null=True)
    milliseconds = models.PositiveIntegerField()
    outcome = models.CharField(max_length=40)
    unreadable = models.PositiveSmallIntegerField("unread rows", default=0)
    order = models.ForeignKey(
        "orders.Order", on_delete=models.SET_NULL, null=True, related_name="calls"
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["at"], name="calls_not_read_in_full", condition=Q(unreadable__gt=0)
            )
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.status or self.outcome}"


class DailySpend(models.Model):
    """The spend of all senders on one calendar day, each by its own zone, in any currency.

    `refused_at`: DAILY_MONEY_LIMIT refused a booking of `refused_price`, and it still wouldn't fit.
    `mended`: how many wrong counters were corrected on this day (orders/booking/recounting.py).
    """

    day = models.DateField(unique=True)
    spent = models.DecimalField(max_digits=16, decimal_places=2, default=Decimal(0))
    refused_at = models.DateTimeField(null=True, blank=True)
    # the lowest
    refused_price = models.DecimalField(max_digits=16, decimal_places=2, null=True, blank=True)
    mended = models.PositiveIntegerField("counters corrected", default=0)
    mended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "daily spend"

    def __str__(self) -> str:
        return self.day.isoformat()
