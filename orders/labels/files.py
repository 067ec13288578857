"""Store label files, in the bucket if there is one.

A file is written before a label names it, and deleted once no label does. docs/decisions/0053 says
why a file that a label names is never deleted.
"""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from orders.models import BucketFile, Label, LabelBytes
from shipping_portal.db import bucket
from shipping_portal.db.bucket import OutOfReach
from shipping_portal.jobs.models import lease_time
from shipping_portal.jobs.registry import job

# Much longer than it takes to write a file and name it.
ANNOUNCED = dt.timedelta(seconds=600 * settings.TIME_SCALE)


def upload(content: bytes, sha256: str) -> BucketFile | None:
    """Write a file to the bucket, if there is one. Raises OutOfReach."""
    if not settings.LABEL_BUCKET:
        return None
    file = _announce(f"{settings.LABEL_BUCKET_PREFIX}/{sha256}")
    bucket.put_file(file.key, content)
    return file


def _announce(key: str) -> BucketFile:
    """Have the file deleted later if no label ever names it."""
    until = timezone.now() + ANNOUNCED
    file, made = BucketFile.objects.get_or_create(key=key, defaults={"due_at": until})
    if file.is_ending:
        raise OutOfReach("the same file is just being deleted")
    if not made:
        BucketFile.objects.filter(pk=file.pk, due_at__isnull=False).update(due_at=until)
    return file


def bytes_of(label: Label, content: bytes, file: BucketFile | None) -> LabelBytes:
    """Return the row for a label's bytes.

    If they are in a `file`, the row's transaction records that file's name.
    """
    if file is None:
        return LabelBytes(label=label, content=content)
    return LabelBytes(label=label, content=b"", address=file.key)


def name_file(file: BucketFile) -> None:
    """Record that a row now names the file. Raises OutOfReach if the file is gone."""
    is_there = BucketFile.objects.filter(pk=file.pk, is_ending=False)
    if not is_there.update(due_at=None, **BucketFile.AFRESH):
        raise OutOfReach("the same file was just deleted")


def forget(rows: QuerySet[LabelBytes]) -> int:
    """Delete these rows. A file in the bucket goes a little later, unless another row names it."""
    with transaction.atomic():
        found = dict(rows.select_for_update(of=("self",)).values_list("pk", "address"))
        LabelBytes.objects.filter(pk__in=found).delete()
        look_for_names({address for address in found.values() if address})
    return len(found)


def look_for_names(addresses: set[str]) -> None:
    """Check for names a little later.

    By then, anybody who has just read a row has finished reading its file.
    """
    at = timezone.now() + lease_time()
    BucketFile.objects.bulk_create(
        [BucketFile(key=address, due_at=at) for address in sorted(addresses)],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["due_at"],
    )


@job("label-file", queue=BucketFile.objects.all(), order=170)
def delete_unnamed(file: BucketFile) -> None:
    """Delete a file that no label names.

    If its bucket is no longer used, the file is deleted along with the bucket.
    """
    if LabelBytes.objects.filter(address=file.key).exclude(address="").exists():
        file.finish()
        return
    # This fails if a row has named it since. After this, no row can.
    if not file.renew(is_ending=True):
        return
    try:
        if settings.LABEL_BUCKET:
            bucket.delete_file(file.key)
    except OutOfReach:
        file.try_later(timezone.now())
        return
    BucketFile.objects.filter(pk=file.pk, due_at=file.due_at).delete()
