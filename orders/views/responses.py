"""Replies and sentences that several pages share."""

import math

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.booking import answers, booking_rules, bookings
from orders.calling import waiting
from orders.models import Order
from orders.quoting import asking
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.errors import AccountStopped, Rejected


def refused(request: HttpRequest, *, title: str, text: str, order: Order, status: int = 409) -> HttpResponse:
    """Say that what was asked does not fit the order as it stands, and lead back to it."""
    return render(request, "409.html", {"title": title, "text": text, "order": order}, status=status)


def suspended(request: HttpRequest, *, status: int) -> HttpResponse:
    """Say that booking is off for this sender; the banner on the page says since when and why."""
    return render(request, "orders/suspended.html", status=status)


def sentence(error: Exception, sender: Sender, *, to: str = "") -> str:
    """Return why there are no prices or no booking, and what to do about it. Nothing was booked in any of these.

    A refusal names its fields as `to` does, the receiver's country.
    """
    match error:
        case asking.TooManyQuotes():
            return (
                f"This account asks for prices at most {sender.quotes_a_minute} times a minute, and has. "
                f"Nothing was booked. Try again in a minute; contact us and quote {sender.number} if you need more."
            )
        case booking_rules.Paused() | asking.Paused() | waiting.Full():
            return f"{error} Nothing was booked.".strip()
        case bookings.LimitReached():
            return str(error)
        case booking_rules.PickupDayPassed():
            return "That pickup day is no longer on offer. Nothing was booked. Choose another."
        case booking_rules.CarrierChanged():
            return (
                "We send with another carrier now, so this price no longer holds. Nothing was booked. "
                "Check prices again."
            )
        case booking_rules.ServiceNotOffered():
            return "That service is not among the offers for this parcel. Nothing was booked. Choose another."
        case AccountStopped():
            return (
                "The carrier gives this portal no prices just now. Nothing was booked. "
                f"Contact us and quote {sender.number}."
            )
        case asking.UnreadablePrices():
            return (
                "The carrier's answer couldn't be read in full, so there are no prices yet. "
                "Nothing was booked. We've told the operator."
            )
        case Rejected():  # of a parcel priced before
            problem = answers.problem(error, sender, sender.country, to=to, operation="quote")
            return f"{problem['text']} Nothing was booked."
        case _:
            why = f"{answers.why_silent(error)}, so there are no prices yet. Nothing was booked."
            return f"{why} Try again{_when(error)}."


def _when(error: Exception) -> str:
    """Return how long the carrier wants to be left alone, where it says so."""
    seconds = getattr(error, "retry_after", None)
    return f" in {math.ceil(seconds)} s" if seconds else ""
