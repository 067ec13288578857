"""List a sender's sizes in their own order, with the default for new parcels."""

from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.refused import Refused

MOST = 100  # more than a person chooses from

OFFERED = 4  # as choices of the new-parcel form


def list_sizes(sender: Sender) -> QuerySet[ParcelSize]:
    """Return all sizes, favourites first; `used` counts the parcels entered with each."""
    return sender.sizes.annotate(used=Count("orders")).order_by("position", "pk")


def offered_sizes(sender: Sender, *, chosen: str = "") -> list[ParcelSize]:
    """Return the new-parcel form's sizes, in the sender's order.

    These are the most used, the default, and the one whose id was chosen.
    """
    every: list[Any] = list(list_sizes(sender))

    def order(size: Any) -> tuple[bool, int]:
        is_first = size.pk == sender.default_size_id or str(size.uuid) == chosen.strip().lower()
        return not is_first, -size.used

    top = sorted(every, key=order)[:OFFERED]
    return [size for size in every if size in top]


@transaction.atomic
def append_size(sender: Sender, size: ParcelSize) -> None:
    """Add a size at the end. Raises Refused, and IntegrityError if its name is taken."""
    Sender.locked(sender.pk)
    there = sender.sizes.aggregate(count=Count("pk"), last=Max("position"))
    if there["count"] >= MOST:
        raise Refused(f"There are {MOST} sizes already. Delete one you don't use.")
    size.sender, size.position = sender, (there["last"] or 0) + 1
    size.save()


@transaction.atomic
def move_size(size: ParcelSize, *, step: int) -> None:
    """Move a size one place up (-1) or down (1) in its sender's list. At either end it stays."""
    Sender.locked(size.sender_id)
    order = list(ParcelSize.objects.filter(sender=size.sender_id).order_by("position", "pk"))
    here = order.index(size)
    there = min(max(here + step, 0), len(order) - 1)
    order.insert(there, order.pop(here))
    for position, one in enumerate(order, start=1):
        one.position = position
    ParcelSize.objects.bulk_update(order, ["position"])


def make_default(size: ParcelSize) -> None:
    Sender.objects.filter(pk=size.sender_id).update(default_size=size)
