"""Imports in the admin: once an operator holds one, its sender can't continue."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.importing import booking as importing
from shipping_portal.importing.models import Import
from tests import factories
from tests.pages.conftest import Visit
from tests.staff.conftest import REASON

pytestmark = pytest.mark.django_db
TEXT = "We look into two of your addresses."


def act(file: Import, name: str) -> str:
    return reverse("admin:importing_import_act", args=[file.pk, name])


def test_an_operator_holds_an_import_and_its_sender_cannot_continue(
    staff: Client, quill: Sender, alice: User, sam: User
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    factories.import_row(quill, alice, file=file, state="owed", due_at=timezone.now(), problems={})
    staff.post(act(file, "hold"), {"text": TEXT, "reason": REASON})
    file.refresh_from_db()
    assert file.hold == TEXT
    assert not importing.resume(file)
    found = Audit.objects.get(action="import held")
    assert (found.actor, found.sender) == (sam, quill)

    staff.post(act(file, "let-go"), {"reason": REASON})
    file.refresh_from_db()
    assert (file.hold, file.paused_at) == ("", None)
    assert Audit.objects.filter(action="import let go", actor=sam).exists()


def test_an_import_that_its_sender_paused_stays_paused_after_an_operators_hold(
    staff: Client, quill: Sender, alice: User
) -> None:
    row = factories.import_row(quill, alice, state="owed", due_at=timezone.now(), problems={})
    importing.pause(row.file, timezone.now())
    staff.post(act(row.file, "hold"), {"text": TEXT, "reason": REASON})
    staff.post(act(row.file, "let-go"), {"reason": REASON})
    assert Import.objects.filter(pk=row.file.pk, hold="").exclude(paused_at=None).exists()
    assert importing.resume(row.file)


def test_the_sender_of_a_held_import_reads_why_and_sees_no_button(
    visit: Visit, localities: None, quill: Sender, alice: User
) -> None:
    listed = visit(alice)
    file = factories.import_file(quill, alice, state="booking", paused_at=timezone.now(), hold=TEXT)
    factories.import_row(quill, alice, file=file, state="owed", due_at=timezone.now(), problems={})
    url = reverse("import", args=[file.uuid])
    page = listed.get(url).content.decode()
    assert f"by the operator: {TEXT}" in page
    assert "Go on" not in page
    listed.post(url, {"act": "resume"})
    file.refresh_from_db()
    assert file.paused_at is not None


def test_failed_rows_are_checked_again_for_a_sender(staff: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="failed", problems={"": ["Booking was off."]})
    staff.post(act(row.file, "try-again"), {"reason": REASON})
    row.refresh_from_db()
    assert row.state == "new"
    assert staff.post(act(row.file, "try-again"), {"reason": REASON}).status_code == 409


def test_the_admin_shows_counts_but_no_rows(staff: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice)
    page = staff.get(reverse("admin:importing_import_change", args=[row.file.pk])).content.decode()
    assert "1: 1 to fix" in page
    assert "noor@example.net" not in page
