"""Correct a booked parcel: cancel it, then book it again exactly once.

ask_to_replace      (web)     the cancellation is due, the replacement stored; nothing new is booked
replace_due_parcel  (worker)  the carrier cancelled it, or noted the request for a refund → the new
                              order is due; it refused → the replacement ends with a reason
"""

import datetime as dt
import uuid

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from orders.booking import booking_rules, bookings, limit_words
from orders.booking.limits import LimitReached
from orders.cancelling import cancels
from orders.drafting import returning
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order, Quote, Replacement
from orders.notices import notifications
from orders.status.transitions import OF_FORM
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import User
from shipping_portal.jobs.registry import job

WHY = "something is wrong on it"
NO_BOOKING: dict[type[Exception], str] = {
    booking_rules.Suspended: "Booking is off for this account.",
    booking_rules.Paused: "Bookings are paused.",
    booking_rules.PickupDayPassed: "The pickup day passed meanwhile.",
    booking_rules.CarrierChanged: (
        "We send with another carrier since, so its price no longer holds."
    ),
    booking_rules.ContentsMissing: "The carrier has to know what's inside now.",
    booking_rules.PickupMoved: "Your pickup address has changed since.",
    booking_rules.ServiceNotOffered: "Its service is no longer offered.",
}


class OldPrice(Exception):
    """Raised when the price on the page has expired. Nothing is cancelled then."""


def ask_to_replace(
    order: Order,
    *,
    quote: Quote,
    code: str,
    by: User,
    form_token: uuid.UUID,
    pickup_date: dt.date | None,
    now: dt.datetime,
) -> None:
    """Cancel this parcel, and book the quoted one once that is confirmed or noted.

    Sending the same form again changes nothing.

    Raises OldPrice and what cancels.ask_to_cancel and booking_rules.bookable_offer raise. Nothing
    is cancelled or booked then.
    """
    same_form = asked_by_form(order, form_token).filter(problem="")
    if same_form.exists():
        return
    if not quote.is_live(now):
        raise OldPrice(str(quote.uuid))
    booking_rules.bookable_offer(quote, code, pickup_date, now)
    try:
        with transaction.atomic():
            Replacement.objects.create(
                order=order,
                quote=quote,
                product_code=code,
                pickup_date=pickup_date,
                form_token=_token_of(order, form_token),
                asked_by=by,
                asked_at=now,
                due_at=now,
            )
            cancels.ask_to_cancel(order, by=by, why=WHY, now=now)
    except (IntegrityError, Order.WrongStatus) as error:
        # A simultaneous request was faster, maybe with the same form.
        if not same_form.exists():
            raise Order.WrongStatus("It can't be replaced, or is being replaced.") from error


def asked_by_form(order: Order, form_token: uuid.UUID) -> QuerySet[Replacement]:
    """Return the replacement that this form asked for."""
    return order.replacements.filter(form_token=_token_of(order, form_token))


def _token_of(order: Order, form_token: uuid.UUID) -> uuid.UUID:
    """Return the order's own token of a form.

    Two parcels with the same correction share a quote, but each needs its own order.
    """
    return uuid.uuid5(form_token, str(order.uuid))


@job(
    "replace",
    queue=Replacement.objects.answered().select_related("order", "quote__sender", "asked_by"),
    lane="order__sender",
    order=40,
)
def replace_due_parcel(replacement: Replacement) -> None:
    """Book a parcel's replacement, or record why not."""
    now, order = timezone.now(), replacement.order
    # Made by a worker that died: the old parcel and the quote may have changed since.
    if made := OF_FORM.first(sender=order.sender_id, token=replacement.form_token):
        return _end_booked(replacement, made, now)
    if order.status not in Replacement.GOES_ON:
        why = order.problem.get("text", "")
        return _end(replacement, f"{order} wasn't cancelled. {why}", now)
    if order.cancels.filter(asked_at__gt=replacement.asked_at).exists():
        return _end(replacement, "It was cancelled for another reason since.", now)
    if replacement.quote is None:
        return _end(replacement, "It took so long that the price is gone.", now)
    _book(replacement, replacement.quote, now)


def _book(replacement: Replacement, quote: Quote, now: dt.datetime) -> None:
    """Make the new order due. The form's token makes it one order, however often this runs."""
    try:
        details = ParcelDetails.from_json(quote.details)
        if details.returns is None:
            receivers.correct_receiver(
                quote.sender, replacement.order.details().receiver, details.receiver
            )
        made = bookings.submit(
            quote=quote,
            code=replacement.product_code,
            by=replacement.asked_by,
            form_token=replacement.form_token,
            pickup_date=replacement.pickup_date,
            now=now,
            # The parcel it replaces may still exist at the carrier; returns made since then weren't
            # meant.
            is_another=not _was_sent_back_since(replacement, details),
        )
    except LimitReached as error:
        return _end(replacement, limit_words.refusal(error, quote.sender), now)
    except Order.Duplicate:
        return _end(replacement, returning.ANOTHER, now)
    except tuple(NO_BOOKING) as error:
        return _end(replacement, NO_BOOKING[type(error)], now)
    _end_booked(replacement, made, now)


@transaction.atomic
def _end_booked(replacement: Replacement, made: Order, now: dt.datetime) -> None:
    """Put the new order in the old one's place.

    There is an earlier new order if the carrier refused the refund and the old one was corrected
    again.
    """
    old = replacement.order
    Order.objects.filter(replaces=old).exclude(pk=made.pk).update(replaces=None)
    Order.objects.filter(pk=made.pk).update(
        replaces=old,
        consignment=old.consignment,
        parcel_number=old.parcel_number,
        parcel_count=old.parcel_count,
    )
    Replacement.objects.filter(pk=replacement.pk).update(
        ended_at=now, booked=made, problem="", due_at=None, **Replacement.AFRESH
    )


def _was_sent_back_since(replacement: Replacement, details: ParcelDetails) -> bool:
    """Return whether another return of the parcel was booked while this correction waited."""
    if details.returns is None:
        return False
    since = Order.returns_of(details.returns).filter(submitted_at__gt=replacement.asked_at)
    return since.exists()


def leave_out(replacement: Replacement, *, now: dt.datetime) -> None:
    """End a replacement that a restore held, without a problem: the carrier has the new parcel."""
    _end(replacement, "", now)


@transaction.atomic
def _end(replacement: Replacement, problem: str, now: dt.datetime) -> None:
    replacement.ended_at, replacement.problem = now, problem.strip()[:500]
    open_one = Replacement.objects.filter(pk=replacement.pk, ended_at=None)
    if open_one.update(
        ended_at=now, problem=replacement.problem, due_at=None, **Replacement.AFRESH
    ):
        notifications.notify_replacement_end(replacement, now)
