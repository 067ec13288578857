"""Read billing for senders: weeks, and one week's lines. Totals are sums of lines, by currency."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Prefetch, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Round
from django.utils import timezone

from orders.list import listing
from orders.list.system_views import SenderScope
from orders.models import Order
from orders.status.references import without_sign
from orders.status.status_labels import ASKED
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import (
    PLACE,
    REFUNDS,
    SIZE_CHARGES,
    BillingReport,
    Charge,
    ChargeKind,
    ChargeQuerySet,
    Dispute,
    WeekSum,
    round_cents,
)
from shipping_portal.db.keyset import Keyset

Row = dict[str, Any]  # a line of a template's table

WEEKS = 13
RECENT = dt.timedelta(weeks=8)  # next to what was spent
LATE_SIZE_CHARGES = dt.timedelta(weeks=4)  # before this week, and still new
ON_PAPER = 500
PRICES = (ChargeKind.ORDER, ChargeKind.COVER)
ADJUSTMENTS = (*SIZE_CHARGES, ChargeKind.UN_CANCELLATION)
NOTHING = Decimal("0.00")
COLUMNS = {
    "order_cost": ("Order cost", (ChargeKind.ORDER,)),
    "cover": ("Extra Cover", (ChargeKind.COVER,)),
    "size_charges": ("Size charges", (ChargeKind.UNDER_DECLARED,)),
    "penalties": ("Penalties", (ChargeKind.OVERSIZE,)),
    "un_cancellations": ("Used after cancelling", (ChargeKind.UN_CANCELLATION,)),
    "refunds": ("Refunds", REFUNDS),
    "credit": ("Credit", (ChargeKind.CREDIT,)),
}
LINES = Keyset("place")  # sort order of a statement: by group, then in the report's order
SIZE = "size"  # both kinds of size charge: their email links to this
# A statement's tabs, and other values of its address: one kind, or disputed lines.
TABS: dict[str, tuple[str, tuple[str, ...]]] = {
    "": ("All", tuple(ChargeKind.values)),
    "bookings": ("Bookings", PRICES),
    SIZE: ("Size charges", SIZE_CHARGES),
    ChargeKind.UN_CANCELLATION: ("Used after cancelling", (ChargeKind.UN_CANCELLATION,)),
    "refunds": ("Refunds", REFUNDS),
    ChargeKind.CREDIT: ("Credits", (ChargeKind.CREDIT,)),
}
DISPUTED = "disputed"
REVIEWED = Exists(Dispute.objects.open().filter(charge=OuterRef("pk")))
FILTERS: dict[str, tuple[str, ...]] = {
    **{kind: (kind,) for kind in ChargeKind.values if kind != ChargeKind.UNKNOWN},
    **{name: kinds for name, (_, kinds) in TABS.items() if name},
    DISPUTED: tuple(ChargeKind.values),
}


@dataclass(frozen=True)
class Balance:
    """One currency: what was charged, refunded and credited by us."""

    currency: str
    prices: Decimal
    adjusted: Decimal
    refunds: Decimal
    credits: Decimal

    @property
    def charges(self) -> Decimal:
        return self.prices + self.adjusted

    @property
    def net(self) -> Decimal:
        return self.charges + self.refunds + self.credits


def balances_of(sums: Iterable[tuple[str, str, Decimal]]) -> list[Balance]:
    """Return the balances of (kind, currency, amount) rows of a statement or parcel."""
    found = list(sums)

    def total(currency: str, kinds: Iterable[str]) -> Decimal:
        return sum(
            (amount for kind, unit, amount in found if unit == currency and kind in kinds), NOTHING
        )

    return [
        Balance(
            unit,
            *(total(unit, kinds) for kinds in (PRICES, ADJUSTMENTS, REFUNDS, (ChargeKind.CREDIT,))),
        )
        for unit in sorted({unit for _, unit, _ in found})
    ]


def lines_of(user: Any, sender: Sender) -> ChargeQuerySet:
    # Repeating the sender lets PostgreSQL use its index instead of reading everybody's lines.
    return Charge.objects.for_user(user).filter(sender=sender)


def explained_lines(lines: QuerySet[Charge]) -> QuerySet[Charge]:
    """Prefetch what the rows of these lines show."""
    disputes = Prefetch("disputes", Dispute.objects.order_by("-made_at", "-pk"))
    return lines.select_related("order", "reverses").prefetch_related(disputes)


def pending_refunds(orders: QuerySet[Order]) -> list[Row]:
    """Return the refunds that the carrier hasn't decided on: currency, count and amount."""
    total = Round(Sum(Coalesce("charged_price", "price")), 2)
    found = orders.filter(ASKED).order_by("currency").values("currency")
    return [dict(row) for row in found.annotate(count=Count("pk"), amount=total)]


