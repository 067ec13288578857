"""Store a sender's receivers: one row per person and place, found by the start of any word."""

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import (
    BigIntegerField,
    CharField,
    DateTimeField,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)

from shipping_portal.accounts.address.places import begins_with
from shipping_portal.accounts.address.text import normalise_name, normalise_text
from shipping_portal.accounts.models import Locality, Receiver, ReceiverKey, Sender
from shipping_portal.carrier.messages import Party
from shipping_portal.db.planned_statements import Given, PlannedUpdate
from shipping_portal.refused import Refused

LONGEST_KEY = 120
MOST_STREETS = 1000  # the most receivers of a sender searched by street
FEWEST_LETTERS = 2  # characters typed before anybody is suggested
MOST_WORDS = 6  # words in a search: more than any name and place need
CONTACTS = ("email", "phone", "instructions")
WHO_AND_WHERE = ("name", "company", "line1", "line2", "suburb", "postcode", "country")


# Count one more use of a receiver who already has these contact details or was added by hand.
USE = PlannedUpdate(
    Receiver.objects.filter(
        Q(is_saved=True) | Q(**{name: Given(name, CharField()) for name in CONTACTS}),
        sender=Given("sender", BigIntegerField()),
        fingerprint=Given("fingerprint", CharField()),
    ),
    uses=F("uses") + 1,
    used_at=Given("at", DateTimeField()),
)


def receiver_fingerprint(party: Party) -> str:
    """Return a hash of the person and place, ignoring case.

    Contact details aren't part of it, because they may change.
    """
    return hashlib.sha256(
        json.dumps([normalise_name(getattr(party, part)) for part in WHO_AND_WHERE]).encode()
    ).hexdigest()


def keys_of(party: Party) -> set[str]:
    """Return a receiver's normalised search words.

    These are the words of name and company, and the whole email, phone number and postcode.
    """
    words = normalise_name(f"{party.name} {party.company}").split()
    digits = "".join(c for c in party.phone if c.isdigit())
    codes = (normalise_name(party.postcode).replace(" ", ""), digits, digits.lstrip("0"))
    return {key[:LONGEST_KEY] for key in (*words, party.email.lower(), *codes) if key}


def store_receiver(receiver: Receiver, party: Party, **values: Any) -> None:
    """Write the row with its fingerprint and keys. Raises Refused, changing nothing."""
    for name, value in {**asdict(party), **values}.items():
        setattr(receiver, name, value)
    receiver.fingerprint = receiver_fingerprint(party)
    with transaction.atomic():
        # We don't rely on the database's constraint, because its log would quote the receiver.
        Sender.locked(receiver.sender_id)
        same = Receiver.objects.filter(sender=receiver.sender_id, fingerprint=receiver.fingerprint)
        if same.exclude(pk=receiver.pk).exists():
            raise Refused(f"{party.name} at this address is in your address book already.")
        receiver.save()
        receiver.keys.all().delete()
        _write_keys(receiver, party)


@transaction.atomic(savepoint=False)
def count_use(sender: Sender, party: Party, *, at: dt.datetime) -> None:
    """Count one more use of a receiver.

    Unless added by hand, it gets the newest contact details.
    """
    changes = {name: getattr(party, name) for name in CONTACTS}
    fingerprint = receiver_fingerprint(party)
    if USE.run(sender=sender.pk, fingerprint=fingerprint, at=at, **changes):
        return
    receiver, is_new = Receiver.objects.get_or_create(
        sender=sender,
        fingerprint=fingerprint,
        defaults=asdict(party) | {"uses": 1, "used_at": at},
    )
    if receiver.is_saved:
        changes = {}
    if not is_new:
        Receiver.objects.filter(pk=receiver.pk).update(uses=F("uses") + 1, used_at=at, **changes)
    is_changed = any(getattr(receiver, name) != value for name, value in changes.items())
    if is_changed:
        receiver.keys.all().delete()
    if is_new or is_changed:
        _write_keys(receiver, party)


def correct_receiver(sender: Sender, before: Party, after: Party) -> None:
    """Replace a wrong receiver with the corrected one, so that the address book has them once.

    A row that other parcels use was right for them, and one added by hand is another person: both
    stay.
    """
    wrong = sender.receivers.filter(fingerprint=receiver_fingerprint(before), uses__lte=1).first()
    is_another = normalise_name(before.name) != normalise_name(after.name)
    if (
        wrong is None
        or receiver_fingerprint(before) == receiver_fingerprint(after)
        or (wrong.is_saved and is_another)
    ):
        return
    try:
        store_receiver(wrong, after)
    except Refused:
        if not wrong.is_saved:
            wrong.delete()


