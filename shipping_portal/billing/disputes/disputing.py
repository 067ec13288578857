"""Handle “This looks wrong”: a sender's question about lines, and the operator's answers."""

import datetime as dt
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from shipping_portal.accounts.models import User
from shipping_portal.billing.charges import correcting
from shipping_portal.billing.disputes import photos
from shipping_portal.billing.models import Charge, Dispute, DisputePhoto
from shipping_portal.billing.pages import notifications
from shipping_portal.refused import Refused


class AlreadyOpen(Exception):
    """Raised when the line is already disputed."""


@transaction.atomic
def open_all(
    charges: Collection[Charge], *, by: User, text: str, photo: bytes, now: dt.datetime
) -> int:
    """Dispute several lines of one sender with one text and photo; return how many are new."""
    if not charges:
        return 0
    kept = photos.keep_photo(photo, by.membership.sender) if photo else None
    made = 0
    for charge in charges:
        with suppress(AlreadyOpen):
            open_for(charge, by=by, text=text, now=now, photo=kept)
            made += 1
    if kept and not made:
        kept.delete()
    return made


def open_for(
    charge: Charge, *, by: User, text: str, now: dt.datetime, photo: DisputePhoto | None = None
) -> Dispute:
    """Dispute one of the sender's lines.

    Raises AlreadyOpen, and ValueError for a line without an owner.
    """
    if charge.sender is None:
        raise ValueError(f"{charge} is nobody's")
    try:
        with transaction.atomic():
            return Dispute.objects.create(
                charge=charge,
                sender=charge.sender,
                made_by=by,
                made_at=now,
                text=text,
                facts=dispute_facts(charge),
                photo=photo,
            )
    except IntegrityError:
        raise AlreadyOpen from None


def dispute_facts(charge: Charge) -> dict[str, Any]:
    """Return the disputed facts: weights in kg, volumes in m³, money with its currency."""
    order = charge.order
    return {
        "charged": str(charge.amount),
        "currency": charge.currency,
        "declared_kg": _number_text(charge.declared_kg or (order.weight_kg if order else None)),
        "measured_kg": _number_text(charge.measured_kg),
        "declared_m3": _number_text(charge.declared_m3),
        "measured_m3": _number_text(charge.measured_m3),
        "quoted": _number_text(order.total if order else None),
        "quoted_currency": order.currency if order else "",
        "service": order.product_name if order else "",
    }


@transaction.atomic
def answer_dispute(
    dispute: Dispute,
    *,
    accepted: bool,
    text: str,
    by: User,
    now: dt.datetime,
    credit: Decimal | None = None,
) -> None:
    """Answer a dispute with a text for the sender, and a credit if due. Raises Refused."""
    state = Dispute.State.ACCEPTED if accepted else Dispute.State.DECLINED
    mine = Dispute.objects.open().filter(pk=dispute.pk)
    if not mine.update(state=state, answer=text, answered_at=now, answered_by=by):
        raise Refused("Another operator has already answered it.")
    if credit:
        charge = dispute.charge
        given = correcting.credit_sender(
            dispute.sender,
            credit,
            charge.currency,
            by=by,
            now=now,
            order=charge.order,
            reason=f"{charge.get_kind_display()}: {text}",
        )
        mine = Dispute.objects.filter(pk=dispute.pk)
        mine.update(credit=given)
    dispute.refresh_from_db()
    notifications.notify_answered(dispute, now)


def _number_text(number: Decimal | None) -> str:
    return "" if number is None else f"{number.normalize():f}"
