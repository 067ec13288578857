"""Each cause, repeated as often as in production, pages once within its limit and clears once.

If a cause reset its time whenever it repeats, it would never become overdue.
"""

import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from time_machine import TimeMachineFixture

from orders.booking import bookings
from orders.booking.limits import DailyLimitReached
from orders.calling import gateway
from orders.models import CarrierAccount, DailySpend, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff.alerts import alerting, conditions
from shipping_portal.staff.carrier import pausing
from shipping_portal.staff.models import AlertMessage
from tests import factories
from tests.receiver import Receiver
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)


@pytest.fixture(autouse=True)
def receiver(tmp_path: Path, settings: Any) -> Iterator[Receiver]:
    """One address for mail and one for webhooks."""
    settings.ALERT_EMAILS, settings.ALERT_REPEAT_HOURS = ["one@ops.example"], 99
    with Receiver(tmp_path) as it:
        settings.ALERT_PRIVATE_HOSTS, settings.ALERT_CA_BUNDLE = ["127.0.0.1"], it.bundle
        settings.ALERT_WEBHOOK_URL = it.url
        yield it


class Night:
    """Pass minutes one by one. In each, do `happens` and let the sweeper check conditions."""

    def __init__(self, clock: TimeMachineFixture) -> None:
        self.clock, self.now, self.minute = clock, timezone.now(), 0
        self.said: dict[str, int] = {}

    def last(self, minutes: int, happens: Callable[[], Any] = lambda: None) -> dict[str, int]:
        """Return the emails, each with its minute of the night."""
        for _ in range(minutes):
            self.clock.move_to(self.now)
            happens()
            alerting.check_conditions(timezone.now())
            for message in AlertMessage.objects.filter(due_at__isnull=False).order_by("pk"):
                alerting.send_due_message(message.pk)
            for sent in mail.outbox:
                self.said.setdefault(re.sub(r": \d.*", "", sent.subject), self.minute)
            assert len(self.said) == len(mail.outbox), "each of them once"
            self.minute += 1
            self.now += MINUTE
        return self.said


@pytest.fixture
def night(time_machine: TimeMachineFixture) -> Night:
    # Midday in Sydney, whatever the hour of the run: a day's limit starts again at midnight.
    time_machine.move_to(timezone.now().replace(hour=2, minute=0))
    return Night(time_machine)


def sent_by_webhook(receiver: Receiver) -> int:
    return len(receiver.requests)


def test_a_refused_account_pages_immediately_and_once_and_clears_once(
    night: Night,
    receiver: Receiver,
    carrier: SandboxCarrier,
    submitted: Callable[..., Order],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conditions, "WORK_IS_LATE", HOUR)  # nobody fetches labels here
    orders = [submitted() for _ in range(3)]
    carrier.trouble("book", "401", count=99)

    def book() -> None:
        Order.objects.filter(status="booking").update(due_at=timezone.now())
        for order in orders:
            bookings.process_booking(order.pk)

    assert night.last(20, book) == {"[page] Carrier account stopped": 0}
    probes = [call for call in carrier.requests() if call["path"].endswith("/orders")]
    assert 4 <= len(probes) <= 5, "one in five minutes"
    carrier.clear()
    assert list(night.last(10, book)) == ["[page] Carrier account stopped", "[all clear] Carrier account stopped"]
    assert set(Order.objects.values_list("status", flat=True)) == {"booked"}
    assert sent_by_webhook(receiver) == 2


def test_a_stop_counts_from_the_first_refusal_and_shows_the_last_reason(db: None) -> None:
    account, first = factories.account(), timezone.now()
    account.stop("no such key", first)
    account.stop("payment is due", first + HOUR)
    account.refresh_from_db()
    assert (account.stopped_at, account.stopped_reason) == (first, "payment is due")
    assert account.probe_due_at == first + HOUR + 5 * MINUTE
    account.note_answer(first + 2 * HOUR)
    account.stop("no such key", first + 2 * HOUR)
    account.refresh_from_db()
    assert account.stopped_at == first + 2 * HOUR


