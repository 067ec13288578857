"""`manage.py after_restore --backup-at T`: hold a restored database's work, so it may start."""

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.exceptions import MultipleObjectsReturned
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, ProgrammingError
from django.utils import timezone
from django.utils.timesince import timesince

from orders.restoring import marks
from shipping_portal.jobs.erased_keys import NoErasedFile
from shipping_portal.staff.restores import fencing

NEXT = (
    "Bookings are paused. Start web, worker and sweeper. Then resolve what the admin lists under"
    " Restores, and close the gap there."
)
AGAIN = (
    "The restore isn't complete, as something wrote into the database meanwhile. Stop every"
    " process, also on other machines, close the database to them and restore again."
)


class Command(BaseCommand):
    help = "Hold back unfinished work after restoring a backup, so nothing is booked twice."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--backup-at",
            required=True,
            type=moment,
            help="when the backup started, like 2026-11-22T03:00Z, or the point you recovered to",
        )

    def handle(self, *args: Any, backup_at: dt.datetime, **options: Any) -> None:
        now = timezone.now()
        if backup_at > now:
            raise CommandError("--backup-at is in the future.")
        try:
            fenced = fencing.fence_database(backup_at, now=now)
        except (fencing.HalfRestored, MultipleObjectsReturned, IntegrityError) as why:
            raise CommandError(f"Nothing was changed. {AGAIN} {why}") from why
        except (marks.NoMarkFile, NoErasedFile) as why:
            raise CommandError(f"Nothing was changed. {why}") from why
        except ProgrammingError as why:
            # Only the tables' owner may advance their sequences.
            raise CommandError(
                f"Nothing was changed. Run it as the owner: MIGRATE_DATABASE_URL. {why}"
            ) from why
        if fenced is None:
            self.stdout.write(
                "This has already been done, and nothing has been restored since. Nothing was"
                " changed."
            )
            return
        for one in fenced:
            age = f", oldest {timesince(one.oldest, now)} ago" if one.oldest else ""
            self.stdout.write(f"{one.count:>7,} {one.what}{age}")
        self.stdout.write(NEXT)


def moment(text: str) -> dt.datetime:
    """Return a time with its zone. Raises ArgumentTypeError."""
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text} isn't a time like 2026-11-22T03:00Z.") from error
    if found.tzinfo is None:
        raise ArgumentTypeError(f"{text} has no time zone. For UTC, write 2026-11-22T03:00Z.")
    return found
