"""Imports at the desk: an operator holds one, its sender cannot go on; and news of those that finished unwatched."""

import datetime as dt

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.importing import booking as importing
from orders.models import Import
from shipping_portal.accounts import mailing, notices
from shipping_portal.accounts.models import Audit, Notice, Sender, User
from shipping_portal.desk import finished
from tests import factories
from tests.desk.conftest import REASON
from tests.pages.conftest import Visit

pytestmark = pytest.mark.django_db
TEXT = "We look into two of your addresses."


def act(file: Import, name: str) -> str:
    return reverse("admin:orders_import_act", args=[file.pk, name])


def booked_import(of: Sender, by: User, *, looked: dt.timedelta, status: str = "booked") -> Import:
    """An import of one row whose order is settled, begun an hour ago, and looked at so long ago."""
    now = timezone.now()
    begun = now - dt.timedelta(hours=1)
    file = factories.import_file(of, by, state="booking", begun_at=begun, begun_by=by, looked_at=now - looked)
    order = factories.order(of, by, status=status)
    factories.import_row(of, by, file=file, state="booked", order=order, booked_by=by, problems={})
    return file


def test_an_operator_holds_an_import_and_its_sender_cannot_go_on(
    desk: Client, quill: Sender, alice: User, sam: User
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    factories.import_row(quill, alice, file=file, state="owed", due_at=timezone.now(), problems={})
    desk.post(act(file, "hold"), {"text": TEXT, "reason": REASON})
    file.refresh_from_db()
    assert file.hold == TEXT
    assert not importing.resume(file)
    told = Audit.objects.get(action="import held")
    assert (told.actor, told.sender) == (sam, quill)

    desk.post(act(file, "let-go"), {"reason": REASON})
    file.refresh_from_db()
    assert (file.hold, file.paused_at) == ("", None)
    assert Audit.objects.filter(action="import let go", actor=sam).exists()


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


def test_failed_rows_are_checked_again_for_a_sender(desk: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="failed", problems={"": ["Booking was off."]})
    desk.post(act(row.file, "try-again"), {"reason": REASON})
    row.refresh_from_db()
    assert row.state == "new"
    assert desk.post(act(row.file, "try-again"), {"reason": REASON}).status_code == 409


def test_the_desk_reads_counts_and_no_rows(desk: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice)
    page = desk.get(reverse("admin:orders_import_change", args=[row.file.pk])).content.decode()
    assert "1: 1 to fix" in page
    assert "noor@example.net" not in page


def test_an_import_that_finished_unwatched_is_one_mail_with_one_link(quill: Sender, alice: User) -> None:
    file = booked_import(quill, alice, looked=dt.timedelta(minutes=5))
    for _ in range(2):
        finished.look(timezone.now())
    notice = Notice.objects.get()
    assert (notice.user, notice.line) == (alice, "orders.csv: 1 booked.")
    Notice.objects.update(due_at=timezone.now())
    mailing.work(notice.pk)
    [sent] = mail.outbox
    assert sent.subject == "Your import is finished"
    assert reverse("import", args=[file.uuid]) in sent.body


def test_whoever_watched_it_finish_gets_no_mail_ever(quill: Sender, alice: User) -> None:
    booked_import(quill, alice, looked=dt.timedelta(seconds=5))
    finished.look(timezone.now())
    finished.look(timezone.now() + dt.timedelta(hours=1))
    assert not Notice.objects.exists()


def test_only_whoever_pressed_book_is_told(quill: Sender, alice: User) -> None:
    factories.member(quill, factories.user("carol@quill.example"))
    booked_import(quill, alice, looked=dt.timedelta(minutes=5))
    finished.look(timezone.now())
    assert Notice.objects.get().user == alice


def test_who_turned_it_off_is_not_told(quill: Sender, alice: User) -> None:
    notices.choose(alice, "import", "off", now=timezone.now())
    booked_import(quill, alice, looked=dt.timedelta(minutes=5))
    finished.look(timezone.now())
    assert not Notice.objects.exists()


def test_an_import_under_way_is_not_finished(quill: Sender, alice: User) -> None:
    file = booked_import(quill, alice, looked=dt.timedelta(minutes=5), status="booking")
    finished.look(timezone.now())
    file.refresh_from_db()
    assert (file.finished_at, Notice.objects.count()) == (None, 0)


def test_an_import_with_rows_to_go_is_not_finished(quill: Sender, alice: User) -> None:
    file = booked_import(quill, alice, looked=dt.timedelta(minutes=5))
    factories.import_row(quill, alice, file=file, state="owed", due_at=timezone.now(), problems={})
    finished.look(timezone.now())
    assert not Notice.objects.exists()
