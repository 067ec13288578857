"""Erasing somebody who asks for it: found by one search, erased with a reason, and erased again after a restore."""

import datetime as dt
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from orders.erasing import erase_settled
from orders.models import Draft, Order, Quote
from orders.receivers import masked
from shipping_portal.accounts.adminkit.actions import Refused
from shipping_portal.accounts.erasing import NOBODYS
from shipping_portal.accounts.models import Audit, Receiver, Sender, User
from shipping_portal.accounts.phones import across_borders, clean_phone
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs import erased_keys, erasing
from shipping_portal.jobs.erasing import Chosen, Keys
from shipping_portal.jobs.retention import term

MOST = 100  # of a kind in one list
NOT_ERASED: dict[str, QuerySet[Any]] = {
    "order": Order.objects.filter(erased_at=None).select_related("sender"),
    "receiver": Receiver.objects.select_related("sender"),
    "draft": Draft.objects.select_related("sender"),
    "quote": Quote.objects.filter(orders=None).select_related("sender"),
    "row": ImportRow.objects.filter(order=None).select_related("file__sender").alias(text=Cast("cells", TextField())),
    "member": User.objects.exclude(email__endswith=NOBODYS).select_related("membership__sender"),
    "sender": Sender.objects.filter(erased_at=None),
}


@dataclass(frozen=True)
class Finding:
    """Something that may be about the person, as a line of a list; `why_not` says why, and until when, it stays."""

    value: str  # order:17
    sender: Sender | None
    words: str
    why_not: str


def find(*, email: str = "", phone: str = "", name: str = "", postcode: str = "") -> list[Finding]:
    """Return what names this e-mail, this phone in any spelling, or this name at this postcode, of any sender."""
    found = {
        kind: list(NOT_ERASED[kind].filter(rule).order_by("-pk").distinct()[:MOST])
        for kind, rule in _rules(email, phone, name, postcode).items()
        if rule
    }
    why = erasing.objections({kind: {row.pk for row in rows} for kind, rows in found.items()})
    return [
        Finding(f"{kind}:{row.pk}", _sender_of(row), _words(row), why.get((kind, row.pk), ""))
        for kind, rows in found.items()
        for row in rows
    ]


def _rules(email: str, phone: str, name: str, postcode: str) -> dict[str, Q]:
    """Return by kind what its rows must be. Drafts, quotes and rows are read whole: there are few, for short terms."""
    rules = {"order": _is_theirs("receiver_", email, phone, name, postcode)}
    rules["receiver"] = _is_theirs("", email, phone, name, postcode)
    if email:
        rules["draft"] = Q(values__receiver_email__iexact=email)
        rules["quote"] = Q(details__receiver__email__iexact=email) | Q(details__pickup__email__iexact=email)
        rules["row"] = Q(text__icontains=email)
        rules["member"] = Q(email__iexact=email) | Q(emailaddress__email__iexact=email)
    return rules


def _is_theirs(prefix: str, email: str, phone: str, name: str, postcode: str) -> Q:
    rule = Q(**{f"{prefix}phone__in": _spellings(phone)}) if phone else Q()
    if email:
        rule |= Q(**{f"{prefix}email__upper": email.upper()})
    if name and postcode:
        rule |= Q(**{f"{prefix}name__icontains": name, f"{prefix}postcode": postcode.upper()})
    return rule


def _spellings(phone: str) -> set[str]:
    """Return a phone as it is kept of receivers in each country of senders."""
    countries, found = Sender.Country.values, {phone}
    for abroad in {across_borders(phone, country) for country in countries}:
        for country in countries:
            with suppress(ValidationError):
                found.add(clean_phone(abroad, country))
    return found


def _sender_of(row: Any) -> Sender | None:
    if isinstance(row, User):
        return row.membership.sender if hasattr(row, "membership") else None
    sender: Sender = row.file.sender if isinstance(row, ImportRow) else row.sender
    return sender


def _words(row: Any) -> str:
    """Return which it is, with as much of the person as tells two of them apart."""
    if isinstance(row, Order):
        to = f"{masked(row.receiver_name)} in {row.receiver_postcode}"
        number = f"{row.carrier_reference}, order {row.pk}" if row.carrier_reference else f"Order {row.pk}"
        return f"{number}, to {to}, {row.created_at:%-d %b %Y}"
    if isinstance(row, Receiver):
        return f"Address book entry of {masked(row.name)} in {row.postcode}"
    if isinstance(row, User):
        return f"Member {row.pk}, who logs in"
    return str(row._meta.verbose_name).capitalize() + f" {row.pk}"


# -- The act -------------------------------------------------------------------------------------


def read(values: list[str]) -> dict[str, set[int]]:
    """Return what was chosen in a list, by kind, as far as it is still there."""
    chosen: defaultdict[str, set[int]] = defaultdict(set)
    for kind, _, key in (value.partition(":") for value in values):
        if kind in NOT_ERASED and key.isdecimal():
            chosen[kind].add(int(key[:18]))
    return {kind: _still(kind, keys) for kind, keys in chosen.items()}


def _still(kind: str, keys: Keys) -> set[int]:
    return set(NOT_ERASED[kind].filter(pk__in=keys).values_list("pk", flat=True))


def with_files(chosen: Chosen) -> Chosen:
    """Return what is chosen with the files made of the accounts it is found in, which hold it as well."""
    rows = [row for kind, keys in chosen.items() for row in NOT_ERASED[kind].filter(pk__in=keys)]
    return {**chosen, "sender's files": {sender.pk for row in rows if (sender := _sender_of(row))}}


@transaction.atomic
def erase_chosen(chosen: Chosen, *, by: User, reason: str, now: dt.datetime) -> None:
    """Erase what an operator chose, all of it or nothing. Raises Refused, or erased_keys.NoErasedFile."""
    if why := erasing.objections(chosen):
        raise Refused(next(iter(why.values())))
    for kind, keys in chosen.items():
        for row in NOT_ERASED[kind].filter(pk__in=keys):
            Audit.write("erased", f"{kind} {row.pk}", by=by, sender=_sender_of(row), reason=reason, at=now)
    erasing.erase(with_files(chosen))
    erased_keys.write_down(chosen, at=now)


# -- Again, and by the term ----------------------------------------------------------------------


@term("what was erased before a restore")
def erase_again(now: dt.datetime) -> int:
    """Erase what ERASED_FILE names and a restore brought back: at once, or an order once it is settled."""
    kept, count = erased_keys.kept(), 0
    for kind, keys in kept.items():
        if kind in NOT_ERASED and kind != "order":
            back = _still(kind, keys)
            count += sum(erasing.erase({kind: back}).values()) and len(back)
    orders = Q(pk__in=kept.get("order", ())) | Q(sender__in=kept.get("sender", ()))
    return count + erase_settled(Order.objects.filter(orders))


@term("closed accounts")
def erase_closed(now: dt.datetime) -> int:
    """Erase accounts CLOSED_ACCOUNT_DAYS after they were closed: their parcels first, then all there is of them."""
    count = 0
    before = now - dt.timedelta(days=settings.CLOSED_ACCOUNT_DAYS)
    for sender in NOT_ERASED["sender"].filter(closed_at__lt=before):
        erase_settled(sender.orders.all())
        chosen = {"sender": {sender.pk}}
        if not erasing.objections(chosen):
            with transaction.atomic():
                erasing.erase(chosen)
                Audit.write("closed account erased", sender, by=None, sender=sender, at=now)
                erased_keys.write_down(chosen, at=now)
            count += 1
    return count
