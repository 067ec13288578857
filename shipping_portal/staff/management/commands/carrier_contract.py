"""Print the contract's points: what is assumed or documented about this carrier, and where."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings, UnknownAccount
from shipping_portal.carrier.contract import ContractError, Point
from shipping_portal.staff.carrier import carrier_probe

VERDICTS = {True: "yes", False: "NO", None: "not asked"}


class Command(BaseCommand):
    help = (
        "Prints every contract point: documented, assumed or overridden. --probe checks with the"
        " carrier."
    )
    requires_system_checks = ()  # the contract can be examined before the installation is complete

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--probe",
            action="store_true",
            help="Check everything that costs nothing with the carrier.",
        )
        parser.add_argument(
            "--account",
            default="",
            help="A name in OLDER_CARRIERS or SECOND_CARRIER, instead of the default account.",
        )

    def handle(self, *args: Any, probe: bool, account: str, **options: Any) -> None:
        try:
            configured = carrier_settings.settings_named(account)
            points = configured.contract.points()
        except (ContractError, UnknownAccount) as error:
            raise CommandError(str(error)) from error
        for point in points:
            self.stdout.write(_line(point))
        overridden = sum(point.overridden for point in points)
        assumed = sum(point.basis == "assumed" and not point.overridden for point in points)
        self.stdout.write(
            f"\n{len(points)} points: {overridden} overridden by the contract file, {assumed} still"
            " assumed."
        )
        if probe and configured.is_closed:
            raise CommandError(
                f"{configured.prefix}_KEY is empty, so this account is closed and can't be checked."
            )
        if probe:
            self._probe(configured)

    def _probe(self, configured: CarrierSettings) -> None:
        self.stdout.write("")
        refuted = 0
        for finding in carrier_probe.probe_carrier(configured):
            refuted += finding.holds is False
            self.stdout.write(f"{VERDICTS[finding.holds]:<10}{finding.question}: {finding.answer}")
        self.stdout.write(f"Not asked: {carrier_probe.NOT_ASKED}.")
        if refuted:
            raise CommandError(f"{refuted} of the carrier's answers differ from the contract.")


def _line(point: Point) -> str:
    basis = "overridden" if point.overridden else point.basis
    return f"{point.name:<35}{basis:<12}{_format_value(point.value)}  ({point.section})"


def _format_value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{word} → {progress or 'nothing'}" for word, progress in value.items())
    if isinstance(value, tuple):
        return ", ".join(str(member) for member in value) or "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "(none)"
