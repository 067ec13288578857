"""The work of posting a large report grows with its number of lines, not with the square of it."""

import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.pages import statements
from shipping_portal.billing.reports import posting, reading
from shipping_portal.billing.reports.reading import NotAReport
from tests import factories
from tests.billing.conftest import line, summed
from tools.bench import filling

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("as_the_owner")]  # who may ANALYZE
LINES = 600
MOST_A_LINE = 40  # rows of charges and orders; a subquery run again for each line touched 600 more


def many(like: Order, count: int = LINES) -> None:
    """Create as many booked orders as a report has lines: SMANY0 and so on."""
    fields = {field.attname: getattr(like, field.attname) for field in Order._meta.concrete_fields}
    del fields["id"]
    Order.objects.bulk_create(
        Order(**fields | {"uuid": uuid.uuid4(), "form_token": uuid.uuid4(), "carrier_reference": f"SMANY{n}"})
        for n in range(count)
    )


def touched() -> int:
    """Return how many rows of charges and orders this transaction has read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"
            " WHERE relname IN ('billing_charge', 'orders_order')"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.postgres
@pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="statistics are PostgreSQL's")
def test_posting_a_new_report_does_not_read_all_its_lines_for_each_line(
    take: Callable[..., BillingReport], quill: Sender, alice: User
) -> None:
    """PostgreSQL took its statistics before the report came, so it expects a single row."""
    order = factories.order(quill, alice, status="booked")
    many(order)
    older = factories.billing_report()
    for number in range(20):
        factories.charge(order, report=older, line=number, key=str(number))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    report = take(summed(*(line(f"SMANY{n}", "12.08" if n % 7 else "13.08") for n in range(LINES))))
    before = touched()
    posting.post_report(report, by=None, now=timezone.now())
    assert report.lines.filter(is_unexpected=True).count() == len(range(0, LINES, 7))
    assert (touched() - before) / LINES < MOST_A_LINE


def test_a_file_with_too_many_lines_is_refused(
    take: Callable[..., BillingReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LINES", 3)
    assert take(summed(line("SQ7K2M"), line("SB4N8X"))).state == BillingReport.State.CHECKED
    with pytest.raises(NotAReport, match="more than 100,000 lines"):
        take(summed(line("SQ7K2M"), line("SB4N8X"), line("SC4N8X"), line("SD4N8X")))


def test_lines_posted_in_batches_all_count(take: Callable[..., BillingReport], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "BATCH", 2)
    report = take(summed(*(line(f"SQ7K{n}") for n in range(5))))
    posting.post_report(report, by=None, now=timezone.now())
    assert report.lines.posted().count() == 5


@pytest.fixture
def unhurried(db: None) -> Iterator[None]:
    """Allow the check of all new keys, which runs as the test is rolled back, as long as it needs."""
    yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")


@pytest.mark.nightly
@pytest.mark.postgres
@pytest.mark.skipif(
    "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="it is filled by PostgreSQL's statements"
)
@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(("orders", "lines"), [(200_000, 20_000)])
def test_a_report_of_twenty_thousand_lines_is_posted_to_the_cent(
    take: Callable[..., BillingReport], client: Client, orders: int, lines: int
) -> None:
    """The database has 200,000 orders. How long this takes is measured, not tested."""
    cast = filling.fill(orders)
    mia = cast.people[filling.SENDER]
    order = Order.objects.for_user(mia).latest("pk")
    many(order, lines)
    prices = [Decimal(1200 + n % 900) / 100 for n in range(lines)]
    report = take(summed(*(line(f"SMANY{n}", str(price)) for n, price in enumerate(prices))))
    posting.post_report(report, by=None, now=timezone.now())
    counted = report.lines.posted().filter(sender=order.sender).order_by("line")
    assert list(counted.values_list("amount", flat=True)) == prices
    client.force_login(mia, backend="allauth.account.auth_backends.AuthenticationBackend")
    page = client.get(reverse("statement", args=[statements.week_name(report.week)]), secure=True)
    assert page.status_code == 200
    client.force_login(cast.people[filling.OPERATOR], backend="allauth.account.auth_backends.AuthenticationBackend")
    assert f"{sum(prices):,}" in client.get(
        reverse("admin:billing_billingreport_change", args=[report.pk]), secure=True
    ).text.replace("&nbsp;", " ")
