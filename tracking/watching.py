"""Follow a reference that was booked elsewhere (interface §4 subscribe, §6.3)."""

import datetime as dt
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from django.db import transaction

from orders.calling import carrier_settings, gateway
from orders.calling.contract import contract_of
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.contract import Contract
from shipping_portal.jobs.registry import enqueue
from tracking.models import Parcel, Poll, Watch
from tracking.scanning import scans

MOST_WATCHES = 200


class NotAReference(Exception):
    """Raised when the text contains no carrier reference."""


class TooManyWatched(Exception):
    """Raised when the account follows the most parcels it may."""


def reference_in(text: str) -> str:
    """Return the reference in a pasted text or tracking page address. Raises NotAReference.

    The carrier's own case is kept, as interface §2.2 only says letters and digits, unless its
    references have another shape.
    """
    text = text.strip()
    for configured in carrier_settings.all_settings():
        with suppress(NotAReference):
            return _reference_of(configured.contract, text)
    raise NotAReference(text[:40])


def _reference_of(contract: Contract, text: str) -> str:
    if reference := contract.reference_typed(text):
        return reference
    found = list(
        dict.fromkeys(filter(None, map(contract.reference_typed, _parts_of_address(text))))
    )
    # before words: /shipments/, ?utm_source=
    found = [part for part in found if any(map(str.isdigit, part))] or found
    if len(found) != 1:
        raise NotAReference(text[:40])
    return found[0]


def _parts_of_address(text: str) -> list[str]:
    """Return an address's parts.

    The query's, then the path's from its end, before `/shipments/`.
    """
    try:
        address = urlsplit(text)
    except ValueError:
        return []
    if not address.netloc:
        return []
    return [*(value for _, value in parse_qsl(address.query)), *reversed(address.path.split("/"))]


def follow_reference(sender: Sender, text: str, *, name: str, by: User, now: dt.datetime) -> Watch:
    """Follow a reference; a repeated one is the same watch.

    Raises NotAReference or TooManyWatched.
    """
    reference = reference_in(text)
    with transaction.atomic():
        Sender.objects.select_for_update(no_key=True).get(pk=sender.pk)
        parcel = _parcel_of(reference, now)
        if (
            not sender.watches.filter(parcel=parcel).exists()
            and sender.watches.count() >= MOST_WATCHES
        ):
            raise TooManyWatched(str(MOST_WATCHES))
        watched, _ = Watch.objects.get_or_create(
            sender=sender, parcel=parcel, defaults={"name": name, "made_by": by, "made_at": now}
        )
        wanted = (
            Parcel.Subscription.WANTED
            if contract_of(parcel.account).subscribe
            else Parcel.Subscription.NONE
        )
        Parcel.objects.filter(
            pk=parcel.pk, order=None, subscription=Parcel.Subscription.NONE
        ).update(subscription=wanted)
        Poll.owe(parcel, now)
        enqueue("poll", parcel.pk)
    return watched


def _parcel_of(reference: str, now: dt.datetime) -> Parcel:
    """Return its parcel at the account for new orders, unless only another account knows it.

    One carrier's reference is never sent to another, whether its account still has settings or not.
    """
    account, typed = gateway.current_account(), reference.upper()
    parcels = Parcel.objects.filter(reference__upper=typed).select_related("account")
    # An order's parcel may not be opened yet.
    orders = Order.objects.filter(carrier_reference__upper=typed).select_related("account")
    known = [*(parcel.account for parcel in parcels), *(order.account for order in orders)]
    if known and account not in known:
        account = known[0]
    return scans.parcel_for(reference, account=account, at=now, is_typed=True)


def stop_following(watched: Watch) -> None:
    """Stop following it; its scans remain visible to operators."""
    watched.delete()
