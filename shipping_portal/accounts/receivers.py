"""Who a sender ships to: one row for each person and place, found by the beginning of any of its words."""

import datetime as dt
import hashlib
import json
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from shipping_portal.accounts.models import Receiver, ReceiverKey, Sender
from shipping_portal.accounts.places import fold
from shipping_portal.carrier.messages import Party

LONGEST_KEY = 120
FEWEST_LETTERS = 2  # typed before anybody is suggested
LAST_LETTERS = "\ud7ff\U0010ffff"  # before the surrogates, which no database takes, and of all there are
MOST_WORDS = 6  # of a search; more than a name and a place have
WHO_AND_WHERE = ("name", "company", "line1", "line2", "suburb", "postcode", "country")


class AlreadyThere(Exception):
    """Another row of this sender is the same person at the same place."""


def fingerprint(party: Party) -> str:
    """Who and where, however it is capitalised: the same receiver has the same one. Contact details may change."""
    return hashlib.sha256(
        json.dumps([fold(getattr(party, part)) for part in WHO_AND_WHERE]).encode()
    ).hexdigest()


def keys_of(party: Party) -> set[str]:
    """The folded words a receiver is found by: of the name and company, the whole e-mail, phone and postcode."""
    words = fold(f"{party.name} {party.company}").split()
    digits = "".join(c for c in party.phone if c.isdigit())
    codes = (fold(party.postcode).replace(" ", ""), digits, digits.lstrip("0"))
    return {key[:LONGEST_KEY] for key in (*words, party.email.lower(), *codes) if key}


def store(receiver: Receiver, party: Party, **values: Any) -> None:
    """Write what the row is, with its fingerprint and keys. Raises AlreadyThere, and then changes nothing."""
    for name, value in {**asdict(party), **values}.items():
        setattr(receiver, name, value)
    receiver.fingerprint = fingerprint(party)
    with transaction.atomic():
        same = Receiver.objects.filter(sender=receiver.sender_id, fingerprint=receiver.fingerprint)
        if same.exclude(pk=receiver.pk).exists():
            raise AlreadyThere(f"{party.name} at this address is in your address book already.")
        receiver.save()
        _write_keys(receiver, party)


def remember(sender: Sender, party: Party, *, at: dt.datetime) -> None:
    """A parcel is booked to them: one more use. Of a receiver not kept by hand the newest contact details stay."""
    with transaction.atomic():
        receiver, is_new = Receiver.objects.get_or_create(
            sender=sender, fingerprint=fingerprint(party), defaults=asdict(party)
        )
        changes = {"email": party.email, "phone": party.phone, "instructions": party.instructions}
        if receiver.is_saved:
            changes = {}
        Receiver.objects.filter(pk=receiver.pk).update(uses=F("uses") + 1, used_at=at, **changes)
        if is_new or any(getattr(receiver, name) != value for name, value in changes.items()):
            _write_keys(receiver, party)


def find(sender: Sender, text: str, *, limit: int = 8) -> list[Receiver]:
    """Whom the first letters may mean: those kept by hand first, then by how often parcels went to them."""
    if len(fold(text)) < FEWEST_LETTERS:
        return []
    return list(matching(sender.receivers.all(), text).order_by("-is_saved", "-uses", "-used_at")[:limit])


def _write_keys(receiver: Receiver, party: Party) -> None:
    receiver.keys.all().delete()
    ReceiverKey.objects.bulk_create(
        ReceiverKey(receiver=receiver, sender_id=receiver.sender_id, key=key)
        for key in sorted(keys_of(party))
    )


def matching(receivers: QuerySet[Receiver], text: str) -> QuerySet[Receiver]:
    """Those with a key that begins with each of the words; a number with spaces is one word."""
    is_phone = not any(c.isalpha() for c in text)
    words = [text] if is_phone else text.lower().split()[:MOST_WORDS]
    for word in words:
        start = word if "@" in word else fold(word).replace(" ", "")
        if start:
            is_email = "." in word and word != start  # its dots are no part of a folded word
            found = ReceiverKey.objects.filter(
                _begins(start) | _begins(word) if is_email else _begins(start),
                receiver=OuterRef("pk"),
                sender=OuterRef("sender"),
            )
            receivers = receivers.filter(Exists(found))
    return receivers


def _begins(start: str) -> Q:
    """`start…` as a range of the index; a letter that no other can follow has none."""
    begins = Q(key__startswith=start)
    if start[-1] in LAST_LETTERS:
        return begins
    return begins & Q(key__gte=start, key__lt=start[:-1] + chr(ord(start[-1]) + 1))
