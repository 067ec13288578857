"""The address book: what is listed, what is there twice, and what the carrier's list no longer holds."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max, QuerySet, Sum

from shipping_portal.accounts.models import Locality, Receiver, Sender
from shipping_portal.accounts.places import fold
from shipping_portal.accounts.receivers import matching

PAGE = 50
BATCH = 2000
MOST_COMPARED = 20_000  # rows of one sender that are looked through for duplicates


def listed(sender: Sender, *, q: str = "", group: str = "", off_list: bool = False) -> QuerySet[Receiver]:
    """Newest first; `q` by the beginnings of words."""
    found = matching(sender.receivers.order_by("-pk"), q)
    if group:
        found = found.filter(group=group)
    return found.filter(is_off_list=True) if off_list else found


def groups_of(sender: Sender) -> list[str]:
    named = sender.receivers.exclude(group="").order_by("group")
    return list(named.values_list("group", flat=True).distinct())


def duplicates(sender: Sender) -> list[list[Receiver]]:
    """Rows with the same name and postcode, each set with the one to keep first: the most used, then the newest."""
    seen: dict[tuple[str, str], list[int]] = {}
    rows = sender.receivers.order_by("-uses", "-pk").values_list("pk", "name", "postcode")
    for key, name, postcode in rows[:MOST_COMPARED]:
        seen.setdefault((fold(name), fold(postcode)), []).append(key)
    twice = [keys for keys in seen.values() if len(keys) > 1][:PAGE]
    found = sender.receivers.in_bulk([key for keys in twice for key in keys])
    return [[found[key] for key in keys] for keys in twice]


def merge(kept: Receiver, others: Sequence[Receiver]) -> None:
    """One row for all of them, with the uses of all. Parcels are unaffected: each has its receiver's words itself."""
    rows = Receiver.objects.filter(sender=kept.sender_id, pk__in=[kept.pk, *(other.pk for other in others)])
    with transaction.atomic():
        known = list(rows.select_for_update())
        all_of = rows.aggregate(uses=Sum("uses"), used_at=Max("used_at"))
        group = kept.group or next((one.group for one in known if one.group), "")
        is_saved = any(one.is_saved for one in known)
        rows.exclude(pk=kept.pk).delete()
        rows.update(**all_of, group=group, is_saved=is_saved)


def mark_off_list(country: str) -> int:
    """Flag every receiver whose suburb and postcode the country's active list lacks, and say how many there are.

    A receiver the list holds again loses its flag. Without an active list nobody is flagged.
    """
    active = Locality.objects.filter(list__country=country, list__is_active=True)
    pairs = set(active.values_list("folded", "postcode"))
    changed: dict[bool, list[int]] = {True: [], False: []}
    count = 0
    rows = Receiver.objects.filter(country=country).values_list("pk", "suburb", "postcode", "is_off_list")
    for key, suburb, postcode, was_off in rows.iterator(chunk_size=BATCH):
        is_off = bool(pairs) and (fold(suburb), postcode) not in pairs
        count += is_off
        if is_off != was_off:
            changed[is_off].append(key)
    for flag, keys in changed.items():
        for start in range(0, len(keys), BATCH):
            Receiver.objects.filter(pk__in=keys[start : start + BATCH]).update(is_off_list=flag)
    return count
