"""Assign many report lines to one sender: work out where each goes and which are left out."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Prefetch, Q

from orders.models import BookingAttempt, Order
from orders.models.statuses import UNCLEAR_BOOKING
from shipping_portal.accounts.adminkit.actions import audited
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.admin import charges
from shipping_portal.billing.charges import matching
from shipping_portal.billing.models import Charge
from shipping_portal.carrier.naming import Names
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution.matches import EARLIER, LATER
from shipping_portal.staff.resolution.verifying import (
    CLOCKS,
    is_its_name,
    time_of_sending,
    with_sendings,
)

MOST = 100


@dataclass
class Line:
    """One report line, Extra Cover included. It goes to `order` if set, otherwise to the sender.

    `left` says why it goes nowhere; `unclear` is the booking that it may resolve.
    """

    charge: Charge
    amount: Decimal
    sender: Sender | None = None
    order: Order | None = None
    unclear: Order | None = None
    left: str = ""

    @property
    def destination(self) -> str:
        """Return where it goes, which the operator sees before assigning, or ""."""
        if self.sender is None or self.left:
            return ""
        return f"{self.sender.pk}-{self.order.pk if self.order else ''}"


def plan_assignment(ticked: Collection[int], sender: Sender | None) -> list[Line]:
    """Return the ticked lines, and where each of them goes once a sender is chosen."""
    lines = _read_lines(ticked)
    free = [line for line in lines if not line.left]
    if sender is None or not free:
        return lines
    named = matching.orders_named([line.charge for line in free], sender)
    unclear = _unclear_bookings(free)
    for line in free:
        line.sender, line.order = sender, named.get(line.charge.pk)
        line.unclear = next((order for order in unclear if _may_answer(line, order)), None)
        if line.unclear:
            line.left = "It may belong to an unresolved booking: resolve that booking first."
        elif line.order and line.order.sender_id != sender.pk:
            line.left = f"Its reference belongs to another sender's order, {line.order.pk}."
    return lines


def sums_by_currency(lines: Collection[Line]) -> dict[str, Decimal]:
    """Return the total of the lines that go to the sender, by currency."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines:
        if line.destination:
            found[line.charge.currency] += line.amount
    return dict(sorted(found.items()))


def assign_all(
    lines: Collection[Line],
    shown: Mapping[int, str],
    *,
    reason: str,
    by: User | Any,
    now: dt.datetime,
) -> list[Line]:
    """Assign the lines that still go where `shown` says, and return them.

    Each has its own transaction and audit row.
    """
    done = []
    for line in lines:
        if not line.destination or shown.get(line.charge.pk) != line.destination:
            continue
        owner = (line.sender, line.order)
        try:
            audited(
                "charge assigned",
                charges.assign,
                line.charge,
                by=by,
                now=now,
                owner=owner,
                reason=reason,
            )
        except Refused as refusal:
            line.left = str(refusal)
        else:
            done.append(line)
    return done


def _read_lines(ticked: Collection[int]) -> list[Line]:
    """Read lines with all parts of their prices: a report's line is assigned as a whole."""
    chosen = list(Charge.objects.filter(pk__in=ticked).select_related("report").order_by("pk"))
    same_line = Q(pk__in=[charge.pk for charge in chosen])
    for charge in chosen:
        same_line |= Q(report=charge.report_id, line=charge.line, sender=None, is_repeat=False)
    wholes: dict[tuple[int | None, int], list[Charge]] = defaultdict(list)
    for part in Charge.objects.filter(same_line).select_related("report").order_by("pk"):
        wholes[part.report_id, part.line].append(part)
    return [_make_line(parts) for parts in wholes.values()]


def _make_line(parts: list[Charge]) -> Line:
    free = [part for part in parts if part.sender_id is None and part.posted_at is not None]
    shown = min(free or parts, key=lambda part: part.part)
    left = "" if free else "It has already been assigned, or its report isn't posted."
    return Line(shown, sum((part.amount for part in free or parts), Decimal(0)), left=left)


def _unclear_bookings(lines: Collection[Line]) -> list[Any]:
    """Return the unclear bookings at the accounts of these lines."""
    accounts = {line.charge.account_id for line in lines}
    orders = with_sendings(Order.objects.filter(status__in=UNCLEAR_BOOKING, account__in=accounts))
    seen = Prefetch(
        "attempts",
        BookingAttempt.objects.exclude(seen_reference="").only("order_id", "seen_reference"),
    )
    return list(orders.prefetch_related(seen).order_by("pk"))


def _may_answer(line: Line, order: Any) -> bool:
    """Return whether the line may belong to this booking.

    The booking's page shows only the few nearest prices.
    """
    charge, names = line.charge, Names(customer_reference=line.charge.customer_reference)
    if charge.account_id != order.account_id:
        return False
    seen = {attempt.seen_reference.upper() for attempt in order.attempts.all()}
    if charge.reference.upper() in seen or is_its_name(order, names):
        return True
    first, last = time_of_sending(order)
    starts, ends = charge.day or charge.week, charge.day or charge.week + dt.timedelta(days=6)
    is_in_time = starts <= (last + LATER).date() and ends >= (first - EARLIER).date()
    is_known_before = charge.report is not None and charge.report.uploaded_at < first - CLOCKS
    return bool(charge.reference) and is_in_time and not is_known_before and not line.order
