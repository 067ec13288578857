"""Word the carrier's replies for people: rejections, unclear replies and faults in our setup.

A message about a field of our forms goes to the sender, at that field. Any other message, such as a
missing partner id, is a fault in our setup: the operator reads it on the carrier account's page,
and the sender reads that we are correcting it.
"""

import datetime as dt
from typing import Any, NamedTuple

from orders.booking import refused_fields
from orders.drafting.forms import ParcelForm
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.carrier.errors import (
    AccountStopped,
    Crowded,
    NotSent,
    OutcomeUnknown,
    Rejected,
)

OURS = "The carrier refused how we asked. We're putting that right."
OURS_TOO = "It also refused how we asked; we're putting that right."
OURS_CANCEL = (
    "The carrier refused how we asked. We're putting that right. If the pickup is near, contact us."
)
NO_REASON = "The carrier gave no reason."
SILENT = "The carrier didn't answer in time"
AWAY = "The carrier didn't answer"
SLOW_DOWN = "The carrier asks us to slow down"
UNREADABLE = "The carrier gave an answer we can't read"
PENDING = "The carrier hasn't decided yet"
CUT_OFF = "The carrier's answer didn't reach us"
MOST = 3  # sentences where there is room for a few
# These statuses are about the request itself, whatever the reply's text says.
WRONGLY_ASKED = {404, 405, 413, 415}
TOO_MANY = 429


class Refusal(NamedTuple):
    """What the sender can correct, by our field names, and what only the operator can.

    The name "" means the whole parcel.
    """

    fields: dict[str, list[str]]
    faults: list[str]


def split_rejection(error: Rejected, *, operation: str = "book") -> Refusal:
    """Separate the sender's part of a rejection from ours."""
    by_field = error.messages or ({"": [error.text]} if error.text else {})
    fields = {name: texts for name, texts in by_field.items() if refused_fields.is_known(name)}
    faults = [
        f"{name}: {text}"
        for name, texts in by_field.items()
        if name not in fields
        for text in texts
    ]
    is_ours = error.status in WRONGLY_ASKED
    if is_ours or (error.status and not by_field):
        fields, faults = {}, [*faults, f"{operation}: {error} {error.text}".strip()]
    return Refusal(fields, faults)


def report_fault(
    error: Rejected | AccountStopped, account: CarrierAccount, now: dt.datetime, *, operation: str
) -> None:
    """Record a fault in our setup on the account's page. A sender's own mistake isn't one."""
    faults = (
        [error.reason]
        if isinstance(error, AccountStopped)
        else split_rejection(error, operation=operation).faults
    )
    if faults:
        account.note_fault("; ".join(faults), now)


def refusal_problem(
    error: Rejected, sender: Sender, country: str, *, to: str = "", operation: str = "book"
) -> dict[str, Any]:
    """Build the problem of a rejected order.

    `country` is the pickup's country, `to` the receiver's. `text` fits one line, `said` holds every
    sentence, and `fields` holds the messages for the form. Kind "ours" is a rejection that the
    sender can't correct alone.
    """
    refusal = split_rejection(error, operation=operation)
    sentences = _refusal_sentences(refusal, sender, country, to)
    if not refusal.faults:
        return {"text": first_sentences(sentences), "said": sentences, "fields": refusal.fields}
    ours = OURS_TOO if sentences else OURS
    text = f"{first_sentences(sentences)} {ours}".strip()
    return {"text": text, "said": [*sentences, ours], "fields": refusal.fields, "kind": "ours"}


def why_not_cancelled(error: Rejected, order: Order) -> str:
    """Return why an order stays booked, for its sender."""
    refusal = split_rejection(error, operation="cancel")
    sentences = _refusal_sentences(
        refusal, order.sender, order.pickup["country"], order.receiver_country
    )
    sentences += [OURS_CANCEL] if refusal.faults else []
    return first_sentences(sentences) or NO_REASON


def _refusal_sentences(refusal: Refusal, sender: Sender, country: str, to: str) -> list[str]:
    address = PickupAddress(sender=sender, country=country)
    form = ParcelForm(initial={"receiver_country": to}, sender=sender, address=address)
    return refused_fields.field_sentences(refusal.fields, form)


def why_silent(error: Exception) -> str:
    """Return why there is nothing to show, for requests that are safe to repeat."""
    if isinstance(error, Crowded) or (
        isinstance(error, NotSent | OutcomeUnknown) and error.status == TOO_MANY
    ):
        return SLOW_DOWN
    if isinstance(error, NotSent):
        return AWAY
    return why_unclear(error)


def why_unclear(error: Exception | None) -> str:
    """Return why the carrier's outcome is unknown.

    If there was no reply, the worker stopped while waiting for it.
    """
    if not isinstance(error, OutcomeUnknown):
        return CUT_OFF
    if error.pending:
        return PENDING
    return UNREADABLE if error.answered else SILENT


def add_price_rejection(form: ParcelForm, error: Rejected) -> None:
    """Add a rejection of prices to the form that asked for them."""
    refusal = split_rejection(error, operation="quote")
    refused_fields.add_refused_fields(form, refusal.fields)
    if refusal.faults:
        form.add_error(None, f"{OURS_TOO if refusal.fields else OURS} Nothing was booked.")


def first_sentences(sentences: list[str]) -> str:
    """Return the first sentences on one line, and how many more there are."""
    more = f" And {len(sentences) - MOST} more." if len(sentences) > MOST else ""
    return f"{' '.join(sentences[:MOST])[:500]}{more}"
