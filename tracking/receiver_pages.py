"""Share one parcel's progress with its receiver, at an address that nobody can guess.

The database holds a hash, which finds the page, and a nonce. The address can be computed again from
the nonce, to show it to the sender, but only with the secret key. See docs/decisions/0048.
"""

import base64
import datetime as dt
import secrets

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.crypto import salted_hmac

from orders.models import Order
from orders.models.statuses import Status
from orders.status.progress import TERMINAL
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.refused import Refused
from tracking.models import ReceiverPage

LETTERS = 27  # characters of base64: 162 bits
ENDED, SILENT = dt.timedelta(days=30), dt.timedelta(days=60)
IS_OVER = Q(order__progress__in=sorted(TERMINAL)) | Q(order__status=Status.CANCELLED)


def share_page(
    order: Order, *, by: User, now: dt.datetime, contact: str | None = None
) -> ReceiverPage:
    """Return the parcel's page, creating it if there is none.

    `contact` is where the receiver can ask; None means the contact that the account gave last.
    Raises Refused.
    """
    if why := why_not_shared(order):
        raise Refused(why)
    stated = last_contact(order.sender) if contact is None else contact
    with transaction.atomic():
        new = _new_address() | {"contact": stated, "shared_by": by, "shared_at": now}
        page, is_new = ReceiverPage.objects.get_or_create(order=order, defaults=new)
        if contact not in {None, page.contact}:
            page.contact = stated
            page.save(update_fields=["contact"])
        if is_new:
            Audit.write("receiver's page shared", order, by=by, sender=order.sender, at=now)
    return page


@transaction.atomic
def stop_sharing(order: Order, *, by: User, now: dt.datetime) -> None:
    """Delete the page. Its address never works again; sharing again makes a new one."""
    deleted, _ = ReceiverPage.objects.filter(order=order).delete()
    if deleted:
        Audit.write("receiver's page stopped", order, by=by, sender=order.sender, at=now)


def why_not_shared(order: Order) -> str:
    """Return why a parcel can't be shared now, or ""."""
    if not settings.RECEIVER_PAGES:
        return "Pages for receivers are turned off here."
    if order.sender.is_suspended:
        return "Booking is off for this account, and so is sharing."
    if not order.is_booked or order.erased_at:
        return "Only a booked parcel can be shared."
    return "Its journey is over. There's nothing to follow." if order.progress in TERMINAL else ""


def last_contact(sender: Sender) -> str:
    """Return the contact that this account last gave to receivers, to fill in the form."""
    newest = ReceiverPage.objects.filter(order__sender=sender).order_by("-pk")
    return newest.values_list("contact", flat=True).first() or ""


def open_pages(now: dt.datetime) -> QuerySet[ReceiverPage]:
    """Return pages that still work: 30 days after the journey, or 60 days after the last update."""
    heard = Coalesce("order__progress_at", "order__booked_at", "shared_at")
    is_recent = IS_OVER & Q(heard__gt=now - ENDED) | ~IS_OVER & Q(heard__gt=now - SILENT)
    return ReceiverPage.objects.alias(heard=heard).filter(is_recent, order__erased_at=None)


def open_page_of(order: Order, now: dt.datetime) -> ReceiverPage | None:
    """Return a parcel's page, or None."""
    is_on = settings.RECEIVER_PAGES
    return open_pages(now).filter(order=order).first() if is_on else None


def find_page(token: str, now: dt.datetime) -> ReceiverPage | None:
    """Return the page at this address. Every wrong address costs the same: a hash and one query."""
    parts = ("order__sender", "order__account", "order__parcel__account")
    return open_pages(now).select_related(*parts).filter(token_hash=token_hash(token)).first()


def link_of(page: ReceiverPage) -> str:
    """Return the page's address, or "" if it was made with a secret key that we no longer have."""
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        token = _token(page.nonce, key)
        if token_hash(token) == page.token_hash:
            return settings.SITE_URL + reverse("follow", args=[token])
    return ""


def _new_address() -> dict[str, str]:
    nonce = secrets.token_hex(20)
    return {"nonce": nonce, "token_hash": token_hash(_token(nonce, settings.SECRET_KEY))}


def _token(nonce: str, key: str) -> str:
    digest = salted_hmac("receiver page", nonce, secret=key, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).decode()[:LETTERS]
