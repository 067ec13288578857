"""Book parcels. Money moves here, so each attempt is stored before it is sent.

submit           (web)     order `booking`, due now; nothing sent
process_booking  (worker)  checked after every wait; attempt written down and committed → one call →
                           recorded: accepted | rejected | not sent | account stopped | unknown

If a carrier needs two calls, the first one prepares the booking, free of charge, before the attempt
is made. An unclear outcome is a status of the order.
"""

import datetime as dt
import hashlib
import uuid
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import BigIntegerField, Exists, OuterRef, Subquery
from django.utils import timezone

from orders.booking import answers, booking_rules, limits, preparing, recording, verdict
from orders.booking.limits import LimitReached
from orders.calling import gateway
from orders.drafting.parcel_details import ParcelDetails, in_metric
from orders.models import BookingAttempt, CarrierAccount, Order, OrderChange, Quote
from orders.models.quotes import Offered
from orders.models.statuses import Status
from orders.quoting import asking
from orders.status.transitions import OF_FORM, create_due, move_to
from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.jobs.models import lease_time
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.ops.starting import end_if_restored

NOT_DUE = (
    Order.SameForm,
    Order.Duplicate,
    LimitReached,
    booking_rules.Suspended,
    booking_rules.Paused,
    booking_rules.ServiceNotOffered,
    booking_rules.PickupDayPassed,
)


class TokenReused(Exception):
    """Raised when this form is already booked with other content."""


def submit(
    *,
    quote: Quote,
    code: str,
    by: User,
    form_token: uuid.UUID,
    pickup_date: dt.date | None,
    now: dt.datetime,
    is_another: bool = False,
    asks_first: bool = False,
) -> Order:
    """Make one booking due, or one for each parcel of a consignment: all of them or none.

    The same form token always returns the same order: for a consignment, its first parcel's.

    `code` is the offer's key (orders.models.quotes.offer_key). That offer's account gets the order.
    A second return of the same parcel needs `is_another`, which says that it is intended. With
    `asks_first`, so does any parcel like one that was just booked.

    Raises TokenReused, Suspended, Paused, LimitReached, ServiceNotOffered, CarrierChanged,
    PickupMoved, PickupDayPassed or Order.Duplicate; nothing is due then.
    """
    form_hash = hashlib.sha256(f"{quote.inputs_hash}|{code}|{pickup_date}".encode()).hexdigest()
    try:
        offer = booking_rules.bookable_offer(quote, code, pickup_date, now)
        orders = _orders_of(quote, offer, by=by, pickup_date=pickup_date, now=now)
        _give_tokens(orders, form_token, form_hash)
        # One transaction for all: if one of them exceeds a limit, none is booked.
        with limits.noting_refusals(now):
            for order in orders:
                create_due(
                    order, by=by, reason="booked by the sender", at=now, is_another=is_another
                )
                enqueue("book", order.pk)
            # The sender is locked now, so an earlier press is visible.
            mine = [order.form_token for order in orders]
            is_unasked = asks_first and not is_another
            if is_unasked and booking_rules.booked_lately(quote, now, but=mine):
                raise Order.Duplicate
    except NOT_DUE as error:
        # The form may be booked already, by a request that was faster and used up the limit.
        if existing := OF_FORM.first(sender=quote.sender_id, token=form_token):
            return _same_form(existing, form_hash)
        if isinstance(error, Order.SameForm):
            # Somebody sent the token of a consignment's later parcel as a form's token.
            raise TokenReused(str(form_token)) from error
        raise
    return orders[0]


def confirm(order: Order, *, by: User, now: dt.datetime, next_day: bool = False) -> None:
    """Book with the sender's consent to a higher price, or again after "not booked".

    With `next_day`, a pickup day that has already come is replaced by the next business day. An
    order and its attempts stay with the carrier account they were made for. To use another account,
    the sender chooses an offer again, which makes a new order.

    Raises Suspended, Paused, LimitReached, CarrierChanged, PickupMoved, PickupDayPassed,
    Order.WrongStatus, or Order.Duplicate if there is another return of the parcel; nothing is due
    then.
    """
    account = booking_rules.refuse_unless_booking_is_on(order.sender, now, account=order.account_id)
    if order.account != account:
        raise booking_rules.CarrierChanged
    details, changes = order.details(), dict[str, Any](problem={}, tries=0)
    if details.has_moved(order.sender.pickup_address()):
        raise booking_rules.PickupMoved
    pickup = details.pickup
    if next_day and places.is_day_reached(order.pickup_date, pickup, now):
        changes["pickup_date"] = None
    elif order.pickup_date:
        first = order.quoted_pickup_date
        booking_rules.refuse_past_pickup(
            order.pickup_date, booking_rules.pickup_days(order.sender, pickup, now, first=first)
        )
    with limits.noting_refusals(now):
        # Locked, because an order that wasn't booked changes status twice, and its receiver may be
        # being erased.
        locked = Order.locked(order.pk)
        if locked.erased_at:
            raise Order.WrongStatus("Its receiver was erased. Book a new parcel.")
        if locked.returns_id and locked.other_returns().exists():
            raise Order.Duplicate
        if locked.problem != order.problem:
            raise Order.WrongStatus("Its price or its reason has changed since it was read.")
        if order.status == Status.NOT_BOOKED:
            move_to(order, Status.DRAFT, by=by, reason="to be booked again", at=now)
            changes["generation"] = order.generation + 1
        elif order.status == Status.DRAFT and "offer" in order.problem:
            # Keep the quote's age: if consent comes hours later, the price is checked before
            # sending (interface §8).
            changes |= asking.offer_fields(order.problem["offer"])
            changes["quoted_at"] = dt.datetime.fromisoformat(
                order.problem.get("quoted_at", "2000-01-01T00Z")
            )
        move_to(
            order,
            Status.BOOKING,
            by=by,
            reason="confirmed by the sender",
            at=now,
            due_at=now,
            **changes,
        )
        enqueue("book", order.pk)


