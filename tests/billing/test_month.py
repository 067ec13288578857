"""A month of traffic, billed by the sandbox carrier and posted by the portal, equals the ledger to the cent."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from orders.calling import gateway
from shipping_portal.accounts.models import User
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, ChargeWord
from shipping_portal.billing.reports import checking, posting, uploads
from tests import factories
from tests.billing.sums import differences, of_ledger, of_portal
from tests.billing.traffic import NOVELTY, File, Month, Trade
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
State = BillingReport.State
FAST = "tracking_per_second = 1000.0\nrequests_per_second = 1000.0\n"


@pytest.fixture
def bob(db: None) -> User:
    """The other account: Bob ships in the United States and pays in US dollars."""
    user = factories.user("bob@bolts.example", name="Bob Stranger")
    business = factories.sender(name="Bob's Bolts", country="US")
    factories.member(business, user)
    factories.pickup_address(business, email=user.email)
    return user


@pytest.fixture
def month(
    carrier: SandboxCarrier, contract: Callable[[str], None], alice: User, bob: User, localities: None
) -> Callable[[int], Month]:
    """`month(60)` plays a month of 60 orders to its end. Four reports are ready."""

    def play(orders: int) -> Month:
        contract(FAST)
        there = factories.receiver(suburb="PORTLAND", state="OR", postcode="97205", country="US", phone="503 555 0142")
        made = Month(carrier, [Trade.of(alice), Trade.of(bob, receiver=there)], orders=orders)
        made.play()
        return made

    return play


def take(content: bytes, name: str) -> BillingReport:
    """Take and read a report."""
    report = uploads.store_report(gateway.current_account(), name, content, by=None, now=timezone.now())
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    return report


def post(file: File, by: User) -> BillingReport:
    """Take, read and post a report. The operator decides what the carrier's new words mean."""
    report = take(file.content, file.name)
    assert (report.state, report.problems, report.week) == (State.CHECKED, [], file.week)
    if obstacles := posting.posting_obstacles(report):
        assert [NOVELTY.casefold() in text.casefold() for text in obstacles] == [True]
        term = ChargeWord.objects.get(word__startswith=NOVELTY.casefold())
        for waiting in checking.decide_word(term, ChargeKind.OVERSIZE, now=timezone.now()):
            checking.read_due_report(waiting.pk)
        report.refresh_from_db()
    posting.post_report(report, by=by, now=timezone.now())
    return report


def damaged(content: bytes) -> tuple[bytes, list[int]]:
    """Return the file with bad bytes in the price of line 5 and cut off in the middle of a line; and those two lines."""
    lines = content.splitlines(keepends=True)
    cells = lines[4].split(b",")
    cells[5] = b"\xff\xfe" + cells[5][1:]
    last = len(lines) * 2 // 3
    return b"".join([*lines[:4], b",".join(cells), *lines[5:last], lines[last][:30]]), [5, last + 1]


def everything_posted() -> Counter[tuple[Any, ...]]:
    fields = ("reference", "order", "sender", "kind", "amount", "currency", "week", "posted_at", "key")
    return Counter(Charge.objects.posted().values_list(*fields))


def holds(month: Month, carrier: SandboxCarrier, sam: User, alice: User, bob: User) -> None:
    """Import the month with a damaged file and a duplicate in it, and check every sum against the ledger."""
    first, second, third, fourth = month.files
    post(first, sam)
    post(second, sam)

    broken, lines = damaged(third.content)
    report = take(broken, third.name)
    assert (report.state, [number for number, _ in report.problems]) == (State.DAMAGED, lines)
    before = everything_posted()
    with pytest.raises(posting.NotReady):
        posting.post_report(report, by=sam, now=timezone.now())
    assert (report.lines.count(), everything_posted()) == (0, before)
    posting.void_report(report, by=sam, now=timezone.now())

    post(third, sam)
    with pytest.raises(uploads.TakenBefore):
        take(second.content, "the same under another name.csv")
    post(fourth, sam)

    ledger = of_ledger(carrier.ledger())
    assert differences(ledger, of_portal()) == []
    assert Charge.objects.posted().filter(sender=None).count() == 3
    for user, currency in ((alice, "AUD"), (bob, "USD")):
        assert Charge.objects.for_user(user).net() == {currency: ledger["account", user.email, currency]}
    assert week_sums.wrong_weeks(Q()) == set()

    before = everything_posted()
    for file in month.files:  # the same lines in other bytes
        posting.post_report(take(file.content.replace(b"\r\n", b"\n"), file.name), by=sam, now=timezone.now())
    assert everything_posted() == before


def test_a_month_equals_the_ledger_to_the_cent(
    month: Callable[[int], Month], carrier: SandboxCarrier, sam: User, alice: User, bob: User
) -> None:
    holds(month(60), carrier, sam, alice, bob)
    kinds = set(Charge.objects.posted().values_list("kind", flat=True))
    assert kinds == set(ChargeKind) - {ChargeKind.CREDIT, ChargeKind.UNKNOWN}, "every kind of line is in it"


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)  # in one transaction PostgreSQL checks a month of rows at its end, too late
def test_a_month_of_two_thousand_parcels_equals_the_ledger_to_the_cent(
    month: Callable[[int], Month], carrier: SandboxCarrier, sam: User, alice: User, bob: User
) -> None:
    holds(month(2000), carrier, sam, alice, bob)
