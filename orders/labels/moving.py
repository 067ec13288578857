"""Move stored labels into the bucket or out of it, and compare the two after a restore.

Each label is read, checked and moved in its own transaction. The command can be stopped at any time
and run again.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from django.db import DatabaseError, transaction

from orders.labels import files
from orders.models import BucketFile, LabelBytes
from shipping_portal.db import bucket

BLOCK = 100  # files in memory at once
LISTED = 1000  # keys in memory at once
MOVED, DAMAGED = "moved", "damaged"


def is_any_in_the_bucket() -> bool:
    """Return whether any label's file is in the bucket; False before the migration."""
    try:
        with transaction.atomic():
            return LabelBytes.objects.exclude(address="").exists()
    except DatabaseError:
        return False


def move_files(*, into_bucket: bool) -> Iterator[Counter[str]]:
    """Move every file to one place, and yield the progress after each block.

    A damaged file stays where it is. Raises OutOfReach.
    """
    done: Counter[str] = Counter()
    waiting = LabelBytes.objects.select_related("label").order_by("pk")
    waiting = waiting.filter(address="") if into_bucket else waiting.exclude(address="")
    last = 0
    while block := list(waiting.filter(pk__gt=last)[:BLOCK]):
        for row in block:
            content = row.read()
            if hashlib.sha256(content).hexdigest() != row.label.sha256:
                row.label.note_damage()
                done[DAMAGED] += 1
            elif _to_bucket(row, content) if into_bucket else _to_database(row, content):
                done[MOVED] += 1
        last = block[-1].pk
        yield done


def _to_bucket(row: LabelBytes, content: bytes) -> bool:
    file = files.upload(content, row.label.sha256)
    if file is None:
        raise bucket.OutOfReach("LABEL_BUCKET is empty")
    with transaction.atomic():
        files.name_file(file)
        still = LabelBytes.objects.filter(pk=row.pk, address="")
        is_moved = bool(still.update(address=file.key, content=b""))
        if not is_moved:  # the label was deleted just now
            files.look_for_names({file.key})
    return is_moved


@transaction.atomic
def _to_database(row: LabelBytes, content: bytes) -> bool:
    still = LabelBytes.objects.filter(pk=row.pk, address=row.address)
    is_moved = bool(still.update(address="", content=content))
    files.look_for_names({row.address})
    return is_moved


def compare_with_rows(prefix: str) -> Counter[str]:
    """Have files that no label names deleted, and count labels whose file is missing.

    Both result from a restore: files were stored since the backup, and files were deleted since.
    """
    found: Counter[str] = Counter()
    last = f"{prefix}/"
    for keys in _key_blocks(bucket.list_keys(last)):
        known = set(BucketFile.objects.filter(key__in=keys).values_list("key", flat=True))
        files.look_for_names(set(keys) - known)
        named = LabelBytes.objects.filter(address__gt=last, address__lte=keys[-1])
        found["not known"] += len(keys) - len(known)
        found["missing"] += named.exclude(address__in=keys).count()
        last = keys[-1]
    found["missing"] += LabelBytes.objects.filter(address__gt=last).count()
    return found


def _key_blocks(keys: Iterable[str]) -> Iterator[list[str]]:
    """Yield the keys in blocks. The bucket lists them in order."""
    left = iter(keys)
    while block := list(islice(left, LISTED)):
        yield block
