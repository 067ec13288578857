"""Pending work in a restored database may have been done since its backup, so none of it is repeated automatically."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.calling import gateway
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import CarrierAccount, DatabaseMark, Order, Quote, Replacement, Restore
from orders.models.account import BOOKINGS
from orders.models.restores import GAP_IS_OPEN
from orders.restoring import comparing, marks
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.importing import booking as importing
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs.registry import all_kinds
from shipping_portal.staff.models import Alert
from shipping_portal.staff.resolution import deciding
from shipping_portal.staff.restores import fencing
from tests import factories
from tests.catalogue.pushing import push, wire
from tests.jobs.conftest import replaced
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier
from tracking.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("as_the_owner")]

Submit = Callable[..., Order]
HOUR = dt.timedelta(hours=1)


@pytest.fixture(autouse=True)
def _restored(db: None) -> None:
    """Make the database look restored: it isn't the one used last."""
    DatabaseMark.objects.all().delete()


def after_restore(at: dt.datetime | None = None) -> None:
    call_command("after_restore", f"--backup-at={(at or timezone.now()).isoformat()}")


def work_on_everything() -> None:
    """Do whatever is due with every kind of worker, now and after every waiting time."""
    for kind in all_kinds() * 2:
        kind.queue.filter(due_at__isnull=False).update(due_at=timezone.now())
        for pk in kind.queue.values_list("pk", flat=True):
            kind(pk)


def again(thing: Any) -> Any:
    thing.refresh_from_db()
    return thing


# -- Bookings ------------------------------------------------------------------------------------


