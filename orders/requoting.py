"""Before a booking is sent: is the accepted price still the carrier's? (interface §1, §8)"""

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.conf import settings

from orders import answers, progress, quoting, settling
from orders.models import Order
from orders.models.quotes import bookable
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected


def still_agreed(order: Order, client: Carrier, now: dt.datetime) -> bool:
    """Ask for an old price again; return whether the booking may go at the accepted one or less.

    Equal or lower goes on, higher or gone goes back to the sender, and an unreachable carrier only postpones. Nothing
    was sent in any of these.
    """
    try:
        quoted = client.quote(order.details().shipment())
    except AccountStopped as error:
        order.account.stop(error.reason, now)
        order.postpone(now + dt.timedelta(seconds=60))
    except Rejected as error:
        problem = answers.problem(
            error, order.sender, order.pickup["country"], to=order.receiver_country, operation="quote"
        )
        settling.back_to_draft(order, {"kind": "gone", **problem}, at=now)
        answers.report(error, order.account, now, operation="quote")
    except NotSent as error:
        settling.try_later(order, now, retry_after=error.retry_after)
    except CarrierError:  # a quote books nothing, so an unclear answer is simply asked again
        settling.try_later(order, now)
    else:
        offers = [quoting.offer_from(product, order.details()) for product in quoted.products]
        offer = next((offer for offer in bookable(offers) if offer["code"] == order.product_code), None)
        if offer or not quoted.unreadable:
            return _accept(order, offer, now)
        settling.try_later(order, now)  # it may be the one that could not be read
    return False


def is_old(order: Order, now: dt.datetime) -> bool:
    """Return whether the accepted price has outlived its quote, or names a first pickup day that has come."""
    is_outlived = now - order.quoted_at > dt.timedelta(seconds=settings.QUOTE_SECONDS)
    return is_outlived or progress.has_come(order.quoted_pickup_date, order.details().pickup, now)


def _accept(order: Order, offer: dict[str, Any] | None, now: dt.datetime) -> bool:
    if offer is None:
        text = f"{order.product_name} is not offered for this parcel any more. Nothing was booked."
        settling.back_to_draft(order, {"kind": "gone", "text": text}, at=now)
        return False
    agreed = offer_fields(offer)
    if offer["currency"] != order.currency or agreed["price"] > order.price:
        problem = {
            "kind": "price_rose",
            "text": "The carrier changed its price before the booking was sent. Nothing was booked.",
            "old": str(order.price),
            "new": str(agreed["price"]),
            "offer": offer,
            "quoted_at": now.isoformat(),
        }
        settling.back_to_draft(order, problem, at=now)
        return False
    return order.change(quoted_at=now, **agreed)


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
        "quoted_pickup_date": quoting.first_pickup(offer),
        "eta_from": offer["eta_from"] and dt.date.fromisoformat(offer["eta_from"]),
        "eta_to": offer["eta_to"] and dt.date.fromisoformat(offer["eta_to"]),
    }
