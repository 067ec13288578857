"""Parcels by carrier reference, the deliveries about them, and their scans (interface §2.2)."""

import datetime as dt
import uuid
from collections.abc import Iterable
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Upper

from orders.models import CarrierAccount, Order
from orders.models.statuses import Progress
from orders.status.progress import CLOCK_TOLERANCE, clock_ahead
from shipping_portal.accounts.models import belongs_to
from shipping_portal.formats import admin_time, hours_and_minutes
from shipping_portal.jobs.models import Job, due_index


class ParcelQuerySet(models.QuerySet["Parcel"]):
    def for_user(self, user: Any) -> Self:
        mine = belongs_to(user, "order__sender") | belongs_to(user, "watches__sender")
        return self.filter(mine).distinct()


class Parcel(Job):
    """One reference of one carrier account: ours, watched, or not known yet.

    Its progress is projected from its events. A projection is due while `due_at` is set.
    """

    class Subscription(models.TextChoices):
        NONE = "", "Not needed"
        WANTED = "wanted", "Asking the carrier"
        ON = "on", "Following"
        REFUSED = "refused", "Refused"

    account = models.ForeignKey(CarrierAccount, on_delete=models.PROTECT, related_name="parcels")
    reference = models.CharField(max_length=100)
    order = models.OneToOneField(
        Order, on_delete=models.PROTECT, null=True, blank=True, related_name="parcel"
    )
    progress = models.CharField(
        max_length=20, choices=Progress.choices, default=Progress.NONE, blank=True
    )
    progress_at = models.DateTimeField(null=True, blank=True)
    last_scan_at = models.DateTimeField(null=True, blank=True)
    subscription = models.CharField(
        max_length=8, choices=Subscription.choices, default="", blank=True
    )
    subscription_text = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()

    objects = ParcelQuerySet.as_manager()

    class Meta:
        # The reference comes first, because it is also looked up alone. See
        # orders/status/references.py.
        constraints = [
            models.UniqueConstraint(Upper("reference"), "account", name="a_parcel_once_per_account")
        ]
        indexes = [due_index("folds_owed")]

    def __str__(self) -> str:
        return self.reference


class Poll(Job):
    """When to poll a parcel's scans next.

    One row for each parcel that is ours or was ever watched.
    """

    parcel = models.OneToOneField(
        Parcel, on_delete=models.CASCADE, primary_key=True, related_name="poll"
    )
    polled_at = models.DateTimeField(null=True, blank=True)
    # the latest poll that a webhook asked for, done or planned
    look_due_at = models.DateTimeField(null=True, blank=True)
    # Once due, it may be postponed without a call if webhooks have brought scans since.
    is_optional = models.BooleanField(default=False, db_default=False)
    # identifies the last complete reply, in case it is repeated
    reply_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        indexes = [due_index("polls_owed")]

    def __str__(self) -> str:
        return f"poll of {self.parcel_id}"

    @classmethod
    def schedule(cls, parcel: Parcel, at: dt.datetime, *, is_optional: bool = False) -> None:
        """Poll this parcel at that time, whatever earlier polls returned."""
        afresh = {"is_optional": is_optional, "reply_sha256": "", **cls.AFRESH}
        cls.objects.update_or_create(parcel=parcel, defaults={"due_at": at, **afresh})


