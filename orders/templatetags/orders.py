"""Answer templates' questions about orders and the carrier."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone

from orders.booking import limit_words
from orders.calling import gateway
from orders.calling.contract import another_day, has_parcel_tools
from orders.drafting.receivers import who_and_where
from orders.labels import printing
from orders.models import Order
from orders.models.account import PAUSABLE, CarrierAccount, Pause
from orders.notices import notifications
from orders.quoting.offers import PriceLine, is_tax
from orders.status import status_sentences
from orders.status.status_labels import status_label
from shipping_portal.accounts.models import Sender

register = template.Library()
MOST_COUNTED = 99
register.simple_tag(another_day)
register.simple_tag(has_parcel_tools)
register.filter(who_and_where)
register.filter(notifications.not_as_agreed)


@register.simple_tag(takes_context=True)
def parcel_tools(context: dict[str, Any], order: Order) -> str:
    """Return the page to change the order's pickup, or "" if this user has none."""
    is_closed = (
        order.erased_at
        or order.is_stopped(context["sender"])
        or hasattr(context["request"].user, "sees_as")
    )
    return (
        ""
        if is_closed or not has_parcel_tools(order.account)
        else reverse("tracking_page", args=[order.uuid])
    )


@register.simple_tag
def carrier_of(order: Order) -> str:
    """Return the name of the order's carrier, or "" unless two carriers take new orders."""
    return gateway.carrier_titles().get(order.account_id, "")


@register.simple_tag
def carrier_pauses() -> list[Pause]:
    """Return the pauses for everybody: the carrier's stop, and paused bookings or prices.

    There are none while another carrier takes orders.
    """
    now = timezone.now()
    pauses = [_pauses_of(account, now) for account in gateway.accounts_for_new_orders()]
    return pauses[0] if all(pauses) else []


def _pauses_of(account: CarrierAccount, now: dt.datetime) -> list[Pause]:
    pauses = (account.stop_as_a_pause(), *(account.pause_of(what, now) for what in PAUSABLE))
    return [pause for pause in pauses if pause]


@register.simple_tag
def limits_used(sender: Sender) -> list[limit_words.Usage]:
    """Return how much of each of the sender's limits is used at this moment."""
    return limit_words.usage(sender, timezone.now())


@register.simple_tag(takes_context=True)
def labels_to_print(context: dict[str, Any]) -> str:
    """Return how many labels wait to be printed, for the menu: `14`, at most `99+`, "" for none."""
    count = context.get("unprinted")  # the page has counted them
    if count is None:
        count = printing.count_unprinted(context["request"], most=MOST_COUNTED + 1)
    return f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count or "")


@register.filter
def summed(lines: list[PriceLine]) -> dict[str, Any]:
    """Return a breakdown for people: costs, tax added up per currency, and names of free items."""
    taxes: dict[str, Decimal] = {}
    for name, amount, currency in lines:
        if is_tax(name):
            taxes[currency] = taxes.get(currency, Decimal(0)) + amount
    return {
        "costs": [line for line in lines if line[1] and not is_tax(line[0])],
        "taxes": [(amount, currency) for currency, amount in taxes.items() if amount],
        "parts": [line for line in lines if line[1] and is_tax(line[0])],
        "zeros": [name for name, amount, _ in lines if not amount],
    }


@register.filter
def age(seconds: int) -> str:
    """Return a duration: `40 s`, `2 min`."""
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"


@register.simple_tag(takes_context=True)
def with_query(context: template.Context, **changes: Any) -> str:
    """Return this page's query with changes, so that filters keep the search.

    None removes a key.
    """
    query = context["request"].GET.copy()
    query.pop("before", None)
    for name, value in changes.items():
        if value is None or value == "":
            query.pop(name, None)
        else:
            query[name] = str(value)
    return f"?{query.urlencode()}" if query else "."


@register.filter
def way(order: Order) -> str:
    """Return who a parcel goes to, or who a return comes from: `to Noor Tamsin`."""
    return f"{'back from' if order.returns_id else 'to'} {order.of_customer('name')}"


@register.filter
def state_in_words(order: Order) -> str:
    """Return the order's state in words."""
    return status_label(order, timezone.now())[1]


@register.filter
def after_missed_pickup(order: Order) -> str:
    """Return what happens next."""
    return status_sentences.after_missed_pickup(order, timezone.now())
