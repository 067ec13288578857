"""The carrier's words: undecided ones first, decided with a reason after a preview, re-applied in batches."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.staff.conftest import REASON
from tracking import word_decisions
from tracking.models import EventWord, Parcel
from tracking.scanning import projecting

LIST = "/admin/tracking/eventword/"


@pytest.fixture
def word(db: None) -> EventWord:
    return EventWord.objects.create(
        word="with sorter", spellings=["With  Sorter", "With sorter"], scans=2, first_seen_at=timezone.now()
    )


@pytest.fixture
def sorted_parcels(word: EventWord, quill: Sender, alice: User) -> list[Parcel]:
    """Two parcels scanned with the word, one of them delivered since; a third was not."""
    now = timezone.now()
    found = [factories.parcel(factories.order(quill, alice, status="booked")) for _ in range(3)]
    for parcel, spelling in zip(found[:2], word.spellings, strict=True):
        factories.event(parcel, event_type=spelling, scan_time=now - dt.timedelta(hours=2))
    factories.event(found[1], event_type="Delivered", scan_time=now)
    factories.event(found[2], event_type="Pickup", scan_time=now)
    for parcel in found:
        projecting.project_parcels(parcel.pk)
    return found


def url(word: EventWord) -> str:
    return reverse("admin:tracking_eventword_decide", args=[word.pk])


def progress_of(parcels: list[Parcel]) -> list[str]:
    return [Parcel.objects.get(pk=parcel.pk).progress for parcel in parcels]


def test_the_list_shows_undecided_words_first_the_most_frequent_on_top(staff: Client, db: None) -> None:
    for name, seen, known in (("rare", 1, False), ("decided", 90, True), ("frequent", 7, False)):
        EventWord.objects.create(word=name, scans=seen, is_known=known, first_seen_at=timezone.now())
    assert [row.word for row in staff.get(LIST).context["cl"].result_list] == ["frequent", "rare", "decided"]


def test_the_page_shows_what_a_meaning_would_change_and_writes_nothing(
    staff: Client, word: EventWord, sorted_parcels: list[Parcel]
) -> None:
    page = staff.get(url(word), {"progress": "in_transit"})
    effect = page.context["effect"]
    assert (effect.parcels, effect.tried) == (2, 2)
    assert [(m.parcel, m.before, m.after) for m in effect.moves] == [(sorted_parcels[0], "No scan yet", "On the way")]
    assert progress_of(sorted_parcels) == ["", "delivered", "collected"]
    word.refresh_from_db()
    assert (word.progress, word.is_known) == ("", False)
    assert 'value="Map to: On the way"' in page.content.decode()


def test_a_decision_is_stored_with_its_reason_and_recomputes_each_affected_parcel(
    staff: Client, word: EventWord, sorted_parcels: list[Parcel], sam: User
) -> None:
    answer = staff.post(url(word), {"progress": "in_transit", "reason": REASON}, follow=True)
    assert "Parcels to recalculate in the next few minutes: 2." in answer.content.decode()
    due = Parcel.objects.filter(due_at__lte=timezone.now())
    assert set(due) == set(sorted_parcels[:2])
    for parcel in due:
        projecting.project_parcels(parcel.pk)
    assert progress_of(sorted_parcels) == ["in_transit", "delivered", "collected"]
    word.refresh_from_db()
    assert (word.progress, word.is_known) == ("in_transit", True)
    row = Audit.objects.get()
    assert (row.action, row.actor) == ("word decided", sam)
    assert row.reason == f"“with sorter” means On the way, 2 parcels: {REASON}"


def test_a_decision_affects_only_its_own_word(staff: Client, word: EventWord) -> None:
    other = EventWord.objects.create(word="at depot", first_seen_at=timezone.now())
    staff.post(url(word), {"progress": "in_transit", "reason": REASON})
    other.refresh_from_db()
    assert (other.progress, other.is_known) == ("", False)


def test_an_operator_can_decide_that_a_word_means_nothing(staff: Client, word: EventWord) -> None:
    staff.post(url(word), {"progress": "", "reason": REASON})
    word.refresh_from_db()
    assert (word.progress, word.is_known) == ("", True)


def test_choosing_the_same_meaning_again_re_applies_it_to_stored_scans(
    staff: Client, word: EventWord, sorted_parcels: list[Parcel]
) -> None:
    EventWord.objects.update(progress="in_transit", is_known=True)
    page = staff.get(url(word))
    assert 'value="Re-apply to stored scans"' in page.content.decode()
    assert len(page.context["effect"].moves) == 1  # decided, but not recomputed since
    staff.post(url(word), {"progress": "in_transit", "reason": REASON})
    assert Parcel.objects.exclude(due_at=None).count() == 2


def test_parcels_are_recomputed_in_batches_and_none_becomes_due_later(
    word: EventWord, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_decisions, "BATCH", 2)
    now = timezone.now()
    made = [factories.parcel() for _ in range(5)]
    for parcel in made:
        factories.event(parcel, event_type="With sorter")
    Parcel.objects.filter(pk=made[0].pk).update(due_at=now - dt.timedelta(seconds=1))
    assert word_decisions.decide_word(word, "in_transit", by=sam, reason=REASON, now=now) == 5
    due = [(parcel.due_at - now).total_seconds() for parcel in Parcel.objects.order_by("-pk")]
    assert due == [0.0, 0.0, 0.4, 0.4, -1.0]


def test_the_preview_uses_only_the_newest_parcels(
    staff: Client, word: EventWord, sorted_parcels: list[Parcel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_decisions, "MOST_TRIED", 1)
    page = staff.get(url(word), {"progress": "in_transit"})
    assert (page.context["effect"].parcels, page.context["effect"].tried) == (2, 1)
    assert "0 of the newest 1 would change" in " ".join(page.content.decode().split())


@pytest.mark.parametrize(
    "post", [{"progress": "in_transit", "reason": "short"}, {"progress": "teleported", "reason": REASON}]
)
def test_without_a_reason_or_with_an_unknown_meaning_nothing_is_decided(
    staff: Client, word: EventWord, post: dict[str, Any]
) -> None:
    page = staff.post(url(word), post)
    assert page.context["form"].errors
    word.refresh_from_db()
    assert not word.is_known
    assert not Audit.objects.exists()


def test_a_read_only_operator_decides_nothing(word: EventWord, visit: Callable[[User], Client]) -> None:
    reader = factories.user("reader@portal.example", is_staff=True)
    factories.second_factor(reader)
    permissions.update_groups()
    reader.groups.add(Group.objects.get(name=permissions.READ_ONLY))
    page = visit(reader)
    assert page.get(url(word)).status_code == 403
    assert page.post(url(word), {"progress": "lost", "reason": REASON}).status_code == 403
    assert url(word) not in page.get(f"{LIST}{word.pk}/change/").content.decode()


def test_a_word_without_scans_is_not_found(staff: Client, db: None) -> None:
    assert staff.get(f"{LIST}999/decide/").status_code == 404
