"""Poll the carrier for scans, as a safety net under webhooks and to follow parcels."""

import datetime as dt
import hashlib

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from orders.booking import recording
from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import CarrierAccount, Order
from orders.models.statuses import Status
from orders.status.references import is_same
from shipping_portal import VERSION
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected
from shipping_portal.carrier.messages import Tracked
from shipping_portal.db.planned_statements import insert_row
from shipping_portal.jobs.models import backoff
from shipping_portal.jobs.registry import job
from tracking import pace
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery
from tracking.receiving import looks
from tracking.scanning import projecting, scans

LONGEST_REST = 6 * 3600.0  # seconds
# while an order is being cancelled, its `due_at` belongs to the cancellation
TRACKED = (Status.BOOKED, Status.CANCELLED)


def unscanned_pickups(now: dt.datetime) -> Q:
    """Match recent pickups that no scan has confirmed and that are still polled."""
    oldest, today = now - pace.GIVE_UP_SILENT, now.date()
    dated = Q(carrier_pickup_date__range=(oldest.date(), today))
    undated = Q(carrier_pickup_date=None, booked_at__gte=oldest)
    return Q(dated | undated, status=Status.BOOKED, progress="", first_mile="pickup")


@job(
    "open",
    queue=Order.objects.filter(status__in=TRACKED).only(
        "account", "carrier_reference", "status", *Order.JOB
    ),
    lane="sender",
    order=50,
    is_leased=False,
)
def open_parcel(due: Order) -> None:
    """Open a booked order's parcel, and match scans that came before the booking reply.

    A cancelled order's parcel is also opened, or reopened: its label may still be used, so it is
    watched for 60 days.
    """
    if due.carrier_reference:
        _open_parcel_of(due, timezone.now())


def open_new_parcel(order: Order, reference: str, now: dt.datetime) -> bool:
    """Open the parcel of an order that is being booked, unless its scans came first and opened it.

    Returns whether it was opened.
    """
    parcel = Parcel(account_id=order.account_id, reference=reference, order=order, created_at=now)
    if not insert_row(parcel, conflict="ON CONFLICT DO NOTHING"):
        return False
    insert_row(Poll(parcel=parcel, due_at=now + pace.first_wait(), is_optional=True))
    return True


recording.WHEN_BOOKED.append(open_new_parcel)


def _open_parcel_of(due: Order, now: dt.datetime) -> None:
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=due.pk)
        if not order.carrier_reference:
            return
        parcel = scans.parcel_for(order.carrier_reference, account=order.account, at=now)
        # Otherwise polls are scheduled separately.
        if parcel.order_id is None or not _is_polled(parcel):
            # Projecting existing scans is due now, in case this process ends before it does so.
            Parcel.objects.filter(pk=parcel.pk).update(order=order, due_at=now, **Parcel.AFRESH)
            Poll.schedule(parcel, now + pace.first_wait(), is_optional=True)
        # Its page has to show scans that were never pushed, too.
        if order.cancel_refused_at:
            Poll.schedule(parcel, now)
        if order.status in TRACKED:
            order.finish()
    projecting.project_parcels(parcel.pk)


def close_parcel(order: Order) -> None:
    """Separate an order from a parcel that belongs to another order. This undoes open_parcel.

    The scans stay for the order that gets the reference next. Call this inside the transaction that
    removes the reference.
    """
    parcel = Parcel.objects.select_for_update(no_key=True).filter(order=order).first()
    if parcel is None:
        return
    # those from long before that order's booking
    parcel.events.filter(set_aside=projecting.LONG_BEFORE).update(set_aside="")
    Parcel.objects.filter(pk=parcel.pk).update(order=None)
    if not parcel.watches.exists():
        Poll.objects.filter(parcel=parcel).update(due_at=None, **Poll.AFRESH)
    projecting.project_parcels(parcel.pk)


def _is_polled(parcel: Parcel) -> bool:
    return Poll.objects.filter(parcel=parcel, due_at__isnull=False).exists()


@job(
    "poll",
    queue=Poll.objects.select_related("parcel__order", "parcel__account"),
    lane="parcel__order__sender",
    order=140,
)
def poll_due_parcel(poll: Poll) -> None:
    """Poll or subscribe to one parcel at its own account, if that account still has settings."""
    due = pace.postponed_until(poll, now=timezone.now())
    if due and not looks.is_poll_unanswered(poll, now=timezone.now()):
        poll.postpone(due.at, is_optional=due.is_optional)
        return
    parcel = poll.parcel
    account = parcel.account
    tracked, was_refused = None, False
    is_reachable = gateway.is_reachable(account)
    if is_reachable:
        try:
            tracked = _ask_carrier(
                poll, gateway.carrier_client(account, parcel.order, first="track")
            )
        except CarrierError as error:
            was_refused = _is_refusal(error)
    known, digest = None, ""
    if tracked:
        now = timezone.now()
        # If a webhook prompted this poll, its scans count as having come by that webhook.
        is_pushed = looks.is_poll_unanswered(poll, now=now)
        digest = _digest(tracked, account)
        if digest and digest == poll.reply_sha256 and not is_pushed:
            _note_on_order(parcel, tracked)
            known = parcel
        else:
            source = TrackingEvent.Source.PUSH if is_pushed else TrackingEvent.Source.POLL
            take_scans(parcel, tracked, source=source, now=now)
    is_answered = tracked is not None and tracked.is_whole
    _schedule_next(
        poll,
        is_answered=is_answered,
        has_reply=was_refused or tracked is not None,
        first=30.0 if is_reachable else LONGEST_REST,
        digest=digest,
        known=known,
    )