def suggest_receivers(sender: Sender, text: str, *, limit: int = 8) -> list[Receiver]:
    """Return receivers that match the first letters: saved ones first, then the most used.

    If no name, number or email begins with them, search the streets.
    """
    if len(normalise_name(text)) < FEWEST_LETTERS:
        return []
    by_use = ("-is_saved", "-uses", "-used_at")
    found = list(match_receivers(sender.receivers.all(), text).order_by(*by_use)[:limit])
    return found or list(_at_street(sender, text).order_by(*by_use)[:limit])


def _at_street(sender: Sender, text: str) -> QuerySet[Receiver]:
    """Return the newest receivers whose street contains this text.

    Streets have no keys, so only a limited number of rows is read.
    """
    newest = sender.receivers.order_by("-pk").values("pk")[:MOST_STREETS]
    street = " ".join(normalise_text(text).split())
    return sender.receivers.filter(pk__in=newest, line1__icontains=street)


def _write_keys(receiver: Receiver, party: Party) -> None:
    ReceiverKey.objects.bulk_create(
        ReceiverKey(receiver=receiver, sender_id=receiver.sender_id, key=key)
        for key in sorted(keys_of(party))
    )


def match_receivers(receivers: QuerySet[Receiver], text: str) -> QuerySet[Receiver]:
    """Return receivers with a key that begins with each word. A number with spaces is one word."""
    text = normalise_text(text)
    is_phone = not any(c.isalpha() for c in text)
    words = [text] if is_phone else text.lower().split()[:MOST_WORDS]
    for word in words:
        start = word if "@" in word else normalise_name(word).replace(" ", "")
        if start:
            is_email = "." in word and word != start  # its dots aren't part of a normalised word
            spelled = begins_with("key", start)
            found = ReceiverKey.objects.filter(
                spelled | begins_with("key", word) if is_email else spelled,
                receiver=OuterRef("pk"),
                sender=OuterRef("sender"),
            )
            receivers = receivers.filter(Exists(found))
    return receivers


MOST_SETS = 50  # of duplicates, shown on one page
BATCH = 2000
MOST_COMPARED = 20_000  # a sender's rows that are searched for duplicates


def list_receivers(
    sender: Sender, *, q: str, group: str, off_list: bool = False
) -> QuerySet[Receiver]:
    """Return the receivers, newest first; `q` matches the start of words."""
    found = match_receivers(sender.receivers.order_by("-pk"), q)
    if group:
        found = found.filter(group=group)
    return found.filter(is_off_list=True) if off_list else found


def groups_of(sender: Sender) -> list[str]:
    named = sender.receivers.exclude(group="").order_by("group")
    return list(named.values_list("group", flat=True).distinct())


def find_duplicates(sender: Sender) -> list[list[Receiver]]:
    """Return groups with the same name, postcode and country, each with the one to keep first.

    That is the most used one, then the newest.
    """
    seen: dict[tuple[str, str, str], list[int]] = {}
    rows = sender.receivers.order_by("-uses", "-pk")
    named = rows.values_list("pk", "name", "postcode", "country")[:MOST_COMPARED]
    for key, name, postcode, country in named:
        seen.setdefault((normalise_name(name), normalise_name(postcode), country), []).append(key)
    twice = [keys for keys in seen.values() if len(keys) > 1][:MOST_SETS]
    found = sender.receivers.in_bulk([key for keys in twice for key in keys])
    return [[found[key] for key in keys] for keys in twice]


@transaction.atomic
def merge_receivers(kept: Receiver, others: Sequence[Receiver]) -> None:
    """Merge receivers into one row and add up their uses. Parcels keep their receiver as typed."""
    rows = Receiver.objects.filter(
        sender=kept.sender_id, pk__in=[kept.pk, *(other.pk for other in others)]
    )
    known = list(rows.select_for_update())
    all_of = rows.aggregate(uses=Sum("uses"), used_at=Max("used_at"))
    group = kept.group or next((one.group for one in known if one.group), "")
    is_saved = any(one.is_saved for one in known)
    rows.exclude(pk=kept.pk).delete()
    rows.update(**all_of, group=group, is_saved=is_saved)


def mark_off_list(country: str) -> int:
    """Flag every receiver whose pair the country's active list lacks; return how many.

    A receiver whose pair is on the list again loses the flag. Without an active list nobody is
    flagged.
    """
    active = Locality.objects.filter(list__country=country, list__is_active=True)
    pairs = set(active.values_list("normalised", "postcode"))
    changed: dict[bool, list[int]] = {True: [], False: []}
    count = 0
    rows = Receiver.objects.filter(country=country).values_list(
        "pk", "suburb", "postcode", "is_off_list"
    )
    for key, suburb, postcode, was_off in rows.iterator(chunk_size=BATCH):
        is_off = bool(pairs) and (normalise_name(suburb), postcode) not in pairs
        count += is_off
        if is_off != was_off:
            changed[is_off].append(key)
    for flag, keys in changed.items():
        for start in range(0, len(keys), BATCH):
            Receiver.objects.filter(pk__in=keys[start : start + BATCH]).update(is_off_list=flag)
    return count
