"""Reports read and posted at the same instant, on PostgreSQL, where races are real."""

import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import connections, transaction
from django.utils import timezone

from orders.calling import gateway
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting
from shipping_portal.billing.models import BillingReport, Charge, WeekSum
from shipping_portal.billing.reports import checking, posting, uploads
from tests import factories
from tests.billing.conftest import line, summed
from tests.racing import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]
ROWS = [line(f"SQ7K{cents}", f"{cents / 100:.2f}") for cents in range(100, 160)]


def taken(content: bytes) -> BillingReport:
    return uploads.store_report(gateway.current_account(), "a.csv", content, by=None, now=timezone.now())


def post(report: BillingReport) -> None:
    posting.post_report(report, by=None, now=timezone.now())


def test_one_file_uploaded_eight_times_at_once_is_one_report() -> None:
    gateway.current_account()
    found = at_once(*[lambda: taken(summed(*ROWS))] * 8)
    assert BillingReport.objects.count() == 1
    assert sum(isinstance(one, uploads.TakenBefore) for one in found) == 7


def test_eight_workers_on_one_report_read_each_line_once() -> None:
    report = taken(summed(*ROWS))
    at_once(*[lambda: checking.read_due_report(report.pk)] * 8)
    report.refresh_from_db()
    assert (report.state, report.lines.count()) == ("checked", len(ROWS))


def test_one_report_posted_eight_times_at_once_counts_once() -> None:
    report = taken(summed(*ROWS))
    checking.read_due_report(report.pk)
    found = at_once(*[lambda: post(BillingReport.objects.get(pk=report.pk))] * 8)
    assert sum(one is None for one in found) == 1
    assert Charge.objects.posted().net() == {"AUD": sum(Decimal(row["Price"]) for row in ROWS)}


def test_two_reports_with_the_same_lines_posted_at_once_count_them_once() -> None:
    reports = [taken(summed(*ROWS)), taken(summed(*ROWS, line("SQ7K2M", "9.99")))]
    for report in reports:
        checking.read_due_report(report.pk)
    fresh = [BillingReport.objects.get(pk=report.pk) for report in reports]
    assert at_once(*[lambda report=report: post(report) for report in fresh]) == [None, None]
    assert Charge.objects.posted().count() == len(ROWS) + 1


def test_a_report_voided_while_it_is_posted_ends_up_void_or_posted() -> None:
    report = taken(summed(*ROWS))
    checking.read_due_report(report.pk)
    at_once(
        lambda: post(BillingReport.objects.get(pk=report.pk)),
        lambda: posting.void_report(BillingReport.objects.get(pk=report.pk), by=None, now=timezone.now()),
    )
    report.refresh_from_db()
    posted = Charge.objects.posted().count()
    assert (report.state, posted) in {("posted", len(ROWS)), ("void", 0)}


def test_eight_operators_at_once_reverse_a_line_once(quill: Sender, alice: User, sam: User) -> None:
    charge = factories.charge(factories.order(quill, alice, status="booked"), amount="5.00")
    at_once(*[lambda: correcting.reverse_charge(charge, by=sam, now=timezone.now(), reason="Wrong.")] * 8)
    assert Charge.objects.posted().net() == {"AUD": Decimal(0)}


def test_eight_credits_at_once_are_all_in_the_weeks_total(quill: Sender, sam: User) -> None:
    gateway.current_account()
    at_once(
        *[lambda: correcting.credit_sender(quill, Decimal("1.00"), "AUD", by=sam, now=timezone.now(), reason="Sorry.")]
        * 8
    )
    assert WeekSum.objects.get(kind="").amount == Decimal("-8.00")


def test_eight_operators_at_once_reverse_a_report_once(quill: Sender, alice: User, sam: User) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="SQ7K100")
    report = taken(summed(*ROWS))
    checking.read_due_report(report.pk)
    post(BillingReport.objects.get(pk=report.pk))
    found = at_once(*[lambda: reverse(report, sam)] * 8)
    assert sum(one == 1 for one in found) == 1
    assert Charge.objects.posted().filter(sender=quill).net() == {"AUD": Decimal(0)}


def test_a_report_reversed_while_a_copy_is_posted_leaves_no_line_counted_twice(
    quill: Sender, alice: User, sam: User
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="SQ7K100")
    first, second = taken(summed(*ROWS)), taken(summed(*ROWS, line("SQ7K100", "0.99")))
    for report in (first, second):
        checking.read_due_report(report.pk)
    post(BillingReport.objects.get(pk=first.pk))
    at_once(lambda: reverse(first, sam), lambda: post(BillingReport.objects.get(pk=second.pk)))
    second.refresh_from_db()
    # Posted before the reversal, its lines were repeats; after it they were read again first.
    assert second.state in ("posted", "reading")
    assert Charge.objects.posted().filter(sender=quill).net() == {"AUD": Decimal(0)}


def reverse(report: BillingReport, sam: User) -> int:
    return correcting.reverse_report(
        BillingReport.objects.get(pk=report.pk), by=sam, now=timezone.now(), reason="Withdrawn."
    )


def test_operators_who_decide_at_once_count_a_line_once(quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="SQ7K100")
    report = taken(summed(ROWS[0], line("SQ7K100", "2.00")))
    checking.read_due_report(report.pk)
    post(BillingReport.objects.get(pk=report.pk))
    held = list(Charge.objects.on_hold())
    at_once(*[lambda: posting.decide_lines(held, post=True, now=timezone.now())] * 4)
    at_once(*[lambda: posting.decide_lines(held, post=False, now=timezone.now())] * 2)
    assert WeekSum.objects.get(kind="").amount == Decimal("3.00")


def test_repeats_that_count_while_their_report_is_posted_are_posted_with_it() -> None:
    first, later = taken(summed(*ROWS)), taken(summed(*ROWS, line("SQ7K2M", "9.99")))
    checking.read_due_report(first.pk)
    post(BillingReport.objects.get(pk=first.pk))
    checking.read_due_report(later.pk)
    later.refresh_from_db()

    def post_later() -> None:
        try:
            post(BillingReport.objects.get(pk=later.pk))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert posting.count_repeats(later) == len(ROWS)
            posted = pool.submit(post_later)
            time.sleep(0.5)  # it waits, or has posted without them
        posted.result()
    assert not later.lines.filter(is_repeat=False, posted_at=None).exists()
