"""Turn the values sent into input for the pages' forms. Nothing is ignored."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.api.problems import ApiProblem, refuse_invalid

NO_SUCH_FIELD = ["This account has no such field."]


def refuse_unless_may_begin(sender: Sender) -> None:
    """Raise a problem if the account can't book now, or can't book yet."""
    if sender.is_suspended:
        raise ApiProblem("suspended", sender.suspension_text)
    needed_pickup_address(sender)


def needed_pickup_address(sender: Sender) -> PickupAddress:
    """Return the account's pickup address, or raise a problem if it isn't set."""
    address = sender.pickup_address()
    if address is None:
        raise ApiProblem("start", "An owner says on the pages where parcels are picked up.")
    return address


def sent_form(values: Mapping[str, Any]) -> QueryDict:
    """Return the values sent as a form's data."""
    typed = QueryDict(mutable=True)
    typed.update({name: str(value) for name, value in values.items() if value is not None})
    return typed


def refuse_unused(sent: Mapping[str, Any], form: Any) -> None:
    """Raise a problem for fields that this account's form doesn't have."""
    unused = [name for name in sent if name not in form.fields and str(sent[name]).strip()]
    if unused:
        raise ApiProblem("invalid", errors=dict.fromkeys(unused, NO_SUCH_FIELD))


def refuse_wrong(sent: Mapping[str, Any], form: Any) -> None:
    """Raise a problem for fields that the form doesn't have or that it rejects."""
    refuse_unused(sent, form)
    refuse_invalid(form)
