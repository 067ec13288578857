"""What may be done with one line of money: said whose it is, or taken back."""

import datetime as dt
from typing import Any

from django import forms

from orders.models import Order
from orders.references import called
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import Charge
from shipping_portal.staff import accounting
from shipping_portal.staff.admin.acts import Act, ReasonForm

READ_BY_SENDER = (
    "At least ten characters. The sender reads it on the statement; it goes to the audit with your name."
)


class ToSenderForm(ReasonForm):
    """A reason that is printed beside the money."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["reason"].help_text = READ_BY_SENDER


class OwnerForm(ReasonForm):
    """A parcel, or a sender where the line is for no parcel of theirs."""

    owner = forms.CharField(
        label="Whose it is",
        max_length=60,
        help_text="A parcel's reference or order number, or a sender's A-number such as A-1007.",
    )
    field_order = ["owner", "reason"]

    def clean_owner(self) -> tuple[Sender, Order | None]:
        typed = self.cleaned_data["owner"].strip()
        number = Sender.pk_of(typed)
        if number and (sender := Sender.objects.filter(pk=number).first()):
            return sender, None
        order = _order(typed)
        if order is None:
            raise forms.ValidationError("No parcel and no sender is called that.")
        return order.sender, order


def _order(typed: str) -> Order | None:
    orders = Order.objects.select_related("sender")
    if typed.isascii() and typed.isdecimal() and len(typed) < 10:
        return orders.filter(pk=int(typed)).first()
    return called(orders, typed).first()


def _assign(charge: Charge, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    sender, order = cleaned["owner"]
    accounting.assign(charge, sender, order, by=by, reason=cleaned["reason"], now=now)


def _reverse(charge: Charge, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.reverse(charge, by=by, reason=cleaned["reason"], now=now)


def _accept(charge: Charge, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.accept(charge, by=by, reason=cleaned["reason"], now=now)


def _is_nobodys(charge: Charge) -> bool:
    """And posted: what is read again before that is matched anew."""
    return charge.sender_id is None and charge.posted_at is not None


def _is_reversible(charge: Charge) -> bool:
    is_counted = charge.posted_at is not None and charge.sender_id is not None
    return is_counted and charge.reverses_id is None and not hasattr(charge, "reversed_by")


ASSIGN = Act(
    "assign",
    "Assign to a parcel or sender",
    "Nobody owns this line. It goes on that sender's statement, in the week it was charged.",
    _assign,
    needs="billing",
    applies=_is_nobodys,
    form=OwnerForm,
    refusals=(accounting.NotDone,),
)
ACCEPT = Act(
    "accept",
    "Accept this price",
    "It isn't what was booked, and the carrier is right. The sender pays it; the parcel leaves the queue.",
    _accept,
    needs="billing",
    applies=lambda charge: charge.is_unexpected,
    refusals=(accounting.NotDone,),
)
REVERSE = Act(
    "reverse",
    "Reverse",
    "A line of the opposite amount takes this one back, on this week's statement. Both stay to be read.",
    _reverse,
    needs="billing",
    applies=_is_reversible,
    form=ToSenderForm,
    refusals=(accounting.NotDone,),
)
