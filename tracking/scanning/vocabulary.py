"""Map the carrier's words for scans to progress. Unknown words are stored and shown."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db import connection
from django.db.models import Q, QuerySet

from orders.calling.contract import contract_of
from orders.models import CarrierAccount
from shipping_portal.carrier.contract import Contract
from tracking.models import EventWord, Parcel, TrackingEvent


def normalise_word(word: str) -> str:
    """Return a word in the form used to compare: carriers write "Dropped off" and "Dropped Off"."""
    return " ".join(word.split()).casefold()[:100]


def meanings_of(words: Iterable[str], contract: Contract) -> dict[str, str]:
    """Return progress by normalised word; "" means none. The operator's map overrides the contract.

    The map applies to all carrier accounts. Operators preview a decision's effect; a word that two
    carriers use differently belongs in the [words] of their contract files.
    """
    normalised = {normalise_word(word) for word in words}
    found = {word: contract.progress(word) or "" for word in normalised}
    mapped = EventWord.objects.filter(word__in=normalised).exclude(progress="")
    found.update(mapped.values_list("word", "progress"))
    return found


# Each step asks the index for the next word: DISTINCT would read every one of a million scans.
SPELLED = """
    WITH RECURSIVE spelled(word) AS (
        SELECT MIN(event_type) FROM tracking_trackingevent
        UNION ALL
        SELECT (SELECT MIN(event_type) FROM tracking_trackingevent WHERE event_type > word)
        FROM spelled WHERE word IS NOT NULL
    )
    SELECT word FROM spelled WHERE word IS NOT NULL
"""


def meanings_everywhere() -> dict[tuple[int, str], str]:
    """Return the meaning of each scan word by account and spelling.

    It takes two queries, plus one per account.
    """
    with connection.cursor() as cursor:
        cursor.execute(SPELLED)
        words = [word for (word,) in cursor.fetchall()]
    found: dict[tuple[int, str], str] = {}
    for account in CarrierAccount.objects.all():
        known = meanings_of(words, contract_of(account))
        found |= {(account.pk, word): known[normalise_word(word)] for word in words}
    return found


def means_one_of(wanted: Collection[str], known: dict[tuple[int, str], str]) -> Q:
    """Match scans whose word has one of these meanings."""
    by_account: dict[int, list[str]] = defaultdict(list)
    for (account, word), progress in known.items():
        if progress in wanted:
            by_account[account].append(word)
    condition = Q(pk__in=[])
    for account, words in by_account.items():
        condition |= Q(account=account, event_type__in=words)
    return condition


def is_known(word: str, contract: Contract) -> bool:
    """Return whether the contract has this word at all, "Info" included."""
    return contract.progress(word) is not None


def note_unknown_words(met: Iterable[tuple[str, dt.datetime, Contract]]) -> None:
    """Count new scans whose words aren't in their contracts, so that an operator can map them.

    One row is written per word, however many scans of the batch have it.
    """
    unnamed: dict[str, list[tuple[str, dt.datetime]]] = defaultdict(list)
    for word, at, contract in met:
        if not is_known(word, contract):
            unnamed[normalise_word(word)].append((word, at))
    for word, spelled in sorted(unnamed.items()):
        # Locked, because two batches may bring two spellings at once.
        rows = EventWord.objects.select_for_update()
        row, _ = rows.get_or_create(word=word, defaults={"first_seen_at": spelled[0][1]})
        row.scans += len(spelled)
        row.spellings += [
            one for one in dict.fromkeys(one for one, _ in spelled) if one not in row.spellings
        ]
        row.save(update_fields=["scans", "spellings"])


def parcels_with(word: EventWord) -> QuerySet[Parcel]:
    """Return every parcel that was scanned with this word, in any spelling."""
    scanned = TrackingEvent.objects.filter(event_type__in=word.spellings)
    return Parcel.objects.filter(pk__in=scanned.values("parcel"))
