"""Importing a locality list in two steps: what would change, then the same import for good."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from shipping_portal.accounts import address_book, places
from shipping_portal.accounts.locality_lists import Imported, import_list
from shipping_portal.accounts.models import Audit, LocalityList, PickupAddress

MUCH = 0.05  # of a list removed at once looks like a file that was cut off


class AlreadyActive(Exception):
    """This list is in use already."""


@dataclass(frozen=True)
class Preview:
    """What one country's new list would change. `stranded` are pickup addresses it no longer holds."""

    change: Imported
    stranded: list[PickupAddress]

    @property
    def removes_much(self) -> bool:
        before = self.change.rows - self.change.added + self.change.removed
        return self.change.removed > before * MUCH


def preview(content: bytes, *, source: str, by: Any, at: dt.datetime) -> list[Preview]:
    """The import itself, undone at the end, so that the preview cannot differ from it. Raises UnreadableList."""
    with transaction.atomic():
        changes = import_list(content, source=source, by=by, at=at)
        previews = [Preview(change, _stranded(change.country)) for change in changes]
        transaction.set_rollback(True)
    return previews


def use_again(chosen: LocalityList, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Go back to a list that was imported before. Raises AlreadyActive."""
    with transaction.atomic():
        active = LocalityList.objects.select_for_update().filter(country=chosen.country, is_active=True)
        if active.filter(pk=chosen.pk).exists():
            raise AlreadyActive("This list is in use already.")
        active.update(is_active=False)
        LocalityList.objects.filter(pk=chosen.pk).update(is_active=True)
        address_book.mark_off_list(chosen.country)
        Audit.write("locality list used again", chosen, by=by, reason=reason, at=now)


def _stranded(country: str) -> list[PickupAddress]:
    addresses = PickupAddress.objects.filter(country=country).select_related("sender").order_by("pk")
    return [address for address in addresses if not _is_listed(address)]


def _is_listed(address: PickupAddress) -> bool:
    pair = places.check_pair(address.country, address.suburb, address.postcode, address.state)
    return pair.place is not None
