"""Show exports on pages of lower apps. Templates may import upwards, code may not."""

from django import template
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.exporting.models import Export

register = template.Library()


@register.simple_tag
def account_exports(sender: Sender) -> list[Export]:
    """Return the account's exports, stored or in progress, newest first."""
    there = sender.exports.still_there(timezone.now())
    return list(there.filter(what=Export.What.ACCOUNT).select_related("made_by")[:5])


@register.simple_tag
def proof_pack_of(order: Order) -> Export | None:
    """Return a parcel's newest proof pack, stored or in progress."""
    return order.exports.still_there(timezone.now()).only("uuid", "created_at").first()
