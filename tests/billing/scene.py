"""What a story of charges is made of: the carrier's rows and files, our parcels, and a model that just adds up."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from django.db import transaction
from django.utils import timezone
from hypothesis.stateful import RuleBasedStateMachine

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import checking
from tests.billing.conftest import line, refund, summed

FIRST_WEEK = dt.date(2026, 11, 2)


@dataclass(eq=False)
class Row:
    """A carrier's line, in a file or not yet. `order` is None if the parcel isn't one of ours."""

    cells: dict[str, str]
    order: Order | None
    amount: Decimal
    owner: Sender | None = None  # assigned by the operator, if it was unassigned
    is_posted: bool = False


@dataclass(eq=False)
class File:
    week: int
    rows: list[Row]
    reports: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"billing-{FIRST_WEEK + dt.timedelta(weeks=self.week + 1)}.csv"

    def content(self, copy: int = 0) -> bytes:
        """Return the file. A copy has the same lines but different bytes."""
        return summed(*(row.cells for row in self.rows)) + b"\r\n" * copy


@dataclass(eq=False)
class Parcel:
    """An order, and its state at the carrier."""

    order: Order
    cost: Row
    refund: Row | None = None
    is_used: bool = False


class Killed(BaseException):
    """Like kill -9: committed work stays, and nothing else runs."""


@contextmanager
def killed(at_batch: int | None) -> Iterator[None]:
    """Kill the worker as it stores this batch."""
    store, left = checking._store_batch, [at_batch]

    def store_or_die(*args: Any) -> None:
        left[0] = left[0] and left[0] - 1
        if left[0] == 0:
            raise Killed
        store(*args)

    checking._store_batch = store_or_die  # type: ignore[assignment]
    try:
        yield
    finally:
        checking._store_batch = store


class Scene(RuleBasedStateMachine):
    """Two senders, an operator and a carrier.

    All the carrier's rows differ, except that a label used after cancelling is billed by the same row as its order."""

    cast: ClassVar[tuple[User, User, User]]

    def __init__(self) -> None:
        super().__init__()
        self.story = transaction.atomic()
        self.story._from_testcase = True  # durable transactions may begin inside it; its end undoes them
        self.story.__enter__()
        *traders, self.sam = self.cast
        self.traders = [(user, Sender.objects.get(memberships__user=user)) for user in traders]
        self.parcels: list[Parcel] = []
        self.unheard: list[Order] = []
        self.fresh: list[Row] = []
        self.files: list[File] = []
        self.rows: list[Row] = []
        self.ours: list[tuple[Sender, Order | None, Decimal]] = []  # credits and reversals
        self.seen: dict[int, tuple[Any, ...]] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.story.__exit__(None, None, None)

    def due(self) -> Iterator[tuple[Sender | None, Order | None, Decimal]]:
        yield from self.ours
        for row in self.rows:
            order = None if row.order in self.unheard else row.order
            if row.is_posted:
                yield (order.sender if order else row.owner), order, row.amount

    def cancel(self, parcel: Parcel) -> None:
        Order.objects.filter(pk=parcel.order.pk).update(status="cancelled", cancelled_at=timezone.now())
        parcel.refund = self.write(parcel.order, refund, of=parcel.cost)

    def use(self, parcel: Parcel) -> None:
        parcel.is_used = True
        used = FIRST_WEEK + dt.timedelta(weeks=len(self.files), days=2)
        at = dt.datetime.combine(used, dt.time(9), dt.UTC)
        Order.objects.filter(pk=parcel.order.pk).update(used_after_cancel_at=at)
        self.write(parcel.order, line, of=parcel.cost)

    def usable(self) -> Iterator[Parcel]:
        """Yield the parcels whose label can be used: billed once, with a refund read before the second bill."""
        for parcel in self.parcels:
            back = parcel.refund
            if (
                back
                and not parcel.is_used
                and parcel.cost not in self.fresh
                and (back in self.fresh or self.is_read(back))
            ):
                yield parcel

    def is_read(self, row: Row) -> bool:
        file = next(file for file in self.files if row in file.rows)
        return BillingReport.objects.filter(pk__in=file.reports, state__in=["checked", "posted"]).exists()

    def write(self, order: Order | None, written: Any, *, of: Row | None = None, **cells: str) -> Row:
        """Write a row. Each has its own price, so no two are alike, unless it repeats the price of the row `of`."""
        amount = abs(of.amount) if of else Decimal(1000 + len(self.rows)) / 100
        reference = order.carrier_reference if order else f"SSTRAY{len(self.rows):03d}"
        made = Row(written(reference, str(amount), **cells), order, -amount if written is refund else amount)
        self.rows.append(made)
        self.fresh.append(made)
        return made

    def reports(self, which: int) -> Iterator[tuple[File, BillingReport]]:
        file = self.files[which % len(self.files)]
        for pk in file.reports:
            yield file, BillingReport.objects.get(pk=pk)
