"""Create the operator's own lines: credits, and reversals of a line or a whole report.

A posted line itself never changes, except the key of one whose report was reversed.
"""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import CharField, QuerySet, Value
from django.db.models.functions import Cast, Concat, Substr
from django.utils import timezone

from orders.calling import gateway
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import charge_events, week_sums
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, week_of
from shipping_portal.billing.pages import notifications
from shipping_portal.billing.reports import checking, posting
from shipping_portal.refused import Refused

State = BillingReport.State
BATCH = 1000  # lines reversed per SQL statement
LINE_STAYS = "This charge has already been reversed, or can't be."
REPORT_STAYS = "This report isn't posted, or one of its lines was reversed just now. Try again."


def credit_sender(
    sender: Sender,
    amount: Decimal,
    currency: str,
    *,
    by: User,
    now: dt.datetime,
    reason: str,
    order: Order | None = None,
    token: uuid.UUID | None = None,
) -> Charge:
    """Give a sender an amount above 0 on this week's statement, once for each `token` of a form.

    Raises ValueError for another sender's order, and IntegrityError for a used token.
    """
    if amount <= 0 or (order and order.sender_id != sender.pk):
        raise ValueError(f"{amount} for {sender}")
    return _post_line(
        Charge(
            **_operator_line(sender, by, now, reason, token),
            account=order.account if order else gateway.current_account(),
            order=order,
            kind=ChargeKind.CREDIT,
            stated=amount,
            amount=-amount,
            currency=currency,
            reference=(order.carrier_reference or "") if order else "",
        )
    )


def reverse_charge(charge: Charge, *, by: User, now: dt.datetime, reason: str) -> Charge:
    """Reverse a posted line with one of the same kind and opposite amount. Raises Refused.

    A credit given for a dispute about it is reversed too, or its sender would be paid twice.
    """
    if charge.posted_at is None or charge.sender is None or charge.reverses_id:
        raise Refused(LINE_STAYS)
    try:
        with transaction.atomic():
            Sender.locked(charge.sender.pk)  # like an answer to a dispute
            credited = credits_for(Charge.objects.filter(pk=charge.pk))
            _reverse_all(credited, by=by, now=now, reason=reason)
            notifications.withdraw_charge_event(charge)
            return _post_line(_reversing_line(charge, by=by, now=now, reason=reason))
    except IntegrityError:
        raise Refused(LINE_STAYS) from None


def credits_for(lines: QuerySet[Charge]) -> QuerySet[Charge]:
    """Return the credits given for disputes about these lines and not reversed."""
    return Charge.objects.posted().filter(settles__charge__in=lines, reversed_by=None)


def reverse_report(report: BillingReport, *, by: User, now: dt.datetime, reason: str) -> int:
    """Reverse every line of a posted report in the current week; return how many.

    Credits given for disputes about its lines are reversed too, and counted. Lines without an owner
    were on no statement, and only stop counting. Orders without another bill are unbilled again.
    The lines no longer block others like them, so the same file, or the carrier's corrected one,
    can be posted. Waiting reports are read again, because what they repeat may be gone. Raises
    Refused.
    """
    try:
        with transaction.atomic():
            CarrierAccount.locked(report.account_id)
            posted = BillingReport.objects.filter(pk=report.pk, state=State.POSTED)
            if not posted.update(state=State.REVERSED, ended_at=now, ended_by=by):
                raise Refused(REPORT_STAYS)
            owners = report.lines.filter(sender__isnull=False).values("sender")
            Sender.lock_all(owners)  # like an answer to a dispute
            credited = credits_for(report.lines.all())
            count = _reverse_all(credited, by=by, now=now, reason=reason)
            unreversed = report.lines.posted().filter(reversed_by=None)
            unreversed.filter(sender=None).update(posted_at=None, decision=Charge.Decision.LEAVE)
            count += _reverse_all(unreversed, by=by, now=now, reason=reason)
            posting.count_unbilled_again(Order.objects.filter(pk__in=report.lines.values("order")))
            report.lines.update(
                key=Concat(Substr("key", 1, 40), Value("-r"), Cast("pk", CharField()))
            )
            for waiting in BillingReport.objects.filter(
                account=report.account_id, state=State.CHECKED
            ):
                checking.read_report_again(waiting, now=now)
    except IntegrityError:
        # An operator has reversed one of its lines.
        raise Refused(REPORT_STAYS) from None
    report.refresh_from_db()
    return count


def _reverse_all(lines: QuerySet[Charge], *, by: User, now: dt.datetime, reason: str) -> int:
    made, count = set(), 0
    for batch in iter(
        lambda: list(lines.filter(sender__isnull=False).select_related("sender")[:BATCH]), []
    ):
        taken_back = [_reversing_line(line, by=by, now=now, reason=reason) for line in batch]
        for line in batch:
            if line.is_size_charge:
                notifications.withdraw_charge_event(line)
        keys = [line.pk for line in Charge.objects.bulk_create(taken_back)]
        charge_events.note_charges(Charge.objects.filter(pk__in=keys), now)
        made |= {(line.sender_id, line.week) for line in taken_back if line.sender_id}
        count += len(batch)
    week_sums.add_up(made)
    return count


def _reversing_line(charge: Charge, **written: Any) -> Charge:
    """Return a line of the same kind and opposite amount, in the current week."""
    if charge.sender is None:
        raise Refused(LINE_STAYS)
    return Charge(
        **_operator_line(charge.sender, **written),
        account=charge.account,
        order_id=charge.order_id,
        kind=charge.kind,
        stated=-charge.amount,
        amount=-charge.amount,
        currency=charge.currency,
        reference=charge.reference,
        reverses=charge,
    )


@transaction.atomic
def _post_line(line: Charge) -> Charge:
    line.save(force_insert=True)
    posted = Charge.objects.filter(pk=line.pk)
    week_sums.add_up(week_sums.weeks_of(posted))
    charge_events.note_charges(posted, line.posted_at or timezone.now())
    return line


def _operator_line(
    sender: Sender, by: User, now: dt.datetime, reason: str, token: uuid.UUID | None = None
) -> dict[str, Any]:
    """Return the values common to operators' lines: posted now, in the sender's current week."""
    day = sender.day_of(now)
    return {
        "sender": sender,
        "key": (token or uuid.uuid4()).hex,
        "by": by,
        "reason": reason[:500],
        "posted_at": now,
        "day": day,
        "week": week_of(day),
    }
