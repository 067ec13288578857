"""Giving a sender credit: a line of the operator's own, with the reason the sender reads."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django import forms

from shipping_portal.accounts.models import Sender, User
from shipping_portal.accounts.models.senders import CURRENCIES
from shipping_portal.staff import accounting
from shipping_portal.staff.admin.acts import Act
from shipping_portal.staff.admin.charge_acts import ToSenderForm


class CreditForm(ToSenderForm):
    amount = forms.DecimalField(min_value=Decimal("0.01"), max_digits=16, decimal_places=2)
    currency = forms.ChoiceField(choices=[(code, code) for code in CURRENCIES.values()])
    field_order = ["amount", "currency", "reason"]


def _credit(sender: Sender, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    accounting.credit(
        sender, cleaned["amount"], cleaned["currency"], by=by, reason=cleaned["reason"], now=now
    )


CREDIT = Act(
    "credit",
    "Add credit",
    "The amount is taken off this week's statement at once. To take it back, reverse its line.",
    _credit,
    needs="billing",
    form=CreditForm,
    initial=lambda sender: {"currency": sender.currency or "AUD"},
)