class Watch(models.Model):
    """A reference booked elsewhere that a sender follows (interface §6.3)."""

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="watches")
    parcel = models.ForeignKey(Parcel, on_delete=models.PROTECT, related_name="watches")
    name = models.CharField("your own name for it", max_length=80, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "watches"
        constraints = [
            models.UniqueConstraint(fields=["sender", "parcel"], name="watched_once_a_sender")
        ]

    def __str__(self) -> str:
        return self.name or self.parcel.reference


IS_SET_ASIDE = Q(state__in=["differs", "quarantined"])


class WebhookDelivery(Job):
    """An authenticated webhook body, stored before anything reads it; or an unreadable polled scan.

    It belongs to the account whose secret it used, or whose parcel was polled, and is read under
    that account's contract. It is unread while `due_at` is set. The reference and event id in it
    are stored if they can be read.
    """

    class State(models.TextChoices):
        NEW = "new", "Not processed"
        STORED = "stored", "Scan stored"
        DUPLICATE = "duplicate", "Duplicate scan"
        DIFFERS = "differs", "Same ID, different content"
        QUARANTINED = "quarantined", "Couldn't be read"
        LOOK = "look", "Parcel polled"

    account = models.ForeignKey(
        CarrierAccount, on_delete=models.PROTECT, db_index=False, related_name="deliveries"
    )
    received_at = models.DateTimeField(db_index=True)
    body = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=11, choices=State.choices, default=State.NEW)
    reason = models.CharField(max_length=300, blank=True)
    # the reference that a poll asked about
    polled_for = models.CharField(max_length=100, blank=True)
    # The default is in the database, because web processes of the previous version store webhooks
    # during an upgrade.
    reference = models.CharField(max_length=100, blank=True, default="", db_default="")
    carrier_event_id = models.UUIDField("event ID", null=True, blank=True)
    scan_time = models.DateTimeField(null=True, blank=True)
    event = models.ForeignKey(
        "tracking.TrackingEvent",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="deliveries",
    )

    SET_ASIDE = (State.DIFFERS, State.QUARANTINED)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        indexes = [
            models.Index(fields=["state", "-id"]),
            due_index("deliveries_owed"),
            # Only for deliveries without a scan to find them by, so that others cost the listener
            # nothing.
            models.Index(Upper("reference"), name="set_aside_by_reference", condition=IS_SET_ASIDE),
            models.Index(
                fields=["carrier_event_id"], name="set_aside_by_event", condition=IS_SET_ASIDE
            ),
            models.Index(Upper("reference"), name="looks_by_reference", condition=Q(state="look")),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"

    @classmethod
    def looks_at(cls, references: Iterable[str]) -> models.QuerySet[Self]:
        """Return webhooks that only said to look at one of these references (in any case)."""
        spelled = {reference.upper() for reference in references}
        return cls.objects.filter(state=cls.State.LOOK, reference__upper__in=spelled)


class WebhookTally(models.Model):
    """Deliveries that the listener refused and didn't store, counted by reason and day."""

    day = models.DateField()
    reason = models.CharField(max_length=40)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "refused webhooks"
        constraints = [
            models.UniqueConstraint(fields=["day", "reason"], name="one_tally_a_day_and_reason")
        ]

    def __str__(self) -> str:
        return f"{self.reason} on {self.day}: {self.count}"


IS_AHEAD = Q(scan_time__gt=F("received_at") + CLOCK_TOLERANCE)


def happened_at(events: str = "") -> Case:
    """Return `TrackingEvent.happened_at` as a database expression.

    `events` leads from the row to scans.
    """
    scanned, received = f"{events}scan_time", f"{events}received_at"
    is_ahead = When(**{f"{scanned}__gt": F(received) + CLOCK_TOLERANCE}, then=F(received))
    return Case(is_ahead, default=F(scanned), output_field=models.DateTimeField())


class TrackingEvent(models.Model):
    """One scan. Pushed scans have an `event_id`; polled ones may only have their fingerprint.

    `scan_time` is the time by the carrier's clock; `happened_at` is used and shown.
    """

    class Source(models.TextChoices):
        PUSH = "push", "Webhook"
        POLL = "poll", "Polled"

    parcel = models.ForeignKey(Parcel, on_delete=models.PROTECT, related_name="events")
    # The parcel's account: ids are unique within one carrier only.
    account = models.ForeignKey(
        CarrierAccount, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    event_id = models.UUIDField(null=True, blank=True)
    fingerprint = models.CharField(max_length=64)
    event_type = models.CharField(max_length=100)
    scan_time = models.DateTimeField()
    description = models.CharField(max_length=1000)
    suburb = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=120, blank=True)
    postcode = models.CharField(max_length=40, blank=True)
    country = models.CharField(max_length=120, blank=True)
    raw = models.BinaryField()
    source = models.CharField(max_length=4, choices=Source.choices)
    received_at = models.DateTimeField(db_index=True)  # the earliest receipt, pushed or polled
    pushed_at = models.DateTimeField(null=True, blank=True)
    polled_at = models.DateTimeField(null=True, blank=True)
    set_aside = models.CharField(max_length=100, blank=True)  # why the projection leaves it out

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["event_id", "account"],
                condition=Q(event_id__isnull=False),
                name="an_event_id_once_per_account",
            ),
            models.UniqueConstraint(
                fields=["parcel", "fingerprint"],
                condition=Q(event_id__isnull=True),
                name="a_polled_scan_once",
            ),
        ]
        indexes = [
            models.Index(fields=["parcel", "scan_time"]),
            models.Index(fields=["event_type"]),
            models.Index(
                fields=["received_at"], name="scans_polling_found_first", condition=Q(source="poll")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {admin_time(self.happened_at)}"

    @property
    def clock_ahead(self) -> dt.timedelta:
        """Return how far the carrier's clock was ahead of the receipt; zero if it may be right."""
        return clock_ahead(self.scan_time, self.received_at)

    @property
    def clock_ahead_by(self) -> str:
        return hours_and_minutes(self.clock_ahead) if self.clock_ahead else "–"

    @property
    def happened_at(self) -> dt.datetime:
        """Return when it was scanned, as far as we know, and never later than it was received."""
        return self.received_at if self.clock_ahead else self.scan_time


class EventWord(models.Model):
    """A carrier word seen in a scan, and the meaning an operator gave it.

    An empty meaning follows the contract.
    """

    word = models.CharField("carrier's term", max_length=100, unique=True)
    progress = models.CharField("means", max_length=20, choices=Progress.choices, blank=True)
    is_known = models.BooleanField(default=False)
    first_seen_at = models.DateTimeField()
    spellings = models.JSONField(default=list)  # as spelled in scans: "Dropped off", "Dropped  Off"
    scans = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.word


class LastTime(models.Model):
    """When something last happened in any process.

    One row per name, changed by compare-and-swap.
    """

    name = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {admin_time(self.at, seconds=True)}"

    @classmethod
    def move(cls, name: str, *, now: dt.datetime) -> dt.datetime | None:
        """Set it to now and return the previous time.

        Returns None the first time, or if another process was faster.
        """
        last, made = cls.objects.get_or_create(name=name, defaults={"at": now})
        moved = not made and cls.objects.filter(pk=last.pk, at=last.at).update(at=now)
        return last.at if moved else None

    @classmethod
    def is_first_in(cls, span: dt.timedelta, name: str, *, now: dt.datetime) -> bool:
        """Return whether it hasn't happened for this long.

        It is True in exactly one process, however many ask.
        """
        _, made = cls.objects.get_or_create(name=name, defaults={"at": now})
        return made or bool(cls.objects.filter(name=name, at__lte=now - span).update(at=now))


class ReceiverPage(models.Model):
    """The page of one parcel that its sender shares with the receiver.

    The address is stored nowhere: see docs/decisions/0048.
    """

    order = models.OneToOneField(Order, on_delete=models.CASCADE, related_name="receiver_page")
    nonce = models.CharField(max_length=40)
    token_hash = models.CharField(max_length=64, unique=True)
    # public, as entered by the sender: an email or a phone number
    contact = models.CharField("whom the receiver asks", max_length=254, blank=True)
    shared_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    shared_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"receiver's page of order {self.order_id}"
