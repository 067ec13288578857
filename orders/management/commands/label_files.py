from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.labels import moving
from shipping_portal.db.bucket import OutOfReach

TO_BUCKET, TO_DATABASE, COMPARE = "to-bucket", "to-database", "compare"


class Command(BaseCommand):
    help = "Move stored labels into LABEL_BUCKET or back, or compare both after a restore."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=[TO_BUCKET, TO_DATABASE, COMPARE])

    def handle(self, *args: Any, what: str, **options: Any) -> None:
        if not settings.LABEL_BUCKET:
            raise CommandError("LABEL_BUCKET is empty, so there is no bucket.")
        try:
            if what == COMPARE:
                self._compare()
            else:
                self._move(into_bucket=what == TO_BUCKET)
        except OutOfReach as error:
            raise CommandError(
                f"The bucket can't be used ({error}). What was moved stays moved. Try"
                " `manage.py check --deploy`, then run this again."
            ) from error

    def _move(self, *, into_bucket: bool) -> None:
        done = None
        for done in moving.move_files(into_bucket=into_bucket):
            self.stdout.write(f"{done[moving.MOVED]} moved")
        if done is None:
            self.stdout.write("Nothing to move.")
        elif damaged := done[moving.DAMAGED]:
            raise CommandError(
                f"{damaged} files don't match their sha256 and were left where they are. Fetch"
                " them again in the admin."
            )

    def _compare(self) -> None:
        found = moving.compare_with_rows(settings.LABEL_BUCKET_PREFIX)
        self.stdout.write(
            f"{found['not known']} files that no row knew: deleted soon, if no label names them."
        )
        if missing := found["missing"]:
            raise CommandError(
                f"{missing} labels name a file that is missing. Restore its previous version in"
                " the bucket: “Label files in a bucket” in deploy/README.md."
            )