IN_FLIGHT = BookingAttempt.objects.filter(
    order=OuterRef("pk"), state=BookingAttempt.State.IN_FLIGHT
)
PRESSES = OrderChange.objects.filter(order=OuterRef("pk"), new=Status.BOOKING).order_by("-pk")
OF_OTHERS = (
    *("sender__suspended_at", "sender__suspension_text", "sender__label_size"),
    *(f"account__{field.name}" for field in CarrierAccount._meta.concrete_fields),
)
DUE = (
    Order.objects.filter(status=Status.BOOKING)
    .select_related("sender", "account", "size")
    .only(*(field.name for field in Order._meta.concrete_fields), "size__uuid", *OF_OTHERS)
    # `presser_is_active`: the user who pressed Book, or has consented since, can still log in.
    .annotate(
        is_in_flight=Exists(IN_FLIGHT),
        presser_is_active=Subquery(PRESSES.values("by__is_active")[:1]),
    )
)

OF_OTHERS_AGAIN = PlannedSelect(
    DUE.select_related(None)
    .select_related("sender", "account")
    .only("due_at", "sender", "account", *OF_OTHERS)
    .filter(pk=Given("pk", BigIntegerField()))
    .order_by("pk")[:1]
)


@job("book", queue=DUE, lane="sender", order=10)
def process_booking(order: Any) -> None:
    """Send one due booking, if it may be sent.

    After each wait (for a turn, a price or a prepared booking) everything is checked again.
    """
    # either its worker has died or we are the late one; we don't know whether anything was sent
    if order.is_in_flight:
        in_flight = order.attempts.filter(state=BookingAttempt.State.IN_FLIGHT)
        # A late worker may complete it between these two lines.
        if order.renew() and (attempt := in_flight.first()):
            recording.record_unknown(
                attempt, "the worker stopped before the carrier's answer", at=timezone.now()
            )
        return
    client, has_fresh_price, body = None, False, b""
    while going := _may_go(order, is_reread=client is not None, has_fresh_price=has_fresh_price):
        now = timezone.now()
        if client is None:
            # this waits for a turn, maybe for seconds
            client = gateway.carrier_of(order, first="book")
        elif not has_fresh_price and not order.account.take_probe(now):
            order.postpone(now + dt.timedelta(seconds=60))
            return
        elif going.is_old:
            priced = asking.ask_again(order, client)
            if not _carry_out(order, priced, now):
                return
            has_fresh_price = True
        elif client.takes_two_calls() and not body:
            # A price and this call may take longer than one lease.
            prepared = (
                _carry_out(order, preparing.prepare(order, client, now), now)
                if order.renew()
                else None
            )
            if prepared is None:
                return
            body, has_fresh_price = prepared.body, True
        else:
            _send(order, client, body)
            return


def _may_go(order: Order, *, is_reread: bool, has_fresh_price: bool) -> verdict.Go | None:
    # Read the clock first: whatever is read after it can't be older than the verdict.
    now = timezone.now()
    if is_reread and not _read_again(order):
        return None
    found = verdict.of_booking(order, now, has_fresh_price=has_fresh_price)
    if not is_reread and isinstance(found, verdict.BackToDraft | verdict.Refuse):
        # The machine may have slept since the row was read, and a pause may have begun and ended.
        return _may_go(order, is_reread=True, has_fresh_price=has_fresh_price)
    return _carry_out(order, found, now)


def _read_again(order: Any) -> bool:
    """Reread what others may have changed: the sender, the account and the person who booked.

    Returns False if another worker or a person has taken over the order.
    """
    now = OF_OTHERS_AGAIN.first(pk=order.pk)
    if now is None or now.due_at != order.due_at:
        return False
    order.account, order.presser_is_active = now.account, now.presser_is_active
    order.sender.suspended_at, order.sender.suspension_text = (
        now.sender.suspended_at,
        now.sender.suspension_text,
    )
    return True


