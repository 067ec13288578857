"""Finds what people want to hear of, in rows that the journeys leave anyway, and owes them the news.

Nothing below is hooked: each look reads the newest rows again, and a fact told before is not told twice.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse

from orders.models import BillingReport, Order, OrderChange, Replacement
from orders.models.statuses import Progress, Status
from orders.receivers import masked
from shipping_portal.accounts import notices
from shipping_portal.accounts.models import Notice
from shipping_portal.accounts.notices import Fact
from shipping_portal.desk import billed
from tracking.models import TrackingEvent

OVERLAP = 500  # rows read once more, as one with a smaller number may be committed later
FIRST_LOOK = 2000
NEWS_FOR = dt.timedelta(days=2)
BATCH = 1000
PRINT_BETWEEN = range(7, 9)  # o'clock where the sender is
EVERY = dt.timedelta(seconds=15 * settings.TIME_SCALE)
MOST_TOLD = 50_000
BILLED_FOR = dt.timedelta(days=14)
LATE_REPORT = dt.timedelta(days=120)
MISSED_LATELY = 5  # days back; a missed pickup is told the day after, and holidays are looked past

BOOKED_ONCE = "Good news: {order} to {name} was booked once, as you asked."
NOT_BOOKED = "The parcel to {name} wasn't booked and you weren't charged. Book it now."
REFUSED = "The parcel to {name} wasn't booked and you weren't charged. Fix it and book again."
STAYS_BOOKED = "{order} to {name} wasn't cancelled. It stays booked; its page says why."
CANCELLED = "{order} to {name} is cancelled; we had to check with the carrier. Destroy its label."
MAYBE_BOOKED = "The parcel to {name} may be booked after all. Don't book it again before we have told you."
SETTLED = {
    (Status.UNCONFIRMED, Status.BOOKED): BOOKED_ONCE,
    (Status.CONFLICT, Status.BOOKED): BOOKED_ONCE,
    (Status.UNCONFIRMED, Status.NOT_BOOKED): NOT_BOOKED,
    (Status.CONFLICT, Status.NOT_BOOKED): NOT_BOOKED,
    (Status.UNCONFIRMED, Status.REJECTED): REFUSED,
    (Status.BOOKING, Status.REJECTED): REFUSED,
    (
        Status.BOOKING,
        Status.DRAFT,
    ): "The parcel to {name} needs your yes. It isn't booked; you weren't charged.",
    (Status.CANCELLING, Status.BOOKED): STAYS_BOOKED,
    (Status.CANCEL_UNCONFIRMED, Status.BOOKED): STAYS_BOOKED,
    (Status.CANCEL_UNCONFIRMED, Status.CANCELLED): CANCELLED,
    # Told as not booked before, with the advice to book it now.
    (Status.NOT_BOOKED, Status.CONFLICT): MAYBE_BOOKED,
    (Status.DRAFT, Status.CONFLICT): MAYBE_BOOKED,
    (Status.REJECTED, Status.CONFLICT): MAYBE_BOOKED,
}
MISSED = "The driver didn't come for {order}. Another comes the next business day. Leave the label on; don't cancel."
FUTILE = (
    "The driver couldn't collect {order}. Have it ready, then choose a new day in parcel tools. Don't cancel."
)
PICKUPS = {Progress.PICKUP_MISSED: MISSED, Progress.PICKUP_FUTILE: FUTILE}
TROUBLES = {
    Progress.DELIVERY_ATTEMPTED: "{order} to {name} couldn't be delivered yet. Its page says what helps.",
    Progress.HELD: "{order} to {name} waits at a collection point. Tell the receiver.",
    Progress.CANNOT_DELIVER: "{order} to {name} can't be delivered. Check the address with the receiver.",
    Progress.DAMAGED: "The carrier reports damage to {order} to {name}. Keep photos and packaging.",
    Progress.LOST: "The carrier reports {order} to {name} lost. A refund may apply.",
    Progress.RETURNING: "{order} to {name} is coming back to you.",
}
OVERTAKEN = Exists(OrderChange.objects.filter(order=OuterRef("order"), pk__gt=OuterRef("pk")))
ONLY_CANCELLED = "{order} is cancelled, but the new parcel isn't booked. You weren't charged for a new one."
NOT_REPLACED = "{order} couldn't be replaced: it stays booked, and nothing new was booked."
TO_PRINT = "{order} to {name}: its label isn't marked as printed, and the driver is due today."


@dataclass
class Finder:
    """What one sweeping process has read, and told. Losing it costs one longer look."""

    change: int | None = None
    event: int | None = None
    told: set[str] = field(default_factory=set)
    due_at: dt.datetime | None = None

    def look(self, now: dt.datetime) -> None:
        """Every quarter of a minute at most."""
        if self.due_at and now < self.due_at:
            return
        self.due_at = now + EVERY
        if len(self.told) > MOST_TOLD:
            self.told.clear()
        _take_back_overtaken()
        change, event = _newest(OrderChange), _newest(TrackingEvent)
        found = chain(
            self._changes(change, now),
            self._scans(event, now),
            _missed(now),
            _replacements(now),
            _to_print(now),
            self._billed(now),
            billed.answers(now - NEWS_FOR),
        )
        news = (fact for fact in found if fact.once not in self.told)
        while facts := list(islice(news, BATCH)):
            notices.tell(*facts, now=now)
            self.told.update(fact.once for fact in facts)
        self.change, self.event = change, event

    def _changes(self, newest: int, now: dt.datetime) -> Iterator[Fact]:
        after = (newest - FIRST_LOOK if self.change is None else self.change) - OVERLAP
        found = OrderChange.objects.filter(pk__gt=after, pk__lte=newest, at__gte=now - NEWS_FOR)
        for change in found.exclude(OVERTAKEN).select_related("order__sender").order_by("pk"):
            words = SETTLED.get((Status(change.old), Status(change.new)))
            if words:
                yield _fact(change.order, "booking", change.news, words, change.at)

    def _billed(self, now: dt.datetime) -> Iterator[Fact]:
        """Lines may find their sender days after their report was posted, so size charges are looked for again."""
        posted = BillingReport.objects.filter(
            state=BillingReport.State.POSTED,
            ended_at__gte=now - BILLED_FOR,
            week__gte=(now - LATE_REPORT).date(),
        )
        for report in posted.order_by("pk"):
            yield from billed.size_charges(report)
            done = f"statements of report {report.pk}"
            if done not in self.told:
                yield from billed.statements(report)
                self.told.add(done)

    def _scans(self, newest: int, now: dt.datetime) -> Iterator[Fact]:
        after = (newest - FIRST_LOOK if self.event is None else self.event) - OVERLAP
        scanned = TrackingEvent.objects.filter(pk__gt=after, pk__lte=newest).values("parcel__order")
        orders = Order.objects.filter(pk__in=scanned, progress_at__gte=now - NEWS_FOR, status=Status.BOOKED)
        for order in orders.select_related("sender").iterator(chunk_size=BATCH):
            yield from _of_progress(order)


def _newest(rows: type[OrderChange] | type[TrackingEvent]) -> int:
    return rows.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _take_back_overtaken() -> None:
    """`move_to` takes back what was owed before it; this, what was told by a look that had read before the move."""
    owed = Notice.objects.filter(due_at__isnull=False, once__startswith="change:")
    moves = [int(once.rpartition(":")[2]) for once in owed.values_list("once", flat=True)]
    overtaken = [change.news for change in OrderChange.objects.filter(OVERTAKEN, pk__in=moves)]
    owed.filter(once__in=overtaken).delete()


def _of_progress(order: Order) -> Iterator[Fact]:
    at, progress = order.progress_at, Progress(order.progress)
    if at is None:
        return
    if progress in PICKUPS:
        yield _pickup(order, progress, PICKUPS[progress], at)
    elif progress in TROUBLES:
        yield _fact(order, "delivery", f"{progress}:{order.pk}:{at:%Y-%m-%d}", TROUBLES[progress], at)
    elif progress == Progress.DELIVERED:
        yield _fact(order, "delivered", f"delivered:{order.pk}", "{order} to {name} was delivered.", at)


def _missed(now: dt.datetime) -> Iterator[Fact]:
    """Pickups that nobody scanned, told by the calendar."""
    days = [(now - dt.timedelta(days=back)).date() for back in range(MISSED_LATELY)]
    # Without any day it is the next business day after the booking: see orders/pickups.py.
    blank = Q(pickup_date=None, booked_at__gte=now - dt.timedelta(days=2 * MISSED_LATELY))
    for order in _waiting_for_a_driver(days, or_without_a_day=blank):
        if order.shown_progress(now) == Progress.PICKUP_MISSED:
            yield _pickup(order, Progress.PICKUP_MISSED, MISSED, now)


def _to_print(now: dt.datetime) -> Iterator[Fact]:
    """Early on the pickup's day, where the sender is."""
    days = [(now + dt.timedelta(days=ahead)).date() for ahead in (-1, 0, 1)]
    for order in _waiting_for_a_driver(days, printed_at=None):
        local = now.astimezone(order.sender.tzinfo)
        if local.date() == order.expected_pickup() and local.hour in PRINT_BETWEEN:
            yield _fact(order, "not_printed", f"not_printed:{order.pk}:{local.date()}", TO_PRINT, now)


