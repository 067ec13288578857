"""Check whether a parcel may be booked: sender, time, price, account and pickup day.

Also find duplicates: the same box to the same person, booked a moment ago. The sender is asked
about these first.
"""

import datetime as dt
import uuid
from collections.abc import Collection
from decimal import Decimal

from django.db.models import Q

from orders.booking.limits import refuse_unless_room
from orders.calling import gateway
from orders.calling.contract import current_contract, customs_apply
from orders.drafting.parcel_details import ParcelDetails, in_metric
from orders.models import Order, Quote
from orders.models.account import BOOKINGS, CarrierAccount
from orders.models.quotes import Offered
from orders.models.statuses import Status
from orders.quoting import asking
from orders.status.status_labels import UNCLEAR
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.receivers import receiver_fingerprint
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.messages import Party


class Suspended(Exception):
    """Raised when booking is switched off for this sender."""


class Paused(Exception):
    """Raised when the operator paused bookings for everybody. The text is for the sender."""


class ServiceNotOffered(Exception):
    """Raised when the chosen product isn't in the quote."""


class ContentsMissing(ServiceNotOffered):
    """Raised when the contents are still missing. Prices don't need them; a booking does."""


class CarrierChanged(ServiceNotOffered):
    """Raised when the price is from an account that takes no new orders."""


class PickupMoved(ServiceNotOffered):
    """Raised when the sender's pickup address has changed since the price.

    The parcel would start at that address, or end there if it is a return.
    """


class PickupDayPassed(Exception):
    """Raised when the chosen pickup day is no longer on offer."""


def bookable_offer(
    quote: Quote, code: str, pickup_date: dt.date | None, now: dt.datetime
) -> Offered:
    """Return the offer to book. `code` is its key: see orders.models.quotes.offer_key.

    Raises Suspended, Paused, LimitReached, ServiceNotOffered, ContentsMissing, CarrierChanged,
    PickupMoved or PickupDayPassed.
    """
    offer = quote.offer(code)
    wanted = quote.account_of(offer) if offer else quote.account_id
    account = refuse_unless_booking_is_on(
        quote.sender,
        now,
        Decimal(offer["amount"]) if offer else None,
        account=wanted,
        parcels=len(quote.details.get("more", [])) + 1,
    )
    if account.pk != wanted:
        raise CarrierChanged
    # A price check has no receiver yet.
    if offer is None or not quote.details["receiver"]["name"]:
        raise ServiceNotOffered(code)
    details = ParcelDetails.from_json(quote.details)
    if lacks_contents(details):
        raise ContentsMissing
    if details.has_moved(quote.sender.pickup_address()):
        raise PickupMoved
    if pickup_date and offer["first_mile"] == "drop-off":
        raise PickupDayPassed(pickup_date.isoformat())
    if pickup_date:
        first = asking.first_pickup(offer)
        refuse_past_pickup(pickup_date, pickup_days(quote.sender, details.pickup, now, first=first))
    return offer


def lacks_contents(details: ParcelDetails) -> bool:
    """Return whether the carrier or customs need the contents, and nobody has entered them."""
    if not details.contents and customs_apply(details.pickup, details.receiver):
        return True
    return current_contract().description_needed and not details.description


def refuse_unless_booking_is_on(
    sender: Sender,
    now: dt.datetime,
    price: Decimal | None = None,
    *,
    account: int | None = None,
    is_booking: bool = True,
    parcels: int = 1,
) -> CarrierAccount:
    """Return the account with this key, if it takes new orders and the sender may book now.

    Without a key, or if that account takes no new orders, return the default. Bookings then count
    as paused only if they are paused at every account.

    `move_to` counts simultaneous requests. Without `is_booking` the sender only looks at prices, so
    their account needn't be approved.

    Raises Suspended, Paused or LimitReached.
    """
    if sender.is_suspended:
        raise Suspended(sender.suspension_text)
    every = gateway.accounts_for_new_orders()
    concerned = [row for row in every if row.pk == account] or every
    pauses = [pause for row in concerned if (pause := row.pause_of(BOOKINGS, now))]
    if len(pauses) == len(concerned):
        raise Paused(pauses[0].text)
    refuse_unless_room(sender, now, price, is_booking=is_booking, parcels=parcels)
    return concerned[0]


def pickup_days(
    sender: Sender, pickup: Party, now: dt.datetime, *, first: dt.date | None = None
) -> list[dt.date]:
    """Return the pickup days on offer: the carrier's `first`, then business days there (§8).

    Our calendar may list a holiday on which this carrier works, or miss one on which it doesn't.
    `first` may come from a price quoted the day before. Today is never a pickup day.
    """
    today = places.day_at(pickup, now)
    days = places.business_days(
        pickup.country, pickup.state, after=today, count=sender.pickup_days_ahead
    )
    if first is None or first <= today:
        return days
    return [first, *(day for day in days if day > first)]


def refuse_past_pickup(day: dt.date, on_offer: list[dt.date]) -> None:
    if day not in on_offer:
        raise PickupDayPassed(day.isoformat())


LATELY = dt.timedelta(hours=2)
COUNTED = (Status.BOOKING, Status.BOOKED, *UNCLEAR)  # being booked, booked, or perhaps booked


def booked_lately(quote: Quote, now: dt.datetime, *, but: Collection[uuid.UUID]) -> Order | None:
    """Return the newest parcel to the same receiver in the same size, not ordered by these forms.

    For a return, it is the newest return of the same parcel, whenever that was booked.
    """
    details = ParcelDetails.from_json(quote.details)
    if details.returns:
        return Order.returns_of(details.returns).exclude(form_token__in=but).order_by("-pk").first()
    receiver, same_size = details.receiver, Q()
    for parcel in details.parcels():
        same_size |= Q(**in_metric(parcel.measures))
    alike = Order.objects.filter(
        same_size,
        sender=quote.sender,
        submitted_at__gt=now - LATELY,
        status__in=COUNTED,
        receiver_postcode=receiver.postcode,
        receiver_country=receiver.country,
    ).exclude(form_token__in=but)
    who = receiver_fingerprint(receiver)
    return next(
        (
            order
            for order in alike.order_by("-pk")
            if receiver_fingerprint(order.details().receiver) == who
        ),
        None,
    )


def duplicate_to_ask_about(
    quote: Quote, now: dt.datetime, *, form_token: uuid.UUID, follows: Order | None = None
) -> Order | None:
    """Return the parcel to ask about before booking this form, or None once the form has an order.

    It is the parcel that the form's draft `follows`, or otherwise a similar one that was just
    booked.
    """
    duplicate = follows or booked_lately(quote, now, but=[form_token])
    is_answered = (
        duplicate and Order.objects.filter(sender=quote.sender, form_token=form_token).exists()
    )
    return None if is_answered else duplicate