@dataclass(frozen=True)
class Weeks:
    """Some weeks, newest first, one row per currency; `on` is the next page's key."""

    rows: list[Row]
    on: str | None


def sums_of(user: Any, sender: Sender) -> QuerySet[WeekSum]:
    """Return a sender's weekly totals; each currency also has a row without a kind."""
    return WeekSum.objects.for_user(user).filter(sender=sender)


def week_rows(sums: QuerySet[WeekSum], *, before: dt.date | None) -> Weeks:
    """Return a page of weeks with parcels, net amount and the amount of each of COLUMNS."""
    older = sums.filter(week__lt=before) if before else sums
    found = list(older.order_by("-week").values_list("week", flat=True).distinct()[: WEEKS + 1])
    shown = found[:WEEKS]
    if not shown:
        return Weeks([], None)
    amounts = {
        name: Sum("amount", filter=Q(kind__in=kinds), default=NOTHING)
        for name, (_, kinds) in COLUMNS.items()
    }
    of_all = Q(kind="")
    rows = sums.filter(week__in=shown).values("week", "currency").order_by("-week", "currency")
    summed = rows.annotate(
        parcels=Sum("orders", filter=of_all), net=Sum("amount", filter=of_all), **amounts
    )
    return Weeks(
        [dict(row) for row in summed], week_name(shown[-1]) if len(found) > WEEKS else None
    )


def final_until() -> dt.date | None:
    """Return the newest week with a posted report; it and earlier ones are final."""
    posted = BillingReport.objects.filter(state=BillingReport.State.POSTED)
    return posted.aggregate(newest=Max("week"))["newest"]


def is_final(week: dt.date, until: dt.date | None, today: dt.date) -> bool:
    return until is not None and week <= until and week + dt.timedelta(days=7) <= today


@dataclass
class Statement:
    """One week of one sender, filtered by `kind` and `q`.

    The groups are always those of the whole week.
    """

    whole: QuerySet[Charge]
    sums: QuerySet[WeekSum]
    kind: str = ""
    q: str = ""

    @cached_property
    def groups(self) -> list[Row]:
        """Return `kind`, `currency`, `count`, `amount` and `disputed`, in interface order."""
        disputed: Counter[tuple[str, str]] = Counter(
            self.whole.filter(disputes__state=Dispute.State.OPEN).values_list("kind", "currency")
        )
        order = {kind: place for place, kind in enumerate(ChargeKind.values)}
        rows = [
            {
                "kind": row.kind,
                "currency": row.currency,
                "count": row.lines,
                "amount": round_cents(row.amount),
                "disputed": disputed[row.kind, row.currency],
            }
            for row in self.sums.exclude(kind="")
        ]
        return sorted(rows, key=lambda row: (order[row["kind"]], row["currency"]))

    @property
    def balances(self) -> list[Balance]:
        return balances_of((row["kind"], row["currency"], row["amount"]) for row in self.groups)

    @property
    def has_size_charges(self) -> bool:
        return any(row["kind"] in SIZE_CHARGES for row in self.groups)

    @cached_property
    def found(self) -> QuerySet[Charge]:
        lines = self.whole
        if self.kind in FILTERS:
            lines = lines.filter(kind__in=FILTERS[self.kind])
        if self.kind == DISPUTED:
            lines = lines.filter(REVIEWED)
        for word in map(without_sign, self.q.split()):
            lines = lines.filter(
                Q(reference__icontains=word) | Q(order__customer_reference__icontains=word)
            )
        return lines

    @cached_property
    def totals(self) -> list[Row]:
        """Return the number of lines found and their total, by currency."""
        if self.q or self.kind == DISPUTED:
            sums = self.found.order_by("currency").values("currency")
            return [dict(row) for row in sums.annotate(count=Count("pk"), amount=Sum("amount"))]
        kinds = FILTERS.get(self.kind, ChargeKind.values)
        found: dict[str, Row] = {}
        for row in self.groups:
            if row["kind"] in kinds:
                of = found.setdefault(
                    row["currency"], {"currency": row["currency"], "count": 0, "amount": NOTHING}
                )
                of["count"] += row["count"]
                of["amount"] += row["amount"]
        return [found[currency] for currency in sorted(found)]

    def in_order(self) -> QuerySet[Charge]:
        """Return the lines by group, in interface order; within a group, in the report's order."""
        return explained_lines(self.found.annotate(place=PLACE).order_by("place", "pk"))