def _is_refusal(error: CarrierError) -> bool:
    """Return whether the carrier refused, rather than being unreachable or out of order."""
    if isinstance(error, NotSent):
        return error.status is not None
    return isinstance(error, Rejected | AccountStopped)


def _digest(tracked: Tracked, account: CarrierAccount) -> str:
    """Return a value that recognises the same whole reply, or "".

    Another contract, or another version of our code, may find more in the same bytes.
    """
    if not tracked.body or not tracked.is_whole:
        return ""
    return hashlib.sha256(f"{VERSION} {contract_of(account)!r}".encode() + tracked.body).hexdigest()


def _ask_carrier(poll: Poll, client: Carrier) -> Tracked:
    """Subscribe or poll; subscribing returns the scans so far.

    A refusal is stored, and the parcel is polled anyway.
    """
    parcel = poll.parcel
    if parcel.subscription != Parcel.Subscription.WANTED:
        return client.track(parcel.reference)
    tracked, state, text = None, Parcel.Subscription.ON, ""
    try:
        tracked = client.subscribe(parcel.reference)
    except Rejected as error:
        state, text = Parcel.Subscription.REFUSED, error.text
    Parcel.objects.filter(pk=parcel.pk).update(subscription=state, subscription_text=text[:300])
    if tracked:
        return tracked
    # Two calls may take longer than one lease.
    poll.renew()
    return client.track(parcel.reference)


def take_scans(
    parcel: Parcel,
    tracked: Tracked,
    *,
    source: str = TrackingEvent.Source.POLL,
    now: dt.datetime,
) -> None:
    """Merge polled scans with pushed ones and project them. Store and count unreadable ones."""
    ours = []
    for scan in tracked.scans:
        if not scan.reference or is_same(scan.reference, parcel.reference):
            ours.append(scan)
        else:
            _quarantine_scan(parcel, scan.raw, f"the scan names {scan.reference}", now=now)
    arrivals = [
        scans.Arrival(parcel.pk, scan, source, scans.as_bytes(scan.raw), now) for scan in ours
    ]
    with transaction.atomic():
        held = scans.lock_parcels([parcel.pk])
        stored = scans.store_scans(arrivals, held)
        projecting.project_held(held)
    for scan, one in zip(ours, stored, strict=True):
        if one.event is None:
            _quarantine_scan(
                parcel, scan.raw, f"event {scan.event_id} is known with other content", now=now
            )
    for raw, reason in tracked.unreadable:
        _quarantine_scan(parcel, raw, reason, now=now)
    _note_on_order(parcel, tracked)


def _note_on_order(parcel: Parcel, tracked: Tracked) -> None:
    if parcel.order and tracked.pickup_date:
        parcel.order.note_pickup_date(tracked.pickup_date)
    if parcel.order:
        parcel.order.note_cancellable(tracked.is_cancellable)


def _quarantine_scan(parcel: Parcel, raw: object, reason: str, *, now: dt.datetime) -> None:
    """Set an unreadable scan aside once, however often it is polled."""
    body = scans.as_bytes(raw)
    sha256 = hashlib.sha256(body).hexdigest()
    same = {"account": parcel.account, "sha256": sha256, "polled_for": parcel.reference}
    if not WebhookDelivery.objects.filter(**same).exists():
        WebhookDelivery.objects.create(
            **same,
            received_at=now,
            body=body,
            state=WebhookDelivery.State.QUARANTINED,
            reason=reason[:300],
        )


def _schedule_next(
    poll: Poll,
    *,
    is_answered: bool,
    has_reply: bool,
    first: float,
    digest: str = "",
    known: Parcel | None = None,
) -> None:
    """Schedule the next poll, whatever this one found, unless the journey is over.

    Right after a booking, 404 means "not yet": after any reply, even a refusal or an incomplete
    one, the carrier is asked again in an hour at the earliest, unless a webhook wants it sooner.
    Without a reply, the poll is retried after a back-off that begins at `first` seconds. The log of
    calls has the reply. `subscription_text` is the carrier's refusal, which the sender reads.
    `known` is the parcel if this poll changed nothing about it.
    """
    now = timezone.now()
    parcel = known or Parcel.objects.select_related("order", "account").get(pk=poll.parcel_id)
    due = pace.next_poll(parcel, now=now, is_answered=is_answered)
    is_poll_unanswered = not is_answered and looks.is_poll_unanswered(poll, now=now)
    answer = {"polled_at": now, "reply_sha256": digest} if is_answered else {}
    if due is None and not is_poll_unanswered:
        poll.finish(**answer)
    elif due is not None and is_answered:
        poll.postpone(due.at, tries=0, is_optional=due.is_optional, **answer)
    elif due is not None and has_reply and not is_poll_unanswered:
        poll.retry(due.at, is_optional=False)
    else:
        poll.retry(now + backoff(poll.tries + 1, first=first, cap=LONGEST_REST), is_optional=False)