def test_queued_bookings_become_cases_and_are_never_sent_automatically(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    orders = [submitted(), submitted()]
    after_restore()
    work_on_everything()
    CarrierAccount.objects.update(paused_at=None)
    work_on_everything()
    assert {again(order).status for order in orders} == {"unconfirmed"}
    assert carrier.ledger("booked") == []
    assert orders[0].changes.last().reason == "the backup is older than the answer"


def test_a_booking_of_the_backup_is_not_refused_for_its_age_or_pickup_day(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    order = submitted()
    Order.objects.update(submitted_at=timezone.now() - 48 * HOUR, pickup_date=dt.date(2026, 1, 5))
    after_restore()
    work_on_everything()
    assert again(order).status == "unconfirmed"


def test_while_bookings_are_paused_no_booking_is_refused_for_its_age(
    submitted: Submit, carrier: SandboxCarrier
) -> None:
    order = submitted()
    Order.objects.update(submitted_at=timezone.now() - 48 * HOUR)
    CarrierAccount.objects.update(paused_at=timezone.now())
    bookings.process_booking(order.pk)
    assert again(order).status == "booking"


def test_its_sender_reads_that_it_may_already_be_booked(submitted: Submit, alice: User, visit: Any) -> None:
    order = submitted()
    after_restore()
    page = text(visit(alice).get(reverse("parcel", args=[order.uuid])))
    assert "After a problem on our side we don't know whether this parcel is booked" in page
    assert "Don't book it again" in page
    assert "weren't charged" not in page
    assert not Notification.objects.exists()


def test_an_operator_resolves_it_without_any_attempt(
    submitted: Submit, carrier: SandboxCarrier, sam: User, contract: Callable[[str], None]
) -> None:
    contract('view = ""')
    adopted, dropped = submitted(), submitted()
    after_restore()
    carrier.foreign("SBOOKED001")
    carrier.scan("SBOOKED001", "Pickup")
    why = "seen in the carrier's dashboard"
    deciding.adopt_reference(again(adopted), "SBOOKED001", by=sam, reason=why, now=timezone.now())
    deciding.not_booked(again(dropped), by=sam, reason=why, now=timezone.now())
    assert (again(adopted).status, adopted.carrier_reference) == ("booked", "SBOOKED001")
    assert again(dropped).status == "not_booked"


def test_a_booking_in_flight_stays_in_flight_and_its_key_is_never_used_again(
    submitted: Submit, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    """Since the backup it may have been found unsent and booked under another key: its own key would book again."""
    contract("replays = true")
    carrier.settings(replays=True)
    order = submitted()
    assert bookings._write_down(Order.objects.get(pk=order.pk), timezone.now())
    after_restore()
    assert again(order).status == "booking"
    for _ in range(3):
        work_on_everything()
    assert again(order).status == "unconfirmed"
    assert carrier.ledger("booked") == []


# -- Cancellations and replacements --------------------------------------------------------------


def test_a_queued_cancellation_is_checked_not_repeated(booked: Submit, carrier: SandboxCarrier, alice: User) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())
    gateway.carrier_client(gateway.current_account()).cancel(order.carrier_order_id)  # after the backup
    after_restore()
    assert again(order).status == "cancel_unconfirmed"
    cancels.process_cancel(order.pk)
    assert again(order).status == "cancelled"
    assert len(carrier.ledger("cancelled")) == 1


def test_a_refused_cancel_of_a_parcel_possibly_cancelled_since_is_checked(
    booked: Submit, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    gateway.carrier_client(gateway.current_account()).cancel(order.carrier_order_id)  # after the backup
    after_restore()
    cancels.ask_to_cancel(again(order), by=alice, why="-", now=timezone.now())
    carrier.trouble("cancel", "422", count=2)
    carrier.trouble("view", "503")
    cancels.process_cancel(order.pk)
    assert (again(order).status, again(order).cancels.get().state) == ("cancel_unconfirmed", "unknown")
    Order.objects.update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    assert again(order).status == "cancelled"


def test_a_queued_replacement_is_held_while_its_parcel_is_cancelled(
    booked: Submit, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())
    held = replaced(order, due_at=timezone.now())
    gateway.carrier_client(gateway.current_account()).cancel(order.carrier_order_id)
    after_restore()
    CarrierAccount.objects.update(paused_at=None)
    work_on_everything()
    assert again(order).status == "cancelled"
    assert Replacement.objects.get(pk=held).ended_at is None
    assert Order.objects.count() == 1


# -- Import rows ---------------------------------------------------------------------------------


@pytest.fixture
def due_row(quill: Sender, alice: User, carrier: SandboxCarrier) -> Callable[..., ImportRow]:
    """`due_row()` is a row of a file whose sender has just pressed Book."""

    def make(**fields: Any) -> ImportRow:
        now = timezone.now()
        file = factories.import_file(quill, alice, state="booking", begun_at=now, **fields)
        quote = factories.quote(quill, alice)
        return factories.import_row(
            quill, alice, file=file, state="owed", due_at=now, quote=quote, problems={},
            product_code="STANDARD-PICKUP", booked_by=alice,
        )  # fmt: skip

    return make


def test_queued_import_rows_are_held_and_their_sender_cannot_continue(
    due_row: Callable[..., ImportRow], alice: User, visit: Any
) -> None:
    row = due_row()
    after_restore()
    CarrierAccount.objects.update(paused_at=None)
    page = visit(alice).post(reverse("import", args=[row.file.uuid]), {"act": "resume"}, follow=True)
    work_on_everything()
    assert again(row).state == "owed"
    assert not Order.objects.exists()
    assert "Only the operator can let this import go on." in page.content.decode()
    assert "may be booked already" in page.content.decode()


def test_rows_paused_by_their_sender_are_held_too(due_row: Callable[..., ImportRow]) -> None:
    row = due_row(paused_at=timezone.now() - HOUR)
    after_restore()
    assert not importing.resume(row.file)


# -- Labels --------------------------------------------------------------------------------------


@pytest.fixture
def labelled(booked: Submit) -> Callable[[], Order]:
    """`labelled()` is a booked order with its two labels stored."""

    def make() -> Order:
        order = booked()
        order.labels.update(is_spare=False)  # both are wanted
        for label in order.labels.all():
            fetching.fetch_due_label(label.pk)
        assert {label.state for label in order.labels.all()} == {"stored"}
        return order

    return make


def label_of(order: Order) -> str:
    return reverse("label", args=[order.uuid, "full"])


def test_a_label_is_shown_once_the_carrier_confirms_its_parcel(
    labelled: Callable[[], Order], alice: User, visit: Any
) -> None:
    order, browser = labelled(), visit(alice)
    after_restore()
    assert browser.get(label_of(order)).status_code == 404
    page = text(browser.get(reverse("parcel", args=[order.uuid])))
    assert "we're asking the carrier whether this parcel is still booked" in page
    assert label_of(order) not in page
    comparing.compare_due_label(order.labels.first().pk)
    assert browser.get(label_of(order)).status_code == 200
    assert {label.state for label in order.labels.all()} == {"stored"}


def test_a_parcel_cancelled_after_the_backup_is_found_and_its_label_is_not_shown(
    labelled: Callable[[], Order], alice: User, visit: Any
) -> None:
    order = labelled()
    gateway.carrier_client(gateway.current_account()).cancel(order.carrier_order_id)
    after_restore()
    work_on_everything()
    assert again(order).status == "cancelled"
    assert order.cancelled_at
    assert order.cancels.get().why == comparing.WHY
    assert visit(alice).get(label_of(order)).status_code == 404
    assert "is cancelled; we had to check with the carrier" in Notification.objects.get(user=alice).line


def test_a_label_stays_hidden_while_the_carrier_does_not_reply(
    labelled: Callable[[], Order], carrier: SandboxCarrier, alice: User, visit: Any
) -> None:
    order = labelled()
    after_restore()
    carrier.trouble("view", "500", count=50)
    work_on_everything()
    assert visit(alice).get(label_of(order)).status_code == 404
    carrier.clear()
    work_on_everything()
    assert visit(alice).get(label_of(order)).status_code == 200


def test_a_label_not_fetched_yet_is_fetched_after_the_comparison(booked: Submit, carrier: SandboxCarrier) -> None:
    order = booked()
    after_restore()
    work_on_everything()
    assert {label.state for label in order.labels.all()} == {"stored"}


@pytest.mark.parametrize("progress", ["collected", "in_transit", "delivered"])
def test_the_label_of_a_collected_parcel_needs_no_comparison(labelled: Callable[[], Order], progress: str) -> None:
    order = labelled()
    Order.objects.update(progress=progress)
    after_restore()
    assert {label.state for label in order.labels.all()} == {"stored"}


def test_if_the_carrier_shows_no_orders_labels_stay_hidden_and_parcels_are_counted(
    labelled: Callable[[], Order], contract: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    order = labelled()
    contract('view = ""')
    after_restore()
    assert {label.state for label in order.labels.all()} == {"stored"}
    assert "1 parcels that may be cancelled and can't be checked" in capsys.readouterr().out


# -- Numbers, pause, audit, and again -------------------------------------------------------------


def test_numbers_used_after_the_backup_are_not_used_again(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    drafts = factories.draft(quill, alice).pk
    after_restore()
    assert factories.order(quill, alice).pk > order.pk + fencing.FURTHER - 1
    assert factories.draft(quill, alice).pk >= drafts + fencing.FURTHER
    assert factories.sender().pk > quill.pk + fencing.FURTHER - 1
    assert Quote.objects.count() == 2
    assert factories.charge(factories.order(quill, alice, status="booked")).pk > fencing.FURTHER
    assert factories.export(quill, alice).pk > fencing.FURTHER
    found = {"opened_at": timezone.now(), "seen_at": timezone.now(), "sent_at": timezone.now()}
    assert Alert.objects.create(name="told elsewhere by its number", **found).pk > fencing.FURTHER


def test_bookings_are_paused_until_an_operator_closes_the_gap(submitted: Submit, quill: Sender) -> None:
    gateway.current_account()
    CarrierAccount.objects.update(paused_at=timezone.now() - HOUR, pause_ends_at=timezone.now() - HOUR)
    after_restore()
    pause = gateway.current_account().pause_of(BOOKINGS, timezone.now())
    assert pause
    assert (pause.ends_at, pause.text) == (None, GAP_IS_OPEN)
    with pytest.raises(booking_rules.Paused):
        submitted()


def test_the_command_prints_and_records_what_it_fenced(
    submitted: Submit, due_row: Callable[..., ImportRow], capsys: pytest.CaptureFixture[str]
) -> None:
    due_row(), submitted(), submitted()
    Order.objects.update(created_at=timezone.now() - 3 * HOUR)
    after_restore()
    said = capsys.readouterr().out
    assert "2 bookings now waiting for an operator, oldest 3\xa0hours ago" in said
    assert "1 held import rows, oldest" in said
    row = Audit.objects.get(action="database restored")
    assert "bookings now waiting for an operator: 2" in row.reason
    assert row.actor is None


def test_a_second_run_changes_nothing(
    submitted: Submit, carrier: SandboxCarrier, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted()
    at = timezone.now()
    after_restore(at)
    before = list(Order.objects.values()), list(Restore.objects.values()), list(DatabaseMark.objects.values())
    Order.objects.filter(pk=submitted_later(carrier)).update(status="booking")
    capsys.readouterr()
    after_restore(at)
    after_restore(at - HOUR)
    assert capsys.readouterr().out.count("This has already been done") == 2
    assert Order.objects.filter(status="booking").count() == 1
    assert (list(Order.objects.exclude(status="booking").values()), *before[1:]) == (
        before[0], list(Restore.objects.values()), list(DatabaseMark.objects.values()),
    )  # fmt: skip


def submitted_later(carrier: SandboxCarrier) -> int:
    first = Order.objects.get()
    return factories.order(first.sender, first.made_by, status="booking").pk


def test_the_same_backup_restored_again_is_fenced_again(submitted: Submit) -> None:
    at = timezone.now()
    after_restore(at)
    DatabaseMark.objects.all().delete()
    CarrierAccount.objects.update(paused_at=None)
    order = submitted()
    after_restore(at)
    assert again(order).status == "unconfirmed"


def test_afterwards_every_process_starts(submitted: Submit) -> None:
    with pytest.raises(marks.Restored):
        marks.require_unrestored(now=timezone.now())
    after_restore()
    marks.require_unrestored(now=timezone.now())


@pytest.mark.postgres
def test_a_half_finished_restore_is_refused_with_what_to_do() -> None:
    """Something wrote a row before pg_restore added the table's key, so the key and everything after it failed."""
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite a table keeps its key")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE orders_carrieraccount DROP CONSTRAINT orders_carrieraccount_pkey CASCADE")
    with pytest.raises(CommandError, match=r"Nothing was changed.*Stop every process.*orders_carrieraccount\."):
        after_restore()
    assert not Restore.objects.exists()


def test_fencing_is_all_or_nothing(submitted: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    order = submitted()

    def full_disk(**when: Any) -> None:
        raise marks.NoMarkFile("RESTORE_MARK_FILE cannot be written: No space left on device.")

    monkeypatch.setattr(marks, "renew_mark", full_disk)
    with pytest.raises(CommandError, match=r"Nothing was changed\. RESTORE_MARK_FILE cannot be written"):
        after_restore()
    assert again(order).status == "booking"
    assert not Restore.objects.exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("yesterday", "isn't a time like"),
        ("2026-11-22T03:00", "has no time zone"),
        ("2126-11-22T03:00Z", "is in the future"),
    ],
)
def test_a_time_that_cannot_be_the_backups_changes_nothing(typed: str, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("after_restore", f"--backup-at={typed}")
    assert not Restore.objects.exists()


# -- What was booked after the backup -------------------------------------------------------------


def test_an_unknown_reference_is_polled_once_while_the_gap_is_open(carrier: SandboxCarrier, alice: User) -> None:
    """Its first scans came before the restore, so the webhook alone would not bring them."""
    after_restore()
    carrier.foreign("SUNKNOWN01")
    carrier.scan("SUNKNOWN01", "Pickup")
    heard("SUNKNOWN01")
    poll = Poll.objects.get(parcel__reference="SUNKNOWN01")
    work_on_everything()
    words = {event.event_type for event in poll.parcel.events.all()}
    assert words == {"Pickup", "In Transit"}
    assert again(poll).due_at is None


def test_without_a_restore_an_unknown_reference_is_not_polled(carrier: SandboxCarrier) -> None:
    heard("SUNKNOWN01")
    assert not Poll.objects.exists()


@pytest.mark.parametrize("known_by", ["an order", "a scan"])
def test_a_known_parcel_is_not_polled_for_a_gap(
    carrier: SandboxCarrier, quill: Sender, alice: User, known_by: str
) -> None:
    after_restore()
    order = factories.order(quill, alice, status="booked", carrier_reference="SKNOWN0001")
    is_ours = known_by == "an order"
    factories.parcel(
        order if is_ours else None, reference="SKNOWN0001", last_scan_at=None if is_ours else timezone.now()
    )
    heard("SKNOWN0001")
    assert not Poll.objects.filter(parcel__reference="SKNOWN0001").exists()


def heard(reference: str) -> None:
    """Receive a webhook from the depot."""
    body = wire(carrier_reference=reference, event_type="In Transit", scan_time=timezone.now().isoformat())
    assert push(body).status_code == 200


def test_an_account_added_while_a_gap_is_open_books_nothing_until_it_is_closed(db: None, settings: Any) -> None:
    now = timezone.now()
    Restore.objects.create(backup_at=now - dt.timedelta(hours=2), restored_at=now)
    settings.CARRIER_ACCOUNT = "came-since"
    assert gateway.current_account().pause_of(BOOKINGS, now) is not None
