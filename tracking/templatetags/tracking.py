"""The timeline for the pages of lower apps: templates may read up, code may not."""

from typing import Any

from django import template
from django.utils import timezone

from orders.models import Export
from shipping_portal.accounts.models import Sender
from tracking import timeline
from tracking.models import Parcel

register = template.Library()


@register.simple_tag
def timeline_of(subject: Any, sender: Sender) -> list[timeline.TimelineEntry]:
    """The scans of a parcel, or of an order's parcel, newest first in the sender's zone."""
    parcel = subject if isinstance(subject, Parcel) else getattr(subject, "parcel", None)
    return timeline.for_parcel(parcel, sender.tzinfo)


@register.simple_tag
def account_exports(sender: Sender) -> list[Export]:
    """The exports of the whole account that are still there or on their way, newest first."""
    there = sender.exports.still_there(timezone.now())
    return list(there.filter(what=Export.What.ACCOUNT).select_related("made_by")[:5])
