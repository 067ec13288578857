"""Erase a person on request, after one search and with a reason, and again after a restore."""

import datetime as dt
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast, Concat

from orders.drafting.receivers import masked_name
from orders.erasing import erase_resolved, lock_orders
from orders.folding import fold
from orders.models import Draft, Order, Quote, searches
from shipping_portal.accounts.address.phones import phone_spellings, spellings_anywhere
from shipping_portal.accounts.erasing import NOBODYS
from shipping_portal.accounts.models import Audit, Receiver, Sender, User
from shipping_portal.formats import admin_time
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.jobs import erased_keys, erasing
from shipping_portal.jobs.erasing import Chosen, Keys
from shipping_portal.jobs.personal_data import ERASED
from shipping_portal.jobs.retention import term
from shipping_portal.refused import Refused
from shipping_portal.staff.models import Note, SenderMail
from tracking.erasing import UNREAD, webhooks_naming
from tracking.models import TrackingEvent, WebhookDelivery

MOST = 100  # rows of a kind in one list
SHORTEST_NAME = 3  # letters of a word that is searched for in free text


def _as_text(column: str) -> Cast:
    return Cast(column, TextField())


NOT_ERASED: dict[str, QuerySet[Any]] = {
    "order": Order.objects.filter(erased_at=None).select_related("sender"),
    "receiver": Receiver.objects.select_related("sender"),
    "draft": Draft.objects.select_related("sender").alias(text=_as_text("values")),
    "quote": (
        Quote.objects.filter(orders=None).select_related("sender").alias(text=_as_text("details"))
    ),
    "row": (
        ImportRow.objects.filter(order=None)
        .select_related("file__sender")
        .alias(text=Concat(_as_text("cells"), _as_text("corrected")))
    ),
    # Free text: file names, operators' texts, the carrier's words about parcels booked elsewhere.
    "import": (
        Import.objects.exclude(file_name=ERASED)
        .select_related("sender")
        .alias(words=F("file_name"))
    ),
    "note": Note.objects.exclude(text=ERASED).select_related("sender").alias(words=F("text")),
    "email": (
        SenderMail.objects.exclude(text=ERASED)
        .select_related("order__sender")
        .alias(words=F("text"))
    ),
    "scan": (
        TrackingEvent.objects.filter(parcel__order=None)
        .exclude(description="")
        .alias(words=F("description"))
    ),
    "webhook": UNREAD,
    "member": User.objects.exclude(email__endswith=NOBODYS).select_related("membership__sender"),
    "sender": Sender.objects.filter(erased_at=None),
}


@dataclass(frozen=True)
class Finding:
    """Something that may be about the person, in a list.

    `why_not` gives the reason why it stays, and until when.
    """

    value: str  # order:17
    sender: Sender | None
    words: str
    why_not: str


def find_person(
    *, email: str = "", phone: str = "", name: str = "", postcode: str = ""
) -> list[Finding]:
    """Return any sender's rows with this email, phone in any spelling, or name at this postcode."""
    found = {
        kind: list(NOT_ERASED[kind].filter(rule).order_by("-pk").distinct()[:MOST])
        for kind, rule in _find_rules(email, phone, name, postcode).items()
        if rule
    }
    why = erasing.objections({kind: {row.pk for row in rows} for kind, rows in found.items()})
    return [
        Finding(f"{kind}:{row.pk}", _sender_of(row), _row_words(row), why.get((kind, row.pk), ""))
        for kind, rows in found.items()
        for row in rows
    ]


def _find_rules(email: str, phone: str, name: str, postcode: str) -> dict[str, Q]:
    """Return each kind's condition.

    Drafts, quotes and rows are few and temporary, so they are all read.
    """
    phones = {phone, *spellings_anywhere(phone)} - {""}
    typed = Q(text__iregex=rf"[^\w.+-]{re.escape(email)}[^\w.-]") if email else Q()
    if digits := min(
        (re.sub(r"\D", "", one).lstrip("0") for one in {phone, *phone_spellings(phone)}),
        key=len,
    ):
        # This matches however it was typed, with or without the country code.
        typed |= Q(text__regex=r"\D{0,2}".join(digits))
    if name and postcode:
        typed |= Q(text__icontains=name) & Q(text__icontains=postcode)
    return {
        "order": _is_of_order(email, phones, name, postcode)
        & _is_in_search_text(email, phones, name if postcode else ""),
        "receiver": _match_person("", email, phones, name, postcode),
        **dict.fromkeys(("draft", "quote", "row"), typed),
        **dict.fromkeys(("import", "note", "email", "scan"), _is_named(email, phones, name)),
        "webhook": Q(pk__in=webhooks_naming(_search_words(email, phones, name))),
        "member": Q(email__iexact=email) | Q(emailaddress__email__iexact=email) if email else Q(),
    }


def _is_named(email: str, phones: set[str], name: str) -> Q:
    """Match free text with the email, a spelling of the phone, or any longer word of the name."""
    rule = Q()
    for word in _search_words(email, phones, name):
        rule |= Q(words__icontains=word)
    return rule


def _search_words(email: str, phones: set[str], name: str) -> list[str]:
    long_ones = [word for word in name.split() if len(word) >= SHORTEST_NAME]
    return [*([email] if email else []), *phones, *long_ones]


def _match_person(prefix: str, email: str, phones: set[str], name: str, postcode: str) -> Q:
    rule = Q(**{f"{prefix}phone__in": phones}) if phones else Q()
    if email:
        rule |= Q(**{f"{prefix}email__upper": email.upper()})
    if name and postcode:
        rule |= Q(**{f"{prefix}name__icontains": name, f"{prefix}postcode": postcode.upper()})
    return rule


