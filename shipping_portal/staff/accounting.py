"""What an operator does with money: each through its door in shipping_portal.billing, with a row in the audit."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django.db import transaction

from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.billing import checking, correcting, disputing, matching, posting, reconciling, uploads
from shipping_portal.billing.models import BillingProfile, BillingReport, Charge, ChargeWord, Dispute


class NotDone(Exception):
    """It does not apply any more; the sentence is for the operator."""


@transaction.atomic
def take(
    account: CarrierAccount,
    name: str,
    content: bytes,
    *,
    by: Any,
    now: dt.datetime,
    week: dt.date | None,
    stated: dict[str, Decimal],
) -> BillingReport:
    """Raises what shipping_portal.billing.uploads raises."""
    report = uploads.take(account, name, content, by=by, now=now, week=week, stated=stated)
    Audit.write("billing report taken", report, by=by, reason=f"{report.name}, {report.week}", at=now)
    return report


@transaction.atomic
def post(report: BillingReport, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Raises posting.NotReady."""
    posting.post(report, by=by, now=now)
    Audit.write("billing report posted", report, by=by, reason=f"{report.name}: {reason}", at=now)


@transaction.atomic
def void(report: BillingReport, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Raises posting.NotReady."""
    posting.void(report, by=by, now=now)
    Audit.write("billing report made void", report, by=by, reason=f"{report.name}: {reason}", at=now)


@transaction.atomic
def read_again(report: BillingReport, *, by: Any, reason: str, now: dt.datetime) -> None:
    """By the columns as they are set today. Raises NotDone."""
    if not checking.again(report, now=now):
        raise NotDone("It is posted or void by now.")
    Audit.write("billing report read again", report, by=by, reason=f"{report.name}: {reason}", at=now)


@transaction.atomic
def state_total(
    report: BillingReport, total: Decimal, currency: str, *, by: Any, reason: str, now: dt.datetime
) -> None:
    """Beside the totals it states in other currencies. Raises NotDone."""
    stated = {name: Decimal(amount) for name, amount in report.stated.items()}
    if not posting.state_total(report, {**stated, currency: total}):
        raise NotDone("Only a report that was read, and is not posted, takes a total.")
    told = f"{report.name}, {total} {currency}: {reason}"
    Audit.write("billing total stated", report, by=by, reason=told, at=now)


@transaction.atomic
def count_repeats(report: BillingReport, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Raises posting.NotReady."""
    lines = posting.count_repeats(report)
    told = f"{report.name}, {lines} lines: {reason}"
    Audit.write("repeated lines counted", report, by=by, reason=told, at=now)


@transaction.atomic
def set_columns(
    profile: BillingProfile, chosen: dict[str, Any], *, by: Any, reason: str, now: dt.datetime
) -> None:
    """For files from now on, and those read again."""
    BillingProfile.objects.filter(pk=profile.pk).update(**chosen)
    Audit.write("report columns set", profile, by=by, reason=reason, at=now)


@transaction.atomic
def give_meaning(word: ChargeWord, meaning: str, *, by: Any, reason: str, now: dt.datetime) -> None:
    """As `take`; reports that are not posted and have the word are read again."""
    checking.decide(word, meaning, now=now)
    told = f"“{word}” means {dict(ChargeWord.MEANINGS)[meaning]}: {reason}"
    Audit.write("charge word decided", word, by=by, reason=told, at=now)


@transaction.atomic
def assign(
    charge: Charge, sender: Sender, order: Order | None, *, by: Any, reason: str, now: dt.datetime
) -> None:
    """With the Extra Cover that was in the same price. Raises NotDone."""
    parts = list(
        Charge.objects.unmatched().filter(report=charge.report_id, line=charge.line).order_by("part")
    )
    try:
        for part in parts or [charge]:
            matching.assign(part, sender=sender, order=order)
    except matching.AlreadyAssigned:
        raise NotDone("The line belongs to somebody by now.") from None
    told = f"to {order or sender}: {reason}"
    Audit.write("charge assigned", charge, by=by, sender=sender, reason=told, at=now)


@transaction.atomic
def reverse(charge: Charge, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Raises NotDone."""
    try:
        correcting.reverse(charge, by=by, now=now, reason=reason)
    except correcting.NotReversible:
        raise NotDone("It was reversed already, or can't be.") from None
    Audit.write("charge reversed", charge, by=by, sender=charge.sender, reason=f"{charge}: {reason}", at=now)


@transaction.atomic
def accept(charge: Charge, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Raises NotDone."""
    if not reconciling.accept(charge):
        raise NotDone("Nothing about its price waits any more.")
    Audit.write("charge accepted", charge, by=by, sender=charge.sender, reason=f"{charge}: {reason}", at=now)


@transaction.atomic
def credit(sender: Sender, amount: Decimal, currency: str, *, by: Any, reason: str, now: dt.datetime) -> None:
    correcting.credit(sender, amount, currency, by=by, now=now, reason=reason)
    told = f"{amount} {currency}: {reason}"
    Audit.write("credit given", sender, by=by, sender=sender, reason=told, at=now)


@transaction.atomic
def answer(
    dispute: Dispute, *, accepted: bool, text: str, credit: Decimal | None, by: Any, now: dt.datetime
) -> None:
    """What the sender reads is the reason as well. Raises NotDone."""
    try:
        disputing.answer(dispute, accepted=accepted, text=text, by=by, now=now, credit=credit)
    except disputing.AlreadyAnswered:
        raise NotDone("Another operator answered it.") from None
    given = f", credit {credit} {dispute.charge.currency}" if credit else ""
    told = f"{dispute.get_state_display().lower()}{given}: {text}"
    Audit.write("dispute answered", dispute, by=by, sender=dispute.sender, reason=told, at=now)
