"""Match lines to owners by carrier reference.

Unmatched lines wait for an operator; no sender sees them.
"""

import datetime as dt
from collections.abc import Collection
from functools import cache

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Upper
from django.utils import timezone

from orders.models import CarrierAccount, Order
from orders.models.order import DAY, NO_DAY
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.charges import charge_events, reconciling, week_sums
from shipping_portal.billing.models import REFUNDS, Charge, ChargeKind, ChargeQuerySet
from shipping_portal.billing.pages import notifications
from shipping_portal.billing.reports import kinds, posting
from shipping_portal.billing.reports.reading import other_spellings
from shipping_portal.db.planned_statements import PlannedSelect
from shipping_portal.jobs.registry import chore
from shipping_portal.refused import Refused

NEEDED = (
    "account_id",
    "carrier_reference",
    "sender_id",
    "status",
    "cancelled_at",
    "used_after_cancel_at",
    "progress",
    "progress_at",
)

# days around a line's own: a refund comes weeks after its parcel's pickup
AROUND = dt.timedelta(days=60)


def orders_of(account: int, references: Collection[str]) -> dict[str, Order]:
    """Return an account's orders with these references, by upper-case reference."""
    wanted = {reference.upper() for reference in references}
    found = Order.objects.filter(account=account, carrier_reference__upper__in=wanted).only(*NEEDED)
    return {
        str(order.carrier_reference).upper(): order for order in kinds.with_cancellations(found)
    }


def whole_references(account: int, references: Collection[str]) -> dict[str, str]:
    """Return numbers that a spreadsheet shortened (00123 becomes 123), with their full form.

    A number counts only if exactly one known number fits it, from an order or an earlier line.
    """
    spelled = {
        text: {text, *others}
        for text in references
        if text[:1] != "0" and (others := other_spellings(text))
    }
    wanted = {one for spellings in spelled.values() for one in spellings}
    if not wanted:
        return {}
    ordered = Order.objects.filter(account=account, carrier_reference__upper__in=wanted)
    billed = (
        Charge.objects.posted()
        .annotate(name=Upper("reference"))
        .filter(account=account, name__in=wanted)
    )
    known = {
        *ordered.values_list("carrier_reference", flat=True),
        *billed.values_list("reference", flat=True),
    }
    found = {text: spellings & known for text, spellings in spelled.items()}
    return {text: one.pop() for text, one in found.items() if len(one) == 1}


def orders_named(charges: Collection[Charge], sender: Sender) -> dict[int, Order]:
    """Return each line's order, by its reference or else by this sender's customer reference.

    A customer reference shared by several of the sender's parcels matches none.
    """
    found: dict[int, Order] = {}
    for account in {charge.account_id for charge in charges}:
        lines = [charge for charge in charges if charge.account_id == account]
        referred = orders_of(account, {line.reference for line in lines} - {""})
        own = _of_customer_references(account, lines, sender)
        for line in lines:
            order = referred.get(line.reference.upper()) or own.get(line.customer_reference.upper())
            found |= {line.pk: order} if order else {}
    return found


def _of_customer_references(account: int, lines: list[Charge], sender: Sender) -> dict[str, Order]:
    """Read the sender's parcels around these days: pickup days have an index, references don't."""
    named = {line.customer_reference.upper() for line in lines} - {""}
    days = [line.day or line.week for line in lines]
    first, last = min(days) - AROUND, max(days) + AROUND
    held = Order.objects.filter(
        sender=sender, account=account, carrier_reference__isnull=False
    ).annotate(day=DAY, upper=Upper("customer_reference"))
    near = held.filter(
        Q(day__range=(first, last)) | Q(day=NO_DAY, created_at__date__range=(first, last))
    )
    found: dict[str, list[Order]] = {}
    for order in near.filter(upper__in=named) if named else ():
        found.setdefault(order.customer_reference.upper(), []).append(order)
    return {name: orders[0] for name, orders in found.items() if len(orders) == 1}


