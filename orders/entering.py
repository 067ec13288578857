"""Make the links by which a partner's server sends a person straight to a parcel."""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse

from orders.drafting import drafts
from orders.models import Draft, Order
from shipping_portal.accounts.access import BOOKERS
from shipping_portal.accounts.login.entry_links import create_link
from shipping_portal.accounts.models import EntryLink, Membership, User
from shipping_portal.refused import Refused


def link_to_new_parcel(user: User, values: Mapping[str, Any], *, now: dt.datetime) -> str:
    """Return a link to a new parcel with these form values, valid or not."""
    member = Membership.objects.select_related("sender").filter(user=user).first()
    if member is None or member.role not in BOOKERS:
        raise Refused("This person may not book.")
    if member.sender.pickup_address() is None:
        raise Refused("The account has no pickup address yet.")
    draft = drafts.begin(member.sender, user, values, now=now, source=Draft.Source.TYPED)
    path = reverse("draft", args=[draft.uuid])
    return create_link(user, EntryLink.Purpose.NEW_PARCEL, path, now=now)


def link_to_parcel(user: User, key: uuid.UUID | None, *, now: dt.datetime) -> str:
    """Return a link to a parcel of this person's account. Raises Http404."""
    order = get_object_or_404(Order.objects.for_user(user), uuid=key)
    path = reverse("parcel", args=[order.uuid])
    return create_link(user, EntryLink.Purpose.PARCEL, path, now=now)
