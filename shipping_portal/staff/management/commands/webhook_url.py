"""Print the listener's address with its secret, for the operator's own terminal, once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings, UnknownAccount
from shipping_portal.staff.carrier import listener

PASTE = """Paste the first address into the API tab of the carrier's dashboard settings.
Use the second one only if the dashboard does not keep the part before the @.

{}
{}"""
ROTATE = """1. Set this for every web process and restart them. Then both secrets are accepted:

{}={}

2. Run webhook_url again and paste the new address into the carrier's dashboard.
3. Run webhook_url --test, wait for a real scan, then remove the second secret.

This secret is not stored anywhere and is not printed again."""


class Command(BaseCommand):
    help = "Prints the webhook listener's address for the carrier's dashboard."

    def add_arguments(self, parser: CommandParser) -> None:
        wanted = parser.add_mutually_exclusive_group()
        wanted.add_argument(
            "--rotate", action="store_true", help="Print a new secret and how to switch to it."
        )
        wanted.add_argument(
            "--test", action="store_true", help="Post a test event to the listener."
        )
        parser.add_argument(
            "--authority",
            default="",
            help="With --test: a PEM file of the private authority behind SITE_URL.",
        )
        parser.add_argument(
            "--account",
            default="",
            help="A name in OLDER_CARRIERS or SECOND_CARRIER, instead of the default account.",
        )

    def handle(
        self, *args: Any, rotate: bool, test: bool, account: str, authority: str, **options: Any
    ) -> None:
        if authority and not test:
            raise CommandError("--authority goes with --test.")
        try:
            chosen = carrier_settings.settings_named(account)
            self.stdout.write(_answer(chosen, rotate=rotate, test=test, authority=authority))
        except (listener.NoSecret, listener.TestFailed, UnknownAccount) as error:
            raise CommandError(str(error)) from error


def _answer(configured: CarrierSettings, *, rotate: bool, test: bool, authority: str) -> str:
    if rotate:
        return ROTATE.format(configured.secrets_setting, listener.rotate_secret(configured))
    if test:
        answer = listener.send_test_event(configured, authority=authority)
        kept = configured.contract.nobodys_reference
        return (
            f"The listener accepted the test event: {answer}. It is stored under the reference"
            f" {kept}."
        )
    return PASTE.format(*listener.listener_addresses(configured, shown=True))
