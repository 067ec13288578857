"""A file is stored again while it is deleted, on PostgreSQL, where races are real."""

import hashlib
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from orders.labels import fetching, files
from orders.models import BucketFile, Label, LabelBytes
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.db.bucket import OutOfReach
from tests import factories
from tests.buckets.conftest import Store
from tests.racing import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]

CONTENT = b"%PDF-1.4 the one file of both sizes %%EOF"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ROUNDS = 12


def test_no_label_is_left_without_its_file(quill: Any, alice: Any, store: Store) -> None:
    """The last label that uses a file is deleted while others start to use it."""
    for _ in range(ROUNDS):
        order = factories.order(quill, alice, status="booked")
        old, new = (Label.objects.create(order=order, size=size) for size in ("full", "cropped"))
        file = LabelFile(CONTENT, SHA256)
        # What an earlier round left may be just being deleted.
        BucketFile.objects.all().delete()
        fetching.store(old, file, at=timezone.now())
        files.forget(LabelBytes.objects.filter(label=old))
        BucketFile.objects.update(due_at=timezone.now())
        key = BucketFile.objects.get().pk
        results = at_once(
            partial(files.delete_unnamed, key),
            partial(fetching.store, new, file, at=timezone.now()),
            partial(files.delete_unnamed, key),
        )
        assert all(result is None or isinstance(result, OutOfReach) for result in results), results
        for row in LabelBytes.objects.exclude(address=""):
            assert row.read() == CONTENT
        assert Label.objects.get(pk=new.pk).state == ("stored" if results[1] is None else "pending")
        LabelBytes.objects.all().delete()