def _is_of_order(email: str, phones: set[str], name: str, postcode: str) -> Q:
    """Match orders to these people, and returns from them."""
    rule = _match_person("receiver_", email, phones, name, postcode) & Q(returns=None)
    back = Q(pickup__phone__in=[*phones]) if phones else Q()
    if email:
        back |= Q(pickup__email__iexact=email)
    if name and postcode:
        back |= Q(pickup__name__icontains=name, pickup__postcode=postcode.upper())
    return rule | back & Q(returns__isnull=False) if back else Q()


def _is_in_search_text(email: str, phones: set[str], name: str) -> Q:
    """Match orders with one of these in a piece of their search text."""
    rule = Q()
    for text in filter(None, [email, *phones, name]):
        rule |= Q(text__icontains=fold(text))
    return searches.of_anybody(rule) if rule else rule


def _sender_of(row: Any) -> Sender | None:
    if isinstance(row, User):
        return row.membership.sender if hasattr(row, "membership") else None
    if isinstance(row, TrackingEvent | WebhookDelivery):
        return None
    of = (
        row.file
        if isinstance(row, ImportRow)
        else row.order
        if isinstance(row, SenderMail)
        else row
    )
    return of.sender


def _row_words(row: Any) -> str:
    """Return a label for the row, with enough about the person to tell two apart."""
    if isinstance(row, Order):
        way = "from" if row.returns_id else "to"
        who = f"{way} {masked_name(row.of_customer('name'))} in {row.of_customer('postcode')}"
        number = (
            f"{row.carrier_reference}, order {row.pk}"
            if row.carrier_reference
            else f"Order {row.pk}"
        )
        return f"{number}, {who}, {admin_time(row.created_at)}"
    if isinstance(row, Receiver):
        return f"Address book entry of {masked_name(row.name)} in {row.postcode}"
    if isinstance(row, User):
        return f"Member {row.pk}, who logs in"
    return str(row._meta.verbose_name).capitalize() + f" {row.pk}"


# -- Erasing -------------------------------------------------------------------------------------


def read_choice(values: list[str]) -> dict[str, set[int]]:
    """Return the chosen items of a list by kind, as far as they still exist."""
    chosen: defaultdict[str, set[int]] = defaultdict(set)
    for kind, _, key in (value.partition(":") for value in values):
        # accounts are the exception: they are closed instead
        if kind in NOT_ERASED and kind != "sender" and key.isdecimal():
            chosen[kind].add(int(key[:18]))
    return {kind: _still_there(kind, keys) for kind, keys in chosen.items()}


def _still_there(kind: str, keys: Keys) -> set[int]:
    return set(NOT_ERASED[kind].filter(pk__in=keys).values_list("pk", flat=True))


def with_files(chosen: Chosen) -> Chosen:
    """Add the exported files of the chosen rows' accounts, which contain their data as well."""
    rows = [row for kind, keys in chosen.items() for row in NOT_ERASED[kind].filter(pk__in=keys)]
    return {**chosen, "sender's files": {sender.pk for row in rows if (sender := _sender_of(row))}}


@transaction.atomic
def erase_chosen(chosen: Chosen, *, by: User, reason: str, now: dt.datetime) -> None:
    """Erase what an operator chose, completely. Raises Refused or erased_keys.NoErasedFile."""
    if not any(chosen.values()):
        raise Refused("None of this exists any more, so nothing was erased. Search again.")
    lock_orders(chosen.get("order", ()))
    if why := erasing.objections(chosen):
        raise Refused(next(iter(why.values())))
    for kind, keys in chosen.items():
        for row in NOT_ERASED[kind].filter(pk__in=keys):
            Audit.write(
                "erased", f"{kind} {row.pk}", by=by, sender=_sender_of(row), reason=reason, at=now
            )
    erasing.erase(with_files(chosen))
    erased_keys.write_down(chosen, at=now)


# -- Again, and after the retention period -------------------------------------------------------


@term("what was erased before a restore")
def erase_again(now: dt.datetime) -> int:
    """Erase again what a restore brought back: now, or for orders once nothing is unclear."""
    kept, count = erased_keys.read_erased_keys(), 0
    for kind, keys in kept.items():
        if kind in NOT_ERASED and kind != "order":
            back = _still_there(kind, keys)
            count += sum(erasing.erase({kind: back}).values()) and len(back)
    orders = Q(pk__in=kept.get("order", ())) | Q(sender__in=kept.get("sender", ()))
    return count + erase_resolved(Order.objects.filter(orders))


@term("closed accounts")
def erase_closed(now: dt.datetime) -> int:
    """Erase accounts CLOSED_ACCOUNT_DAYS after closing: their parcels first, then everything."""
    count = 0
    before = now - dt.timedelta(days=settings.CLOSED_ACCOUNT_DAYS)
    for sender in NOT_ERASED["sender"].filter(closed_at__lt=before):
        erase_resolved(sender.orders.all())
        count += _erase_account(sender, now)
    return count


@transaction.atomic
def _erase_account(sender: Sender, now: dt.datetime) -> bool:
    # lock it before its orders, as everywhere
    Sender.locked(sender.pk)
    chosen = {"sender": {sender.pk}}
    if erasing.objections(chosen):
        return False
    erasing.erase(chosen)
    Audit.write("closed account erased", sender, by=None, sender=sender, at=now)
    erased_keys.write_down(chosen, at=now)
    return True
