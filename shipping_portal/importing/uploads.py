"""Accept a file: store its rows as typed, and match known columns straight away."""

import datetime as dt

from django.conf import settings
from django.db import transaction

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, columns, forms, notes, progress, shops
from shipping_portal.importing.models import Import, ImportRow, ImportTry
from shipping_portal.importing.reading import Sheet

AT_ONCE = 500
HOUR = dt.timedelta(hours=1)


class TooManyFiles(Exception):
    """Raised when this person has uploaded the `most` files allowed in an hour.

    The next upload is possible at `free_at`.
    """

    def __init__(self, most: int, free_at: dt.datetime) -> None:
        super().__init__(most, free_at)
        self.most, self.free_at = most, free_at


def count_try(sender: Sender, by: User, now: dt.datetime) -> None:
    """Count one more file from this person before reading any of it. Raises TooManyFiles."""
    tries, most = ImportTry.objects.filter(made_by=by), settings.IMPORTS_AN_HOUR
    with transaction.atomic():
        # simultaneous uploads are counted one after the other
        Sender.locked(sender.pk)
        tries.filter(at__lte=now - HOUR).delete()
        if tries.count() < most:
            ImportTry.objects.create(made_by=by, at=now)
            return
        free_at = min(tries.values_list("at", flat=True)) + HOUR
    raise TooManyFiles(most, free_at)


def store_upload(sheet: Sheet, *, name: str, sender: Sender, by: User, now: dt.datetime) -> Import:
    """Store the whole file or none of it. A file with a known header is checked right away."""
    with transaction.atomic():
        file = Import.objects.create(
            sender=sender,
            made_by=by,
            created_at=now,
            file_name=name,
            sha256=sheet.sha256,
            encoding=sheet.encoding,
            delimiter=sheet.delimiter,
            header=sheet.header,
            fingerprint=sheet.fingerprint,
            filled=sheet.filled,
            notes=sheet.notes,
        )
        rows = (
            ImportRow(file=file, number=number, cells=cells) for number, cells in sheet.rows.items()
        )
        ImportRow.objects.bulk_create(rows, batch_size=AT_ONCE)
    if matched := _matched(file):
        checking.begin(file, *matched, now)
        file.refresh_from_db()
    return file


def _matched(file: Import) -> tuple[dict[str, int], dict[str, str]] | None:
    """Return columns and constants that needn't be asked about.

    Either they were matched before, or the file is a shop's complete export.
    """
    if notes.is_a_guess(file):
        return None
    if known := columns.remembered(file.sender, file.fingerprint):
        return known.columns, known.constants
    address = file.sender.pickup_address()
    if address is None or not shops.find_shop(file.header):
        return None
    form = forms.MatchForm(
        forms.guesses(file, columns.fields(file.sender, address)), file=file, address=address
    )
    return (form.columns, form.constants) if form.is_valid() else None


def find_same_file(sheet: Sheet, sender: Sender) -> Import | None:
    """Return the import of the same file with the most bookings, or otherwise the newest."""
    same = progress.with_counts(Import.objects.filter(sender=sender, sha256=sheet.sha256))
    return same.order_by("-booked_rows", "-created_at").first()


def find_booked_copy(file: Import) -> Import | None:
    """Return another import of the same file with bookings, to mention next to the Book button."""
    same = progress.with_counts(Import.objects.filter(sender=file.sender_id, sha256=file.sha256))
    others = same.exclude(pk=file.pk).filter(booked_rows__gt=0)
    return others.order_by("-booked_rows", "-created_at").first()