def net_before(sums: QuerySet[WeekSum], week: dt.date) -> dict[str, Decimal]:
    """Return the previous week's total by currency."""
    found = sums.filter(week=week - dt.timedelta(days=7), kind="").values_list("currency", "amount")
    return {currency: round_cents(amount) for currency, amount in found}


def recent_sums(user: Any, sender: Sender, week: dt.date) -> list[WeekSum]:
    """Return weekly totals up to this week, newest first: of all charges, and of size charges.

    `is_new` marks a total of size charges if one of them was posted this week.
    """
    midnight = dt.datetime.combine(week, dt.time(), sender.tzinfo)
    posted = lines_of(user, sender).filter(posted_at__gte=midnight, week=OuterRef("week"))
    # Old weeks' lines aren't read.
    recently = Q(week__gte=week - LATE_SIZE_CHARGES, kind__in=SIZE_CHARGES)
    is_new = recently & Q(Exists(posted.filter(kind=OuterRef("kind"))))
    sums = sums_of(user, sender).filter(week__gte=week - RECENT, kind__in=("", *SIZE_CHARGES))
    return list(sums.annotate(is_new=is_new).order_by("-week", "currency"))


def new_size_charges(sums: list[WeekSum]) -> Row:
    """Return the newest week with new size charges, and how many its statement lists, or {}."""
    of_size = [row for row in sums if row.kind]
    weeks = [row.week for row in of_size if row.is_new]  # type: ignore[attr-defined]
    if not weeks:
        return {}
    count = sum(row.lines for row in of_size if row.week == weeks[0])
    return {"count": count, "week": week_name(weeks[0])}


def _adjusted_orders(value: str, scope: SenderScope) -> Q | None:
    found = Charge.objects.posted().filter(
        sender=scope.sender, kind__in=ADJUSTMENTS, order__isnull=False
    )
    return Q(pk__in=found.values("order")) if value == "yes" and scope.sees_money else None


listing.FILTERS["adjusted"] = listing.Filter(
    "Charges", _adjusted_orders, lambda value, choices: "Adjusted"
)


NAME = re.compile(r"([0-9]{4})-W([0-9]{2})", re.ASCII)


def week_name(week: dt.date) -> str:
    """Return `2026-W47`, as ISO 8601 counts weeks."""
    year, number, _ = week.isocalendar()
    return f"{year}-W{number:02}"


def week_named(name: str) -> dt.date | None:
    """Return the Monday of the week with that name, or None if there is no such week."""
    found = NAME.fullmatch(name)
    try:
        return dt.date.fromisocalendar(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        return None


def week_words(week: dt.date, sender: Sender, *, names_year: bool = False) -> str:
    """Return `16–22 November`, in the US `November 16–22`, with the year unless it is this one."""
    last = week + dt.timedelta(days=6)
    if sender.country == "US":
        end = f"{last.day}" if week.month == last.month else f"{last:%B} {last.day}"
        words = f"{week:%B} {week.day}–{end}"
    else:
        begin = f"{week.day}" if week.month == last.month else f"{week.day} {week:%B}"
        words = f"{begin}–{last.day} {last:%B}"
    is_this_year = last.year == timezone.now().astimezone(sender.tzinfo).year
    if is_this_year and not names_year:
        return words
    comma = "," if sender.country == "US" else ""
    return f"{words}{comma} {last.year}"
