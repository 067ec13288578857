"""`manage.py carrier_moved --from ADDRESS`: move an account's orders to its new address."""

from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings, UnknownAccount
from orders.calling.contract import settings_of
from orders.models import CarrierAccount, CarrierCall
from shipping_portal.accounts.models import Audit
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.billing.models import BillingProfile

ACTION = "carrier account moved"
STILL_DESCRIBED = (
    "Nothing was changed. {}_BASE_URL is still {}. Remove that account from the settings, or"
    " keep it there."
)
NO_ROW = "Nothing was changed. There is no {}. Known accounts: {}."
IN_USE = (
    "Nothing was changed. Orders, prices or scans already exist under {new}, and once merged they"
    " couldn't be told apart. Keep the two separate. While {old} still answers, add it to"
    " OLDER_CARRIERS with its own webhook secret, and its orders are handled there. If not, they"
    " wait in the admin under “Open orders on an unlisted carrier account”: ask the carrier about"
    " each, and press Resolve."
)


class Command(BaseCommand):
    help = "Keep an account's orders, bills and webhooks after the carrier changes its address."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from", dest="former", required=True, help="the previous CARRIER_BASE_URL"
        )
        parser.add_argument(
            "--account",
            default="",
            help="a name in OLDER_CARRIERS or SECOND_CARRIER, instead of the default account",
        )

    def handle(self, *args: Any, former: str, account: str, **options: Any) -> None:
        try:
            new = carrier_settings.settings_named(account)
        except UnknownAccount as error:
            raise CommandError(str(error)) from error
        self.stdout.write(move(replace(new, base_url=former), new))


@transaction.atomic
def move(old: CarrierSettings, new: CarrierSettings) -> str:
    """Make the row of `old` find the settings of `new`; return what was done.

    Raises CommandError.
    """
    if named := settings_of(old):
        raise CommandError(STILL_DESCRIBED.format(named.prefix, old.name))
    words = f"by carrier_moved: {old.name} → {new.name}"
    row = CarrierAccount.objects.filter(fingerprint=old.fingerprint).first()
    if row is None:
        return _done_before(old, new, words)
    _make_way(row, old, new)
    row.fingerprint, row.name = new.fingerprint, new.name[:120]
    row.save(update_fields=["fingerprint", "name"])
    Audit.write(ACTION, row, by=None, reason=words, at=timezone.now())
    return f"{old.name} is {new.name} now, with all its orders, bills and webhooks."


def _done_before(old: CarrierSettings, new: CarrierSettings, words: str) -> str:
    row = CarrierAccount.objects.filter(fingerprint=new.fingerprint).first()
    if row and Audit.objects.filter(action=ACTION, subject=subject_of(row), reason=words).exists():
        return "This has already been done. Nothing was changed."
    raise CommandError(
        NO_ROW.format(old.name, "; ".join(map(str, CarrierAccount.objects.all())) or "none")
    )


def _make_way(row: CarrierAccount, old: CarrierSettings, new: CarrierSettings) -> None:
    """Delete an empty row that a process made at the new address, or raise CommandError."""
    empty = CarrierAccount.objects.filter(fingerprint=new.fingerprint)
    CarrierCall.objects.filter(account__in=empty).update(account=row)
    BillingProfile.objects.filter(account__in=empty).delete()
    try:
        empty.delete()
    except ProtectedError as error:
        raise CommandError(IN_USE.format(old=old.name, new=new.name)) from error
