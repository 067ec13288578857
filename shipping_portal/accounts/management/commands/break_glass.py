"""Print a link that logs in a superuser once, for use while LOCAL_PASSWORDS is off."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from shipping_portal.accounts.login import break_glass
from shipping_portal.accounts.models import User


class Command(BaseCommand):
    help = "Print a link that logs in a superuser: it works once, for ten minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        found = User.objects.filter(email__iexact=options["email"], is_superuser=True)
        person = found.filter(is_active=True).first()
        if person is None:
            raise CommandError("No superuser who can log in has this email.")
        self.stdout.write(break_glass.make_link(person))
