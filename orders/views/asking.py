"""Asking the carrier for prices on behalf of a page: a quote to book from, or why there is none."""

from django.utils import timezone

from orders import answers, awaiting_prices, booking, quoting
from orders.entry import Entry
from orders.forms import ParcelForm
from orders.models import Quote
from orders.views.replies import sentence
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.carrier.errors import CarrierError, Rejected

NO_PRICES = (CarrierError, quoting.TooMany, quoting.Paused, booking.Paused, booking.LimitReached)


def take_prices(request: MemberRequest, form: ParcelForm) -> Quote | None:
    """Prices for a good form; when there are none the form says why and keeps everything."""
    try:
        return prices(request, form.entry())
    except Rejected as error:
        answers.put_at(form, error)
    except NO_PRICES as error:
        form.add_error(None, sentence(error, request.sender))
        form.may_wait = isinstance(error, awaiting_prices.WORTH_WAITING)
    return None


def prices(request: MemberRequest, entry: Entry, *, fresh: bool = False) -> Quote:
    """A quote to book from. One that was booked already would answer with its order, so another is asked for."""
    now = timezone.now()
    booking.refuse_unless_booking_is_on(request.sender, now, is_booking=False)
    quote = quoting.ask(request.sender, entry, by=request.user, now=now, fresh=fresh)
    if quote.orders.exists():
        quote = quoting.ask(request.sender, entry, by=request.user, now=now, fresh=True)
    return quote
