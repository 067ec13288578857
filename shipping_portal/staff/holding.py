"""Holding one sender's import: no further row of it is booked until an operator lets it go on."""

import datetime as dt

from django.db import transaction

from shipping_portal.accounts.models import Audit, User
from shipping_portal.importing import booking, finishing
from shipping_portal.importing.models import Import


class AlreadySo(Exception):
    """Somebody else was faster; the text is for the operator."""


def hold(file: Import, *, text: str, by: User, reason: str, now: dt.datetime) -> None:
    """What was handed over goes on; the sender reads the text and cannot resume. Raises AlreadySo."""
    with transaction.atomic():
        if not Import.objects.filter(pk=file.pk, hold="").update(hold=text, paused_at=now):
            raise AlreadySo("This import is held already.")
        finishing.paused(file, now)
        _write("import held", file, by, f"{reason} Its sender reads “{text}”", now)


def let_go(file: Import, *, by: User, reason: str, now: dt.datetime) -> None:
    """It goes on where it was. Raises AlreadySo."""
    with transaction.atomic():
        if not Import.objects.filter(pk=file.pk, restore=None).exclude(hold="").update(hold=""):
            raise AlreadySo("This import goes on already.")
        _write("import let go", file, by, reason, now)
    booking.resume(file)


def try_again(file: Import, *, by: User, reason: str, now: dt.datetime) -> None:
    """Its failed rows are checked again; their sender books them or not. Raises AlreadySo."""
    with transaction.atomic():
        again = booking.retry(file, now)
        if not again:
            raise AlreadySo("No row of it failed without an order.")
        _write("import rows checked again", file, by, f"{again} rows: {reason}", now)


def _write(action: str, file: Import, by: User, reason: str, now: dt.datetime) -> None:
    Audit.write(action, file, by=by, sender=file.sender, reason=reason, at=now)
