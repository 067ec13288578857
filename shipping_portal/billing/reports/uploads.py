"""Accept a report: store its bytes unchanged, once per file, and schedule its reading."""

import datetime as dt
import hashlib
import re
from contextlib import suppress
from decimal import Decimal

from django.db import IntegrityError, transaction

from orders.models import CarrierAccount
from shipping_portal.accounts.models import User
from shipping_portal.billing.models import BillingReport, ReportFile, week_of
from shipping_portal.billing.reports.fields import Profile, profile_of
from shipping_portal.billing.reports.reading import NotAReport, read_report
from shipping_portal.jobs.registry import enqueue

DAY_IN_NAME = re.compile(r"(20\d\d)-?(\d\d)-?(\d\d)")


class TakenBefore(Exception):
    """Raised when the same bytes were accepted before, as `report`."""

    def __init__(self, report: BillingReport) -> None:
        super().__init__(f"This file is report {report.pk} already.")
        self.report = report


def store_report(
    account: CarrierAccount,
    name: str,
    content: bytes,
    *,
    by: User | None,
    now: dt.datetime,
    week: dt.date | None = None,
    stated: dict[str, Decimal] | None = None,
    keeps_refused: bool = False,
) -> BillingReport:
    """Store the file and schedule its reading.

    `stated` is the total by currency, for a file that doesn't state one.

    Raises TakenBefore, and NotAReport for a file that can't be one. With `keeps_refused`, for files
    without a user, that becomes a damaged report, which an operator can read again or void.
    """
    profile = Profile.of(profile_of(account))
    problems = _problems(content, profile, keeps_refused=keeps_refused)
    sha256 = hashlib.sha256(content).hexdigest()
    made = BillingReport(
        account=account,
        name=name[-120:],
        sha256=sha256,
        week=week_of(week) if week else week_in(name, now),
        due_at=now,
        profile=profile.to_json(),
        uploaded_at=now,
        uploaded_by=by,
        stated={currency: str(total) for currency, total in (stated or {}).items()},
    )
    if problems:
        made.state, made.due_at, made.problems = BillingReport.State.DAMAGED, None, problems
    try:
        with transaction.atomic():
            made.save()
            ReportFile.objects.create(report=made, content=content)
            if not problems:
                enqueue("report", made.pk)
    except IntegrityError:
        before = BillingReport.objects.exclude(
            state__in=(BillingReport.State.VOID, BillingReport.State.REVERSED)
        )
        raise TakenBefore(before.get(account=account, sha256=sha256)) from None
    return made


def week_in(name: str, now: dt.datetime) -> dt.date:
    """Return a report's week.

    It is the week of the day before the file was written, according to its name, or otherwise of
    yesterday.
    """
    written = now.date()
    if found := DAY_IN_NAME.search(name):
        with suppress(ValueError):
            written = dt.date(*map(int, found.groups()))
    return week_of(written - dt.timedelta(days=1))


def _problems(content: bytes, profile: Profile, *, keeps_refused: bool) -> list[tuple[int, str]]:
    try:
        next(read_report(content, profile), None)  # its header
    except NotAReport as refusal:
        if not keeps_refused:
            raise
        return [(1, str(refusal))]
    return []