def _waiting_for_a_driver(
    days: list[dt.date], *, or_without_a_day: Q | None = None, **more: None
) -> Iterator[Order]:
    """All of them: one cut off here would never be told. Where the carrier gave no day, the asked one counts."""
    asked = Q(pickup_date__in=days) | (or_without_a_day or Q(pk__in=[]))
    expected = Q(carrier_pickup_date__in=days) | Q(asked, carrier_pickup_date=None)
    waiting = Order.objects.filter(
        expected, status=Status.BOOKED, progress=Progress.NONE, first_mile="pickup", **more
    )
    return waiting.select_related("sender").order_by("pk").iterator(chunk_size=BATCH)


def _pickup(order: Order, progress: str, words: str, at: dt.datetime) -> Fact:
    """One e-mail for a driver's visit, however many parcels wait for it."""
    day = order.expected_pickup() or at.astimezone(order.sender.tzinfo).date()
    bundle = f"pickup:{day}:{order.pickup['postcode']}"
    return _fact(order, "pickup", f"{progress}:{order.pk}:{day}", words, at, bundle=bundle)


def _replacements(now: dt.datetime) -> Iterator[Fact]:
    ended = Replacement.objects.filter(ended_at__gte=now - NEWS_FOR).exclude(problem="")
    for found in ended.select_related("order__sender").order_by("-pk")[:BATCH]:
        if not found.is_only_cancelled and found.order.status != Status.BOOKED:
            continue  # it moved on since, which its own changes tell
        words = ONLY_CANCELLED if found.is_only_cancelled else NOT_REPLACED
        path = reverse("replacing", args=[found.order.uuid])
        yield _fact(
            found.order, "booking", f"replacement:{found.pk}", words, found.ended_at or now, path=path
        )


def _fact(
    order: Order, kind: str, once: str, words: str, at: dt.datetime, *, path: str = "", bundle: str = ""
) -> Fact:
    return Fact(
        sender=order.sender,
        kind=kind,
        once=once,
        line=words.format(order=order.carrier_reference or "It", name=masked(order.receiver_name)),
        path=path or reverse("parcel", args=[order.uuid]),
        happened_at=at,
        bundle=bundle,
    )
