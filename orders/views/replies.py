"""Replies and sentences that several pages share."""

import math

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders import booking, quoting
from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.errors import AccountStopped, NotSent, OutcomeUnknown

SERVER_TROUBLE = 500


def refused(request: HttpRequest, *, title: str, text: str, order: Order, status: int = 409) -> HttpResponse:
    """What was asked does not fit the order as it stands; says so and leads back to it."""
    return render(request, "409.html", {"title": title, "text": text, "order": order}, status=status)


def suspended(request: HttpRequest, *, status: int) -> HttpResponse:
    """Booking is off for this sender; the banner on the page says since when and why."""
    return render(request, "orders/suspended.html", status=status)


def sentence(error: Exception, sender: Sender) -> str:
    """Why there are no prices or no booking, and what to do about it. Nothing was booked in any of these."""
    match error:
        case quoting.TooMany():
            return (
                f"This account asks for prices at most {sender.quotes_a_minute} times a minute. "
                "Nothing was booked. Wait a minute, then try again."
            )
        case booking.Paused() | quoting.Paused():
            return f"{error} Nothing was booked.".strip()
        case booking.TooManyToday():
            return (
                f"This account books at most {sender.bookings_a_day} parcels a day. Nothing was booked. "
                f"Contact us and quote {sender.number} if you need more."
            )
        case booking.PickupDayPassed():
            return "That pickup day is no longer on offer. Nothing was booked. Choose another."
        case booking.Gone():
            return "That service is not among the offers for this parcel. Nothing was booked. Choose another."
        case AccountStopped():
            return (
                "The carrier gives this portal no prices just now. Nothing was booked. "
                f"Contact us and quote {sender.number}."
            )
        case quoting.Unreadable():
            return (
                "The carrier's answer couldn't be read in full, so there are no prices yet. "
                "Nothing was booked. We've told the operator."
            )
        case NotSent(status=429) | OutcomeUnknown(status=429):
            return (
                f"The carrier is asked too often just now. Nothing was booked. Try again in {_wait(error)}."
            )
        case OutcomeUnknown(status=int(status)) if status >= SERVER_TROUBLE:
            return (
                f"The carrier has trouble of its own (it answered {status}), so there are no prices yet. "
                "Nothing was booked. Try again."
            )
        case OutcomeUnknown(status=int()):
            return (
                "The carrier gave an answer we can't read, so there are no prices yet. "
                "Nothing was booked. Try again; if it stays so, contact us."
            )
        case _:
            return "The carrier didn't answer, so there are no prices yet. Nothing was booked. Try again."


def _wait(error: NotSent | OutcomeUnknown) -> str:
    """How long the carrier wants to be left alone; a minute where it doesn't say."""
    seconds = getattr(error, "retry_after", None)
    return f"{math.ceil(seconds)} s" if seconds else "a minute"