def test_our_own_fault_every_minute_pages_once_and_clears_a_day_after_the_last(night: Night) -> None:
    account = factories.account()

    def refuse() -> None:
        account.note_fault("metadata.partner_id: can't be blank", timezone.now())
        account.note_answer(timezone.now())  # other bookings are still accepted

    assert night.last(20, refuse) == {"[page] Refused: our setup": 15}
    account.refresh_from_db()
    assert account.fault_at == night.now - MINUTE
    night.now += dt.timedelta(hours=23)
    assert len(night.last(8)) == 1
    night.now += HOUR
    assert list(night.last(12)) == ["[page] Refused: our setup", "[all clear] Refused: our setup"]


def test_a_corrected_fault_is_over_and_another_pages_again(night: Night, sam: User) -> None:
    account = factories.account()
    account.note_fault("metadata.partner_id: can't be blank", night.now)
    assert night.last(17) == {"[page] Refused: our setup": 15}
    account.refresh_from_db()
    pausing.end_fault(account, by=sam, reason="partner_id is set now", now=night.now)
    assert list(night.last(7)) == ["[page] Refused: our setup", "[all clear] Refused: our setup"]
    account.note_fault("description: too long", night.now)
    account.refresh_from_db()
    assert account.fault_since == account.fault_at


@pytest.mark.parametrize(
    ("after", "is_same_row"), [(dt.timedelta(days=1), True), (dt.timedelta(days=1, seconds=1), False)]
)
def test_a_series_of_faults_is_over_after_a_day_without_one(after: dt.timedelta, is_same_row: bool) -> None:
    account, first = factories.account(), timezone.now()
    CarrierAccount.objects.update(fault_since=None, fault_at=None)
    account.note_fault("one", first)
    account.note_fault("two", first + after)
    account.refresh_from_db()
    assert (account.fault_since == first, account.fault_at, account.fault) == (is_same_row, first + after, "two")


def test_a_daily_limit_that_refuses_expensive_parcels_pages_even_if_cheap_ones_fit(
    night: Night, quill: Sender, alice: User, settings: Any
) -> None:
    settings.DAILY_MONEY_LIMIT = Decimal(100)
    Sender.objects.update(bookings_a_day=1000, money_a_day=None)

    def press(amount: str) -> None:
        quote = factories.quote(quill, alice, amount=amount)
        choice = {"by": alice, "form_token": uuid.uuid4(), "pickup_date": None, "now": timezone.now()}
        with suppress(DailyLimitReached):
            bookings.submit(quote=quote, code="STANDARD-PICKUP", **choice)
        Order.objects.update(due_at=None)

    press("60.00")

    def both() -> None:
        press("45.00")
        press("0.50")

    assert night.last(20, both) == {"[page] Daily money limit reached": 15}
    settings.DAILY_MONEY_LIMIT = Decimal(1000)
    press("0.50")
    assert DailySpend.objects.get().refused_at is None
    assert list(night.last(8)) == ["[page] Daily money limit reached", "[all clear] Daily money limit reached"]


@pytest.mark.parametrize(("limit", "is_over"), [("105.01", True), ("105.00", True), ("104.99", False)])
def test_a_refusal_is_over_once_an_equally_expensive_parcel_fits(
    quill: Sender, alice: User, settings: Any, limit: str, is_over: bool
) -> None:
    now = timezone.now()
    DailySpend.objects.create(day=now.date(), spent=Decimal(59), refused_at=now, refused_price=Decimal(45))
    settings.DAILY_MONEY_LIMIT = Decimal(limit)
    quote = factories.quote(quill, alice, amount="1.00")
    quill.zone = "UTC"
    quill.save()
    choice = {"by": alice, "form_token": uuid.uuid4(), "pickup_date": None, "now": now}
    bookings.submit(quote=quote, code="STANDARD-PICKUP", **choice)
    row = DailySpend.objects.get()
    assert (row.spent, row.refused_at is None) == (Decimal(60), is_over)


def test_a_carrier_silent_for_half_a_minute_in_every_ten_pages_once(night: Night) -> None:
    """A hold that starts and ends between two checks is still noticed."""
    account = factories.account()

    def five_unclear() -> None:
        if night.minute % 10 == 0:
            for _ in range(5):
                account.note_failure(night.now - 45 * dt.timedelta(seconds=1))

    assert night.last(40, five_unclear) == {"[page] The carrier isn't answering": 0}
    gateway.current_account().note_answer(night.now)
    assert list(night.last(8))[1:] == ["[all clear] The carrier isn't answering"]
