"""What 0002 finds in a database that is in use: words with their spellings and counts, and what polls brought."""

import importlib

import pytest
from django.apps import apps
from django.utils import timezone

from tests import factories
from tracking.models import EventWord, WebhookDelivery

pytestmark = pytest.mark.django_db
migration = importlib.import_module("tracking.migrations.0002_gap_meter_and_words")


def test_words_get_their_spellings_and_counts() -> None:
    EventWord.objects.create(word="with sorter", first_seen_at=timezone.now())
    for kind in ("With sorter", "With sorter", "WITH  SORTER", "Pickup"):
        factories.event(factories.parcel(), event_type=kind)
    migration.note_what_is_stored(apps, None)
    word = EventWord.objects.get()
    assert (sorted(word.spellings), word.scans) == (["WITH  SORTER", "With sorter"], 3)


@pytest.mark.parametrize(
    ("reason", "reference"),
    [
        ("polled for SQ7K2M: the event type is missing", "SQ7K2M"),
        ("polled for SQ7K2M, names SOTHER1", "SQ7K2M"),
        ("the event id is missing", ""),
    ],
)
def test_rows_that_a_poll_brought_are_told_from_webhooks(reason: str, reference: str) -> None:
    fields = {"received_at": timezone.now(), "body": b"{}", "sha256": "0" * 64, "state": "quarantined"}
    WebhookDelivery.objects.create(**fields, reason=reason)
    migration.note_what_is_stored(apps, None)
    assert WebhookDelivery.objects.get().polled_for == reference
