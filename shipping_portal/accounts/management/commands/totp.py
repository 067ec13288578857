"""`manage.py totp`: print the demo operator's current code, under DEMO=1 only."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from shipping_portal.accounts import demo


class Command(BaseCommand):
    help = "Print the demo operator's code of the moment."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(
                "Only the demo's operator has a code that can be printed. Set DEMO=1 if this is a"
                " demo."
            )
        try:
            self.stdout.write(demo.operator_code())
        except Authenticator.DoesNotExist:
            raise CommandError(
                "There is no demo operator yet. Run `manage.py demo` first."
            ) from None
