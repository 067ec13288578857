"""Before a booking is sent: is the accepted price still the carrier's? (interface §1, §8)"""

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils import timezone

from orders.booking import answers, settling
from orders.booking.verdict import BackToDraft, Go, PriceVerdict, Retry, StopAccount
from orders.models import Order
from orders.models.quotes import bookable
from orders.quoting import asking
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected


def ask_again(order: Order, client: Carrier) -> PriceVerdict:
    """Ask for an old price again; return whether the booking may go at the accepted one or less.

    Equal or lower goes on, higher or gone goes back to the sender, and an unreachable carrier only postpones. Nothing
    was sent in any of these.
    """
    try:
        quoted = client.quote(order.details().shipment())
    except AccountStopped as error:
        return StopAccount(error.reason)
    except Rejected as error:
        problem = answers.problem(
            error, order.sender, order.pickup["country"], to=order.receiver_country, operation="quote"
        )
        return BackToDraft({"kind": "gone", **problem}, error)
    except NotSent as error:
        return Retry(error.retry_after)
    except CarrierError:  # a quote books nothing, so an unclear answer is simply asked again
        return Retry()
    offers = [asking.offer_from(product, order.details()) for product in quoted.products]
    offer = next((offer for offer in bookable(offers) if offer["code"] == order.product_code), None)
    if offer is None and quoted.unreadable:
        return Retry()  # it may be the one that could not be read
    return compare_offer(order, offer, timezone.now())


def compare_offer(order: Order, offer: dict[str, Any] | None, now: dt.datetime) -> Go | BackToDraft:
    """Return whether this offer of the accepted product is no dearer than what its sender agreed to."""
    if offer is None:
        text = f"{order.product_name} is not offered for this parcel any more. Nothing was booked."
        return BackToDraft({"kind": "gone", "text": text})
    agreed = offer_fields(offer)
    if offer["currency"] == order.currency and agreed["price"] <= order.price:
        return Go(agreed)
    return BackToDraft(
        {
            "kind": "price_rose",
            "text": "The carrier changed its price before the booking was sent. Nothing was booked.",
            "old": str(order.price),
            "new": str(agreed["price"]),
            "offer": offer,
            "quoted_at": now.isoformat(),
        }
    )


def offer_fields(offer: dict[str, Any]) -> dict[str, Any]:
    """Return the order's columns for an accepted offer."""
    return {
        "product_code": offer["code"],
        "product_name": offer["name"],
        "first_mile": offer["first_mile"],
        "duties_paid": offer["duties_paid"],
        "price": Decimal(offer["amount"]).quantize(settling.CENT, ROUND_HALF_UP),
        "currency": offer["currency"],
        "breakdown": offer["breakdown"],
        "plan": offer["plan"],
        "quoted_pickup_date": asking.first_pickup(offer),
        "eta_from": offer["eta_from"] and dt.date.fromisoformat(offer["eta_from"]),
        "eta_to": offer["eta_to"] and dt.date.fromisoformat(offer["eta_to"]),
    }
