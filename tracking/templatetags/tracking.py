"""Show the timeline on pages of lower apps: templates may read upwards, code may not."""

from typing import Any

from django import template
from django.conf import settings

from orders.models import Order
from shipping_portal.accounts.models import Sender
from tracking import milestones, receiver_pages, timeline
from tracking.models import Parcel

register = template.Library()
register.simple_tag(milestones.full_dashes, name="dashes")
register.simple_tag(milestones.of_order, name="milestones_of")


@register.simple_tag
def timeline_of(subject: Any, sender: Sender) -> list[timeline.TimelineEntry]:
    """Return the scans of a parcel, or of an order's parcel, newest first in the sender's zone."""
    parcel = subject if isinstance(subject, Parcel) else getattr(subject, "parcel", None)
    return timeline.for_parcel(parcel, sender.tzinfo)


@register.simple_tag
def receiver_page_of(order: Order) -> str:
    """Return `on` if the receiver has a page for it, `off` if one may be shared, or else ""."""
    if settings.RECEIVER_PAGES and hasattr(order, "receiver_page"):
        return "on"  # retention deletes the row within an hour of its end
    return "" if receiver_pages.why_not_shared(order) else "off"
