"""Prepare a booking at a carrier that takes two calls.

The first call is free and repeatable, and its reply may contain the price.
"""

import datetime as dt

from orders.booking import answers
from orders.booking.verdict import BackToDraft, Go, PreparedVerdict, Refuse, Retry, StopAccount
from orders.models import Order
from orders.models.quotes import Offered
from orders.quoting import asking
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected
from shipping_portal.carrier.messages import Money, Shipment


def prepare(order: Order, client: Carrier, now: dt.datetime) -> PreparedVerdict:
    """Return the verdict on a booking, with its bytes if it may go.

    Nothing has been bought yet, whatever the verdict.
    """
    try:
        prepared = client.prepare(shipment_of(order))
    except AccountStopped as error:
        return StopAccount(error.reason)
    except Rejected as error:
        problem = answers.refusal_problem(
            error, order.sender, order.pickup["country"], to=order.receiver_country
        )
        return Refuse(problem, error)
    except NotSent as error:
        return Retry(error.retry_after)
    except CarrierError:  # nothing was bought, so after an unclear answer we simply ask again
        return Retry()
    if prepared.price is None:
        return Go(body=prepared.body)
    match asking.compare_offer(order, _offer_at(order, prepared.price), now):
        case BackToDraft() as dearer:
            return dearer
        case Go():
            return Go(body=prepared.body)


def shipment_of(order: Order) -> Shipment:
    """Return what the carrier is asked to book."""
    return order.details().shipment(
        product_code=order.product_code, order_key=order.order_key(), pickup_date=order.pickup_date
    )


def _offer_at(order: Order, price: Money) -> Offered:
    """Return the order's accepted offer at another price, in the form that a Quote stores."""
    days = {"pickup": order.quoted_pickup_date, "eta_from": order.eta_from, "eta_to": order.eta_to}
    return {
        "code": order.product_code,
        "name": order.product_name,
        "first_mile": order.first_mile,
        "duties_paid": order.duties_paid,
        "amount": str(price.amount),
        "currency": price.currency,
        "breakdown": [],
        "plan": order.plan,
        **{name: day and day.isoformat() for name, day in days.items()},
    }
