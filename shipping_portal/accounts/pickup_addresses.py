"""Several pickup addresses of one sender: exactly one is the default, and the last one stays."""

import datetime as dt
from typing import Any

from django.db import transaction

from shipping_portal.accounts import places
from shipping_portal.accounts.models import Audit, PickupAddress, Sender


class LastOne(Exception):
    """Without an address nothing can be booked; the sentence says what to do instead."""


def make_default(address: PickupAddress, *, by: Any, at: dt.datetime) -> None:
    """New parcels start here, and the account lives in the zone of this place."""
    sender = address.sender
    with transaction.atomic():
        _lock(sender)
        sender.pickup_addresses.exclude(pk=address.pk).update(is_default=False)
        sender.pickup_addresses.filter(pk=address.pk).update(is_default=True)
        keep_zone(address)
        Audit.write("default pickup address chosen", address, by=by, sender=sender, at=at)


def delete(address: PickupAddress, *, by: Any, at: dt.datetime) -> None:
    """Remove it; if it was the default, the oldest of the others takes its place. Raises LastOne."""
    sender = address.sender
    with transaction.atomic():
        _lock(sender)
        heir = sender.pickup_addresses.exclude(pk=address.pk).order_by("-is_default", "pk").first()
        if heir is None:
            raise LastOne("This is the only pickup address. Add another one first, or change this one.")
        Audit.write("pickup address deleted", address, by=by, sender=sender, at=at)
        sender.pickup_addresses.filter(pk=address.pk).delete()
        if not heir.is_default:
            make_default(heir, by=by, at=at)


def keep_zone(address: PickupAddress) -> None:
    """The account's time zone is that of its default pickup address."""
    zone = places.zone(address.country, address.state, address.postcode)
    Sender.objects.filter(pk=address.sender_id).update(zone=zone)


def _lock(sender: Sender) -> None:
    Sender.objects.select_for_update().get(pk=sender.pk)
