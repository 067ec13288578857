"""Data past its retention time is deleted, but proof that it existed stays."""

import datetime as dt
import hashlib
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from orders.models import CarrierCall, Label, LabelBytes, Order, Quote
from shipping_portal.accounts.login.session_store import key_digest
from shipping_portal.accounts.models import Notification, Receiver, Sender, Session, User
from shipping_portal.exporting.models import Export, ExportPart
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tracking.models import WebhookDelivery


@pytest.fixture(autouse=True)
def _three_months(settings: object) -> None:
    settings.LABEL_RETENTION_DAYS = 90  # type: ignore[attr-defined]
    settings.CALL_LOG_DAYS = 30  # type: ignore[attr-defined]


def _ago(days: int) -> dt.datetime:
    return timezone.now() - dt.timedelta(days=days)


def _label(order: Order) -> Label:
    label = Label.objects.create(
        order=order, size="full", state="stored", sha256="a" * 64, length=4, stored_at=order.booked_at
    )
    LabelBytes.objects.create(label=label, content=b"%PDF")
    return label


@pytest.mark.parametrize(
    ("status", "fields", "kept"),
    [
        ("booked", {"progress": "delivered", "progress_at": _ago(91)}, False),
        ("booked", {"progress": "delivered", "progress_at": _ago(89)}, True),
        ("booked", {"progress": "lost", "progress_at": _ago(91)}, False),
        ("booked", {"progress": "in_transit", "progress_at": _ago(91)}, True),
        ("booked", {}, True),
        ("cancelled", {"cancelled_at": _ago(91)}, False),
        ("cancelled", {"cancelled_at": _ago(89)}, True),
        # These never get a final scan: polling has given up on them.
        ("booked", {"booked_at": _ago(1000), "progress": "in_transit", "progress_at": _ago(900)}, False),
        ("booked", {"booked_at": _ago(1000), "progress": "in_transit", "progress_at": _ago(89)}, True),
        ("booked", {"booked_at": _ago(91)}, False),
        ("booked", {"booked_at": _ago(89)}, True),
    ],
)
def test_label_bytes_are_deleted_some_time_after_the_parcel_is_done(
    quill: Sender, alice: User, status: str, fields: dict[str, object], kept: bool
) -> None:
    label = _label(factories.order(quill, alice, status=status, **fields))
    call_command("retention")
    label.refresh_from_db()
    assert LabelBytes.objects.exists() is kept
    assert (label.purged_at is None) is kept
    assert label.sha256 == "a" * 64


def test_old_calls_are_deleted_and_recent_ones_stay(db: None) -> None:
    for days in (31, 29):
        CarrierCall.objects.create(
            at=_ago(days), operation="book", method="POST", path="/", milliseconds=1, outcome="ok"
        )
    call_command("retention")
    assert CarrierCall.objects.get().at > _ago(30)


def test_unbooked_quotes_are_deleted_and_an_order_outlives_its_quote(quill: Sender, alice: User) -> None:
    booked = factories.order(quill, alice, status="booked")
    draft = factories.order(quill, alice, status="draft")
    Quote.objects.update(made_at=_ago(8))
    factories.quote(quill, alice, at=_ago(8))
    fresh = factories.quote(quill, alice)
    call_command("retention")
    assert set(Quote.objects.all()) == {draft.quote, fresh}
    booked.refresh_from_db()
    assert booked.quote is None
    assert booked.details().description


@pytest.mark.parametrize("state", ["ready", "warning", "owed"])
def test_the_quote_of_an_imported_row_stays_until_it_is_booked(quill: Sender, alice: User, state: str) -> None:
    quote = factories.quote(quill, alice)
    Quote.objects.update(made_at=_ago(8))
    row = factories.import_row(quill, alice, state=state, quote=quote)
    call_command("retention")
    assert Quote.objects.filter(pk=quote.pk).exists()
    ImportRow.objects.filter(pk=row.pk).update(state="skipped")
    call_command("retention")
    assert not Quote.objects.exists()


