"""A month between one portal and one carrier: seeded orders, cancellations, adjustments, refunds and reports.

Everything goes through the portal's own entry points and the sandbox carrier's HTTP. The clock jumps by a week at a time.
"""

import datetime as dt
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import time_machine
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.cancelling import cancels
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Measures
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Parcel, Poll

FIRST_MONDAY = dt.datetime(2026, 11, 2, 1, tzinfo=dt.UTC)
WEEKS = 4
BOTH_ROWS = 2  # the week in which the carrier shows orders cancelled in their own cycle
NOVELTY = "Adjustment: Remote area"
# What happens to an order, and how many in a hundred; `later` is the next week, when it is already billed.
FATES = {
    "cancel": 6, "cancel, use": 2, "cancel, later: use": 1, "later: cancel": 6, "later: cancel, use": 2,
    "under-declared": 8, "under-declared, later: under-declared-refund": 2, "oversize": 4, "refund-delay": 1,
    "later: refund-delay": 3, "refund-loss": 1, "later: refund-loss": 2, "later: refund": 2, "novelty": 1,
}  # fmt: skip
MEASURED = {"measured_weight": "3.900", "measured_volume": "0.0130"}


@dataclass
class Trade:
    """What one sender ships, and what the carrier offered for each."""

    sender: Sender
    user: User
    parcels: list[tuple[ParcelDetails, list[dict[str, Any]]]]

    @classmethod
    def of(cls, user: User, **changes: Any) -> "Trade":
        """Quote three parcels within the sender's own country."""
        sender = Sender.objects.get(memberships__user=user)
        parcels = []
        for weight, cover in ((Decimal("0.4"), None), (Decimal("2.4"), Decimal(300)), (Decimal(11), None)):
            measures = Measures(weight, "kg", Decimal(32), Decimal(24), Decimal(11), "cm")
            extra = cover if sender.country == "AU" else None
            details = factories.details(sender, measures=measures, cover=extra, **changes)
            parcels.append((details, asking.ask_for_prices(sender, details, by=user, now=timezone.now()).products))
        return cls(sender, user, parcels)


@dataclass(frozen=True)
class File:
    """One weekly report as the carrier wrote it."""

    week: dt.date
    name: str
    content: bytes


class Month:
    """A month of orders. After `play`, the four `files` are ready, and the carrier's ledger has the expected sums."""

    def __init__(self, carrier: SandboxCarrier, trades: list[Trade], *, orders: int, seed: int = 1) -> None:
        self.carrier, self.trades, self.a_week = carrier, trades, orders // WEEKS
        self.dice = random.Random(seed)  # noqa: S311  (the same month every time)
        self.files: list[File] = []
        self._later: list[tuple[Order, str]] = []

    def play(self) -> None:
        for number in range(WEEKS):
            begins = FIRST_MONDAY + dt.timedelta(weeks=number)
            with at(begins):
                self.carrier.settings(bills_cancelled=number == BOTH_ROWS)
                self._play_week(number)
            with at(begins + dt.timedelta(days=7, hours=-1)):
                name, content = self.carrier.report()
                self.files.append(File(begins.date(), name, content))

    def _play_week(self, number: int) -> None:
        due, self._later = self._later, []
        for order, what in due:
            self._befall(order, what)
        for fate in self._fates(last=number == WEEKS - 1):
            order = self._book(self.dice.choice(self.trades))
            now, _, later = fate.partition("later: ")
            self._befall(order, now.strip(", "))
            if later:
                self._later.append((order, later))
        if number < 3:
            self.carrier.stray(f"SSTRAY00{number}", f"{self.dice.randint(500, 9000) / 100:.2f}")

    def _fates(self, *, last: bool) -> list[str]:
        """Return a fate for each order of a week. Each fate comes up at least once, even in a small week."""
        share = {fate: max(1, of * self.a_week // 100) for fate, of in FATES.items() if not (last and "later" in fate)}
        fates = [fate for fate, times in share.items() for _ in range(times)]
        fates += [""] * (self.a_week - len(fates))
        self.dice.shuffle(fates)
        return fates

    def _book(self, trade: Trade) -> Order:
        details, products = self.dice.choice(trade.parcels)
        now = timezone.now()
        quote = Quote.objects.create(
            sender=trade.sender, account=gateway.current_account(), made_by=trade.user,
            details=details.to_json(), inputs_hash=details.hash(), products=products, made_at=now,
        )  # fmt: skip
        order = bookings.submit(
            quote=quote, code=products[0]["code"], by=trade.user, form_token=uuid.uuid4(), pickup_date=None, now=now
        )  # fmt: skip
        bookings.process_booking(order.pk)
        order.refresh_from_db()
        assert order.status == "booked", order.problem
        return order

    def _befall(self, order: Order, fate: str) -> None:
        for what in filter(None, fate.split(", ")):
            if what == "cancel":
                self._cancel(order)
            elif what == "use":
                self._use(order)
            else:
                self._charge(order, what)

    def _cancel(self, order: Order) -> None:
        cancels.ask_to_cancel(order, by=order.made_by, why="not sending it", now=timezone.now())
        cancels.process_cancel(order.pk)
        order.refresh_from_db()
        assert order.status == "cancelled", order.problem

    def _use(self, order: Order) -> None:
        """Use the label of a cancelled order, and give the portal the scan."""
        soon = timezone.now() + dt.timedelta(minutes=1)
        self.carrier.scan(order.carrier_reference or "", "Pickup", scan_time=soon.isoformat())
        polling.open_parcel(order.pk)
        Poll.objects.filter(parcel__order=order).update(due_at=timezone.now())
        polling.poll_due_parcel(Parcel.objects.get(order=order).pk)
        order.refresh_from_db()
        assert order.used_after_cancel_at

    def _charge(self, order: Order, kind: str) -> None:
        more = MEASURED if kind in ("under-declared", "oversize") else {}
        words = {"words": NOVELTY} if kind == "novelty" else {}
        amount = Decimal(self.dice.randint(150, 2500)) / 100
        if "refund" in kind:  # more than was charged would be on hold
            amount = order.total if kind == "refund-loss" else min(amount, order.total)
        self.carrier.charge(order.carrier_reference or "", kind, f"{amount:.2f}", **more, **words)


@contextmanager
def at(moment: dt.datetime) -> Iterator[None]:
    """Set the clock of the portal and of the carrier, which runs in this process too."""
    with time_machine.travel(moment, tick=True):
        yield
