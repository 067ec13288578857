"""`manage.py demo`: create the demo's people, places and history, under DEMO=1 only."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from shipping_portal.accounts import demo
from shipping_portal.accounts.address.locality_lists import UnreadableList, import_list
from shipping_portal.staff.demo import demo_history, demo_tables

PLACES = settings.BASE_DIR / "shipping_portal" / "sandbox" / "localities.csv"
PEOPLE = {
    "sender": {
        "email": demo.SENDER_EMAIL,
        "password": demo.SENDER_PASSWORD,
        "token": demo.SENDER_TOKEN,
    },
    "operator": {
        "email": demo.OPERATOR_EMAIL,
        "password": demo.OPERATOR_PASSWORD,
        "totp_command": "./dev manage totp",
    },
}


class Command(BaseCommand):
    help = (
        "Make the demo's sender, operator and places. Doing it again changes nothing but resets the"
        " passwords."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--places", type=Path, default=PLACES, help="the carrier's published pairs, as CSV"
        )
        parser.add_argument(
            "--carrier-state",
            type=Path,
            help="the pretend carrier's folder, for a month of history",
        )
        parser.add_argument(
            "--country", choices=demo.PLACES, default="AU", help="where the sender is"
        )
        parser.add_argument(
            "--migrate", action="store_true", help="make or change the tables before"
        )
        parser.add_argument(
            "--json", action="store_true", help="print the log-ins as JSON, on one line"
        )

    def handle(self, *args: Any, places: Path, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("The demo's passwords are public. Set DEMO=1 if this is a demo.")
        if options["migrate"]:
            self._print_step("Making the tables")
            demo_tables.make_tables()
        now = timezone.now()
        self._print_step("Importing the carrier's places")
        try:
            import_list(places.read_bytes(), source=places.name, by=None, at=now)
        except (OSError, UnreadableList) as problem:
            raise CommandError(str(problem)) from None
        self._print_step("Making the demo's people")
        demo.make_demo_business(now, options["country"])
        call_command("operator_groups", verbosity=0)
        if options["carrier_state"]:
            self._print_step("Loading a month of parcels")
            demo_history.load_history(now, options["carrier_state"])
            demo_history.follow_the_carrier()
        if options["json"]:
            self.stdout.write(json.dumps(PEOPLE))
            return
        for who, person in PEOPLE.items():
            self.stdout.write(f"{who}: {person['email']} / {person['password']}")
        self.stdout.write(f"the sender's API token: {demo.SENDER_TOKEN}")
        self.stdout.write(f"the operator's code: {PEOPLE['operator']['totp_command']}")

    def _print_step(self, step: str) -> None:
        """Print the next step. `./dev run` shows it and how long it takes."""
        self.stderr.write(f"{step} ...", self.style.SUCCESS)
