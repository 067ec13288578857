"""`manage.py localities import FILE`: load the carrier's published suburb and postcode pairs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from shipping_portal.accounts.address.locality_lists import UnreadableList, import_list


class Command(BaseCommand):
    help = (
        "Import the carrier's published pairs: a UTF-8 CSV with the columns"
        " country,suburb,state,postcode."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        importing = acts.add_parser(
            "import", help="replace the active list of every country in the file"
        )
        importing.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            done = import_list(file.read_bytes(), source=file.name, by=None, at=timezone.now())
        except (OSError, UnreadableList) as problem:
            raise CommandError(str(problem)) from None
        for one in done:
            change = "unchanged" if one.is_same else f"{one.added} added, {one.removed} removed"
            self.stdout.write(f"{one.country}: {one.rows} pairs, {change}")
