"""Make orders due, and measure how long it takes until they are booked."""

import datetime as dt
import time
import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.models import Label, Order, OrderChange
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.celery import publish_task
from tests import factories

SENDERS = 8
PATIENCE = 60.0


class DueOrders:
    """Some senders of the portal whose orders are booked."""

    def __init__(self) -> None:
        self.senders = [factories.sender(name=f"Bench {number}") for number in range(SENDERS)]
        self.samples = [factories.order(one, _member(one), account=gateway.current_account()) for one in self.senders]

    def add(self, count: int) -> float:
        """Make this many due at once; return the seconds until the last of them is booked."""
        now = timezone.now()
        rows = [factories.copy_of(self.samples[number % SENDERS], number) for number in range(count)]
        for row in rows:
            row.status, row.due_at, row.submitted_at, row.quoted_at = Status.BOOKING, now, now, now
            row.carrier_reference, row.reserved_on, row.reserved = None, now.date(), row.price
        made = Order.objects.bulk_create(rows)
        OrderChange.objects.bulk_create(
            OrderChange(order=one, old="draft", new="booking", at=now, by=one.made_by, reason="bench") for one in made
        )
        began = time.perf_counter()
        for one in made:
            publish_task("jobs.book", one.pk)
        self._wait(self._unbooked())
        return time.perf_counter() - began

    def submit(self, count: int) -> float:
        """Press Book as a sender does; return the seconds until it is booked."""
        by = self.samples[0].made_by
        quote = factories.quote(self.senders[0], by)
        self.finish(0)
        began = time.perf_counter()
        for _ in range(count):
            bookings.submit(
                quote=quote, code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(), pickup_date=None,
                now=timezone.now(),
            )  # fmt: skip
        self._wait(self._unbooked(), look=0.002)
        return time.perf_counter() - began

    def finish(self, _count: int) -> float:
        """Wait until nothing is due for these bookings, except labels that nobody waits for."""
        soon = timezone.now() + dt.timedelta(hours=1)
        self._wait(Label.objects.filter(order__sender__in=self.senders, is_spare=False, due_at__lt=soon))
        self._wait(Order.objects.filter(sender__in=self.senders, due_at__lt=soon))
        return 0.0

    def _unbooked(self) -> QuerySet[Order]:
        return Order.objects.filter(sender__in=self.senders).exclude(status__in=[Status.BOOKED, Status.DRAFT])

    def _wait(self, due: QuerySet[Any], *, look: float = 0.02) -> None:
        ends = time.monotonic() + PATIENCE
        while due.exists():
            if time.monotonic() > ends:
                raise SystemExit("the workers did not finish the jobs that were due")
            time.sleep(look)


def _member(of: Sender) -> User:
    person = factories.user(f"{uuid.uuid4()}@bench.example")
    factories.member(of, person)
    factories.pickup_address(of, email=person.email)
    return person
