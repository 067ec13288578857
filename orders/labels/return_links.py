"""Give a return's label, once, to the person who sends the parcel back without a login.

The database holds the hash of a token. The sender sees the address when the link is made, and never
again; a new link replaces it.
"""

import datetime as dt
import secrets

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from orders.labels.originals import why_none
from orders.labels.printing import label_of
from orders.models import LabelBytes, Order, ReturnLink
from orders.models.statuses import WITH_THE_SENDER, Status
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.refused import Refused

LASTS = dt.timedelta(days=14)


def make_return_link(order: Order, *, by: User, now: dt.datetime) -> str:
    """Return a new address for this return's label; earlier ones no longer work.

    Raises Refused.
    """
    if why := why_no_link(order):
        raise Refused(why)
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        Order.locked(order.pk)
        ReturnLink.objects.filter(order=order).delete()
        ReturnLink.objects.create(
            order=order,
            token_hash=token_hash(token),
            made_by=by,
            made_at=now,
            expires_at=now + LASTS,
        )
        Audit.write("return label shared", order, by=by, sender=order.sender, at=now)
    return settings.SITE_URL + reverse("return_label", args=[token])


@transaction.atomic
def withdraw_link(order: Order, *, by: User, now: dt.datetime) -> None:
    """Delete the link. Its address never works again."""
    deleted, _ = ReturnLink.objects.filter(order=order).delete()
    if deleted:
        Audit.write("return label withdrawn", order, by=by, sender=order.sender, at=now)


def why_no_link(order: Order) -> str:
    """Return why no link to this label can be made now, or ""."""
    if not settings.RECEIVER_PAGES:
        return "Pages for receivers are turned off here."
    if order.sender.is_suspended:
        return "Booking is off for this account, and so is sharing."
    if order.returns_id is None or order.erased_at:
        return "Only a return's label can be given away."
    if not order.is_booked or order.progress not in WITH_THE_SENDER:
        return "Its label isn't needed any more."
    return "" if label_of(order) else why_none(order)


def find_return_link(token: str, now: dt.datetime) -> ReturnLink | None:
    """Return the link at this address while it works. Every wrong address costs one query."""
    return _good_links(now).filter(token_hash=token_hash(token)).first()


def use_return_link(link: ReturnLink, now: dt.datetime) -> bytes | None:
    """Use up the link and return the label's bytes.

    If two browsers ask at the same time, one of them gets None.

    Raises what Label.serve raises; the link then still works.
    """
    label = label_of(link.order)
    if label is None:  # withheld after a restore
        raise LabelBytes.DoesNotExist
    content = label.serve(at=now)
    with transaction.atomic():
        # The condition joins the order, so PostgreSQL wouldn't reread the link after waiting.
        order = Order.locked(link.order_id)
        if not _good_links(now).filter(pk=link.pk).update(taken_at=now):
            return None
        Audit.write("return label taken", order, by=None, sender=order.sender, at=now)
    return content


def _good_links(now: dt.datetime) -> QuerySet[ReturnLink]:
    """Return unused links whose return is booked and hasn't moved."""
    waiting = {"order__status": Status.BOOKED, "order__progress__in": WITH_THE_SENDER}
    unused = ReturnLink.objects.filter(taken_at=None, expires_at__gt=now, **waiting)
    return unused.filter(order__sender__dispatch_stopped_at=None).select_related("order__sender")