@cache
def _with_an_order() -> PlannedSelect:
    """Return lines without an owner whose order is known. It is planned after apps have loaded."""
    theirs = Order.objects.filter(
        account=OuterRef("account"), carrier_reference__upper=Upper(OuterRef("reference"))
    )
    waiting = Charge.objects.unmatched().exclude(reference="").filter(Exists(theirs))
    return PlannedSelect(waiting.order_by("pk")[:500])


def match_late() -> int:
    """Assign lines without an owner to the order that now has their reference; return how many."""
    matched = 0
    for charge in _with_an_order().rows():
        order = orders_of(charge.account_id, [charge.reference]).get(charge.reference.upper())
        matched += order is not None and _attach_charge(charge, order.sender, order)
    return matched


@chore("charges")
def look_for_owners(now: dt.datetime) -> None:
    """Match charges that were posted before their owners were known."""
    match_late()


def assign_charge(charge: Charge, *, sender: Sender, order: Order | None = None) -> None:
    """Assign a line to an owner.

    Raises Refused, and ValueError for another sender's order.
    """
    if order and order.sender_id != sender.pk:
        raise ValueError(f"{order} is not {sender}'s")
    if not _attach_charge(charge, sender, order):
        raise Refused("This charge has already been assigned.")


def has_manual_changes(order: Order) -> bool:
    """Return whether a person acted on a line matched by reference. Then its lines stay."""
    touched = Q(disputes__isnull=False) | Q(reversed_by__isnull=False)
    return _by_reference(order).filter(touched).exists()


def release_lines(order: Order) -> None:
    """Detach the lines matched through a wrong reference.

    They are matched again once the right order has the reference, like any line without an owner.
    """
    if has_manual_changes(order):
        return
    lines = _by_reference(order)
    for charge in lines:
        notifications.withdraw_charge_event(charge)
    weeks = week_sums.weeks_of(lines.posted())
    lines.update(order=None, sender=None, is_unexpected=False)
    week_sums.add_up(weeks)
    posting.count_unbilled_again(Order.objects.filter(pk=order.pk))


def _by_reference(order: Order) -> ChargeQuerySet:
    """Return the carrier's own lines, not those that an operator assigned by hand."""
    return order.charges.filter(report__isnull=False, reference__upper=str(order).upper())


@transaction.atomic
def _attach_charge(charge: Charge, sender: Sender, order: Order | None) -> bool:
    # This happens when an adoption is undone: the order has already lost its reference, or the line
    # is released with it.
    CarrierAccount.locked(charge.account_id)
    mine = Charge.objects.unmatched().filter(pk=charge.pk)
    if _has_lost_reference(charge, order) or not mine.update(
        sender=sender, order=order, kind=_kind_of_refund(charge, order)
    ):
        return False
    week_sums.add_up(week_sums.weeks_of(Charge.objects.posted().filter(pk=charge.pk)))
    if order:
        posting.end_exposure(order.charges.posted())
        reconciling.note_unexpected(order.charges.posted().filter(report__isnull=False))
    notifications.notify_assigned(charge)
    charge_events.note_charges(Charge.objects.filter(pk=charge.pk), timezone.now())
    return True


def _has_lost_reference(charge: Charge, order: Order | None) -> bool:
    """Return whether the line was matched by a reference that its order has lost.

    A line that was assigned by hand doesn't need one.
    """
    named = charge.reference.upper()
    if order is None or (order.carrier_reference or "").upper() != named:
        return False
    return not Order.objects.filter(pk=order.pk, carrier_reference__upper=named).exists()


def _kind_of_refund(charge: Charge, order: Order | None) -> str:
    """Return a refund's kind.

    Its amount never changes, but only the order shows which kind it is.
    """
    if (
        order is None
        or charge.term is None
        or charge.kind not in {*REFUNDS, ChargeKind.ORDER, ChargeKind.UN_CANCELLATION}
    ):
        return charge.kind
    return kinds.History([order.pk], charge.report).kind(charge.term.meaning, order, charge.week)
