"""The same box to the same person, booked a moment ago: before another one is booked, its sender is asked."""

import datetime as dt
import uuid

from orders.entry import Entry, in_metric
from orders.meaning import UNCLEAR
from orders.models import Order, Quote
from orders.models.statuses import Status
from shipping_portal.accounts.receivers import fingerprint

LATELY = dt.timedelta(hours=2)
COUNTED = (Status.BOOKING, Status.BOOKED, *UNCLEAR)  # being booked, booked, or perhaps booked


def booked_lately(quote: Quote, now: dt.datetime, *, but: uuid.UUID) -> Order | None:
    """The newest parcel of this sender to the same receiver in the same size, except the order of the form `but`."""
    entry = Entry.from_json(quote.entry)
    receiver = entry.receiver
    alike = Order.objects.filter(
        sender=quote.sender,
        submitted_at__gt=now - LATELY,
        status__in=COUNTED,
        receiver_postcode=receiver.postcode,
        receiver_country=receiver.country,
        **in_metric(entry.measures),
    ).exclude(form_token=but)
    who = fingerprint(receiver)
    return next((order for order in alike.order_by("-pk") if fingerprint(order.entry().receiver) == who), None)


def to_ask_about(quote: Quote, now: dt.datetime, *, form_token: uuid.UUID) -> Order | None:
    """The parcel to ask about before this form books; none where the form was answered with its order before."""
    duplicate = booked_lately(quote, now, but=form_token)
    is_answered = duplicate and Order.objects.filter(sender=quote.sender, form_token=form_token).exists()
    return None if is_answered else duplicate