def _carry_out(
    order: Order, found: verdict.Verdict | verdict.PreparedVerdict, now: dt.datetime
) -> verdict.Go | None:
    """Carry out a verdict on an order that hasn't been sent.

    Returns the verdict if the booking may be sent.
    """
    match found:
        case verdict.Go(agreed):
            return found if agreed is None or order.change(quoted_at=now, **agreed) else None
        case verdict.WaitUntil(until):
            order.postpone(until)
        case verdict.Retry(after):
            order.try_later(now, after)
        case verdict.StopAccount(reason):
            order.account.stop(reason, now)
            order.postpone(now + dt.timedelta(seconds=60))
        case verdict.BackToDraft() | verdict.Refuse():
            _end_unsent(order, found, now)
    return None


def _end_unsent(
    order: Order, found: verdict.BackToDraft | verdict.Refuse, now: dt.datetime
) -> None:
    """End a due booking that hasn't been sent, or return it to its sender.

    Does nothing if another worker has taken it over.
    """
    with transaction.atomic():
        Order.locked(order.pk)
        if order.renew(now):
            move_to(
                order, found.status, reason=found.reason, at=now, due_at=None, problem=found.problem
            )
    if found.error:
        answers.report_fault(found.error, order.account, now, operation=found.asked)


def _send(order: Order, client: Carrier, body: bytes) -> None:
    """Write the attempt down, send it once, and record the outcome."""
    attempt = _write_down(order, timezone.now(), body)
    if attempt is None:
        return
    not_after = recording.send_until(attempt.lease_until)
    try:
        booked = client.book(bytes(attempt.body), key=str(attempt.key), not_after=not_after)
    except CarrierError as error:
        recording.record_outcome(attempt, error)
    else:
        recording.record_outcome(attempt, booked)


def _write_down(order: Order, now: dt.datetime, prepared: bytes = b"") -> BookingAttempt | None:
    """Write the attempt with its exact bytes, committed before the first byte leaves."""
    body = prepared or gateway.carrier_of(order).booking_body(preparing.shipment_of(order))
    until = now + lease_time()
    attempt = BookingAttempt(
        order=order,
        generation=order.generation,
        body=body,
        body_sha256=hashlib.sha256(body).hexdigest(),
        state=BookingAttempt.State.IN_FLIGHT,
        lease_until=until,
        sent_at=now,
    )
    try:
        with transaction.atomic(durable=True):
            end_if_restored()
            is_written = order.status == Status.BOOKING and order.renew(until, attempt, failures=1)
    except IntegrityError:  # there is already a live attempt for this order
        return None
    return attempt if is_written else None


def _same_form(order: Order, form_hash: str) -> Order:
    if order.form_hash != form_hash:
        raise TokenReused(str(order.uuid))
    return order


def _orders_of(quote: Quote, offer: Offered, **made: Any) -> list[Order]:
    """Return an order for each parcel of the quote, at that parcel's own price."""
    parcels = ParcelDetails.from_json(quote.details).parcels()
    return [
        _from_quote(quote, one, parcel=parcel, **made)
        for parcel, one in zip(parcels, offer.get("parcels", [offer]), strict=True)
    ]


def _give_tokens(orders: list[Order], form_token: uuid.UUID, form_hash: str) -> None:
    """Give each order of a form its own token, always the same one, and its place."""
    for number, order in enumerate(orders, start=1):
        is_first = number == 1
        order.form_token = form_token if is_first else uuid.uuid5(form_token, str(number))
        order.form_hash = form_hash
        if len(orders) > 1:
            order.consignment = form_token
            order.parcel_number, order.parcel_count = number, len(orders)


def _from_quote(
    quote: Quote,
    offer: Offered,
    *,
    by: User,
    pickup_date: dt.date | None,
    now: dt.datetime,
    parcel: ParcelDetails | None = None,
) -> Order:
    details = parcel or ParcelDetails.from_json(quote.details)
    plain = details.to_json()
    order = Order(
        sender=quote.sender,
        account_id=quote.account_of(offer),
        made_by=by,
        created_at=now,
        submitted_at=now,
        quote=quote,
        quoted_at=quote.made_at,
        pickup=plain["pickup"],
        entered=plain["measures"],
        contents=plain["contents"],
        contents_type=details.contents_type,
        cover_amount=details.cover,
        description=details.description,
        customer_reference=details.customer_reference,
        returns_id=details.returns,
        size=quote.sender.sizes.filter(uuid=details.size).first() if details.size else None,
        pickup_date=pickup_date,
        **{f"receiver_{name}": value for name, value in plain["receiver"].items()},
        **in_metric(details.measures),
        **asking.offer_fields(offer),
    )
    order.search = order.search_text()
    return order
