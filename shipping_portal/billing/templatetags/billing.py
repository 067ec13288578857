"""Show charges on pages of lower apps. Templates may import upwards, code may not."""

from django import template
from django.utils import timezone

from orders.drafting.sizes import list_sizes
from orders.models import Order
from shipping_portal.accounts.access import SEE_MONEY, MemberRequest
from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.billing.pages import lines, size_guard, statements

MOST_LINES = 200  # of one parcel's charges
register = template.Library()
register.simple_tag(size_guard.weight_advice, name="size_advice")


@register.simple_tag(takes_context=True)
def charges_of(context: template.Context, order: Order) -> lines.Charged | None:
    """Return a parcel's charges with reasons, or None for users who may not see money."""
    request: MemberRequest = context["request"]
    if request.membership.role not in SEE_MONEY:
        return None
    found = (
        statements.lines_of(request.user, request.sender).filter(order=order).order_by("week", "pk")
    )
    return lines.parcel_charges(
        statements.explained_lines(found)[:MOST_LINES], request.sender, request.membership.role
    )


@register.simple_tag
def sizes_with_history(sender: Sender) -> list[dict[str, object]]:
    """Return each saved size with its size charges and its parcels' typical weight.

    The number of queries is the same for one size and for many.
    """
    today = sender.day_of(timezone.now())
    rates, histories = size_guard.size_rates(sender, today), size_guard.size_histories(sender)

    def typical(size: ParcelSize) -> object:
        found = histories[size.pk].typical if size.pk in histories else None
        return size_guard.in_unit(found, size.weight_units) if found else None

    return [
        {"size": size, "rate": rates.get(size.pk), "typical": typical(size)}
        for size in list_sizes(sender)
    ]
