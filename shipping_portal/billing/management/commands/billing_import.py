"""`manage.py billing_import FILE`: store and check the weekly report; with `--post`, post it."""

import datetime as dt
import time
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from orders.calling import carrier_settings, gateway
from orders.calling.carrier_settings import UnknownAccount
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import checking, posting, uploads
from shipping_portal.billing.reports.balancing import report_balances
from shipping_portal.billing.reports.reading import NotAReport

State = BillingReport.State


class Command(BaseCommand):
    help = "Process the carrier's weekly billing report. Without --post it is only a dry run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--week", help="its week, like 2026-W47; taken from its name by default"
        )
        parser.add_argument(
            "--total", action="append", default=[], help="AUD=412.30, if the file states none"
        )
        parser.add_argument(
            "--account",
            default="",
            help="a name in OLDER_CARRIERS or SECOND_CARRIER, if it is that account's report",
        )
        parser.add_argument("--post", action="store_true", help="post it, if it balances")

    def handle(self, *args: Any, **options: Any) -> None:
        report = self._take(options)
        # A worker may have taken it first, or a killed one may still hold its lease.
        while report.state == State.READING:
            checking.read_due_report(report.pk)
            report.refresh_from_db()
            self.stdout.write(f"{report.read} lines read")
            if report.parked_at:
                raise CommandError(
                    f"It failed {report.failures} times in a row: {report.last_error}. See the"
                    " admin."
                )
            time.sleep(1 if report.state == State.READING else 0)
        self._print_summary(report)
        if options["post"] and report.state != State.POSTED:
            self._post(report)

    def _take(self, options: dict[str, Any]) -> BillingReport:
        path: Path = options["file"]
        try:
            return uploads.store_report(
                gateway.account_of(carrier_settings.settings_named(options["account"])),
                path.name,
                path.read_bytes(),
                by=None,
                now=timezone.now(),
                week=_week(options["week"]),
                stated=_totals(options["total"]),
            )
        except uploads.TakenBefore as error:
            self.stdout.write(str(error))
            return error.report
        except (NotAReport, OSError, UnknownAccount) as error:
            raise CommandError(str(error)) from error

    def _print_summary(self, report: BillingReport) -> None:
        self.stdout.write(
            f"Report {report.pk}, week of {report.week}: {report.get_state_display().lower()}"
        )
        for number, message in report.problems:
            self.stdout.write(f"  line {number}: {message}")
        for row in posting.report_totals(report):
            self.stdout.write(
                f"  {row['words']:<46} {row['lines']:>6} {row['amount']:>12} {row['currency']}"
            )
        for row in report_balances(report):
            self.stdout.write(
                f"  {'in all':<53} {row.found:>12} {row.currency}, stated {row.stated}"
            )

    def _post(self, report: BillingReport) -> None:
        try:
            posting.post_report(report, by=None, now=timezone.now())
        except posting.NotReady as error:
            raise CommandError(f"Not posted. {error}") from error
        on_hold = report.lines.on_hold().count()
        self.stdout.write(
            f"Posted. {on_hold} lines are on hold: see the report's page." if on_hold else "Posted."
        )


def _week(text: str | None) -> dt.date | None:
    try:
        # A day has no time zone.
        return dt.datetime.strptime(f"{text}-1", "%G-W%V-%u").date() if text else None  # noqa: DTZ007
    except ValueError as error:
        raise CommandError(f"{text} isn't a week like 2026-W47.") from error


def _totals(pairs: list[str]) -> dict[str, Decimal]:
    try:
        return {
            currency: Decimal(total)
            for currency, _, total in (pair.partition("=") for pair in pairs)
        }
    except InvalidOperation as error:
        raise CommandError("Write a total like AUD=412.30.") from error
