"""`manage.py backup_taken`: mark a finished backup, so that restoring it is recognised."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from orders.restoring import marks


class Command(BaseCommand):
    help = (
        "Stamp RESTORE_MARK_FILE and the database anew, after each backup, so that a restored"
        " backup is recognised."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            marks.stamp_backup(now=timezone.now())
        except marks.Restored as why:
            raise CommandError(
                f"Not stamped: this database was restored from a backup ({why}). Run after_restore"
                " first."
            ) from why
        except marks.NoMarkFile as why:
            raise CommandError(str(why)) from why
        self.stdout.write("Stamped.")
