"""The timeline for the pages of lower apps: templates may read up, code may not."""

from typing import Any

from django import template
from django.utils import timezone

from orders.models import Export, Order
from shipping_portal.accounts.models import Sender
from tracking import timeline
from tracking.exporting import owing as exports
from tracking.models import Parcel

register = template.Library()


@register.simple_tag
def timeline_of(subject: Any, sender: Sender) -> list[timeline.TimelineEntry]:
    """The scans of a parcel, or of an order's parcel, newest first in the sender's zone."""
    parcel = subject if isinstance(subject, Parcel) else getattr(subject, "parcel", None)
    return timeline.for_parcel(parcel, sender.tzinfo)


@register.simple_tag
def proof_pack_of(order: Order) -> Export | None:
    """The newest proof pack of this parcel that is still there, or on its way."""
    return exports.still_there(order.exports.all(), timezone.now()).first()


@register.simple_tag
def account_exports(sender: Sender) -> list[Export]:
    """The exports of the whole account that are still there or on their way, newest first."""
    mine = sender.exports.filter(what=Export.What.ACCOUNT).select_related("made_by")
    return list(exports.still_there(mine, timezone.now())[:5])
