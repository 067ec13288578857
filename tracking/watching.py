"""Follow a reference that was booked elsewhere (interface §4 subscribe, §6.3)."""

import datetime as dt
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from django.db import transaction
from django.db.models import Q

from orders.calling import carrier_settings, gateway, waiting
from orders.calling.contract import contract_of
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused
from tracking.models import Parcel, Poll, Watch
from tracking.scanning import scans

MOST_WATCHES = 200
IN_VAIN = Q(parcel__order=None, parcel__last_scan_at=None)


class NotAReference(Exception):
    """Raised when the text contains no carrier reference."""


def reference_in(text: str) -> str:
    """Return the reference in a pasted text or tracking page address. Raises NotAReference.

    The case is kept as typed, as interface §2.2 only says letters and digits, unless the references
    have another shape.
    """
    text = text.strip().removeprefix("#")
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
    # before other words, such as /shipments/ or ?utm_source=
    found = [part for part in found if any(map(str.isdigit, part))] or found
    if len(found) != 1:
        raise NotAReference(text[:40])
    return found[0]


def _parts_of_address(text: str) -> list[str]:
    """Return an address's parts.

    The query's parts come first, then the path's, starting from its end, before `/shipments/`.
    """
    try:
        address = urlsplit(text)
    except ValueError:
        return []
    if not address.netloc:
        return []
    return [*(value for _, value in parse_qsl(address.query)), *reversed(address.path.split("/"))]


def follow_reference(sender: Sender, text: str, *, name: str, by: User, now: dt.datetime) -> Watch:
    """Follow a reference; repeating it returns the same watch.

    Raises NotAReference, Refused or waiting.Full.
    """
    reference = reference_in(text)
    account = _account_of(reference, by)
    with transaction.atomic():
        Sender.locked(sender.pk)
        parcel = scans.parcel_for(reference, account=account, at=now, is_typed=True)
        # It was previously followed at the wrong carrier.
        same = sender.watches.filter(IN_VAIN, parcel__reference__upper=reference.upper())
        same.exclude(parcel=parcel).delete()
        if (
            not sender.watches.filter(parcel=parcel).exists()
            and sender.watches.count() >= MOST_WATCHES
        ):
            raise Refused(f"You follow {MOST_WATCHES} parcels, the most there is. Stop one first.")
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
        Poll.schedule(parcel, now)
        enqueue("poll", parcel.pk)
    return watched


def _account_of(reference: str, by: User) -> CarrierAccount:
    """Return the account that knows a reference, the default first, or find it by asking.

    A reference that belongs to one carrier is never sent to another, even if its account has no
    settings any more.
    """
    taking, typed = gateway.accounts_for_new_orders(), reference.upper()
    parcels = Parcel.objects.filter(reference__upper=typed).select_related("account")
    if len(taking) > 1:
        parcels = parcels.exclude(order=None, last_scan_at=None, account__in=taking)
    # An order's parcel may not be opened yet.
    orders = Order.objects.filter(carrier_reference__upper=typed).select_related("account")
    known = [*(parcel.account for parcel in parcels), *(order.account for order in orders)]
    if known or len(taking) == 1:
        return taking[0] if taking[0] in known or not known else known[0]
    with waiting.at_a_page(by):
        return next((one for one in taking if _has_scans(one, reference)), taking[0])


def _has_scans(account: CarrierAccount, reference: str) -> bool:
    """Return whether the carrier has scans of it now; no answer counts as no."""
    with suppress(CarrierError):
        return bool(gateway.carrier_client(account, is_person=True).track(reference).scans)
    return False


def stop_following(watched: Watch) -> None:
    """Stop following it; its scans remain visible to operators."""
    watched.delete()