@pytest.mark.parametrize(
    ("created", "begun", "state", "kept"),
    [(91, None, "fix", False), (89, None, "fix", True), (91, 89, "fix", True), (91, 91, "owed", True)],
)
def test_unused_import_files_are_deleted_with_their_rows(
    quill: Sender, alice: User, created: int, begun: int | None, state: str, kept: bool
) -> None:
    order = factories.order(quill, alice, status="booked")
    file = factories.import_row(quill, alice, state=state).file
    factories.import_row(quill, alice, file=file, state="booked", order=order)
    Import.objects.update(created_at=_ago(created), begun_at=begun and _ago(begun))
    call_command("retention")
    assert (Import.objects.count(), ImportRow.objects.count()) == ((1, 2) if kept else (0, 0))
    assert Order.objects.filter(pk=order.pk).exists()


def test_expired_sessions_are_deleted_and_others_stay(alice: User, visit: Callable[[User], Client]) -> None:
    visit(alice)
    Session.objects.update(expire_date=_ago(1))
    here = visit(alice)
    call_command("retention")
    assert [row.pk for row in Session.objects.all()] == [key_digest(here.session.session_key)]


def test_the_command_says_how_much_was_deleted(quill: Sender, alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    _label(factories.order(quill, alice, status="cancelled", cancelled_at=_ago(91)))
    call_command("retention")
    assert "label files: 1 deleted" in capsys.readouterr().out


def test_exports_are_deleted_after_a_week_packed_or_not(quill: Sender, alice: User) -> None:
    fresh = factories.export(quill, alice, expires_at=timezone.now() + dt.timedelta(hours=1), created_at=_ago(8))
    due = factories.export(quill, alice, finished_at=None, expires_at=None, due_at=_ago(0))
    factories.export(quill, alice, expires_at=_ago(0))
    factories.export(quill, alice, finished_at=None, expires_at=None, created_at=_ago(8))
    call_command("retention")
    assert set(Export.objects.all()) == {fresh, due}
    assert ExportPart.objects.get().export == fresh


def test_bodies_of_webhooks_and_scans_are_deleted_and_their_values_stay(quill: Sender, alice: User) -> None:
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for days in (91, 89):
        event = factories.event(parcel, raw=b'{"to": "Noor"}', received_at=_ago(days), scan_time=_ago(days))
        factories.delivery(body=b'{"to": "Noor"}', state="stored", event=event, received_at=_ago(days))
    call_command("retention")
    old, new = WebhookDelivery.objects.order_by("received_at")
    erased = b"Erased: 14 bytes, SHA-256 " + hashlib.sha256(b'{"to": "Noor"}').hexdigest().encode()
    assert (bytes(old.body), bytes(old.event.raw)) == (erased, erased)
    assert (bytes(new.body), bytes(new.event.raw)) == (b'{"to": "Noor"}', b'{"to": "Noor"}')
    assert old.event.description == "Pickup scan"
    call_command("retention")
    assert bytes(WebhookDelivery.objects.get(pk=old.pk).body) == erased


def test_texts_of_notifications_are_deleted_and_the_event_is_not_sent_again(quill: Sender, alice: User) -> None:
    facts = {"user": alice, "sender": quill, "kind": "booking", "path": "/", "line": "To N. Tamsin"}
    for days in (91, 89):
        Notification.objects.create(happened_at=_ago(days), dedupe_key=str(days), batch_key="-", **facts)
    call_command("retention")
    assert dict(Notification.objects.values_list("dedupe_key", "line")) == {"91": "", "89": "To N. Tamsin"}


def test_unused_address_book_entries_are_deleted(quill: Sender, alice: User) -> None:
    for name, used, made in (("Old", 401, 900), ("Used", 399, 900), ("New", None, 399), ("Never used", None, 401)):
        kept = factories.saved_receiver(quill, name=name)
        Receiver.objects.filter(pk=kept.pk).update(used_at=used and _ago(used), created_at=_ago(made))
    call_command("retention")
    assert set(Receiver.objects.values_list("name", flat=True)) == {"Used", "New"}


def test_invitations_are_deleted_some_time_after_they_ended(quill: Sender, alice: User) -> None:
    for days in (31, 29):
        quill.invitations.create(
            email=f"{days}@example.org", role="viewer", token_hash=str(days), invited_by=alice,
            created_at=_ago(days + 3), expires_at=_ago(days), revoked_at=_ago(days),
        )  # fmt: skip
    call_command("retention")
    assert quill.invitations.get().email == "29@example.org"
