"""The admin while a restore's gap is open: it is on every page, and actions that resolve it need a reason and a number."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from orders.booking import bookings
from orders.calling import gateway
from orders.models import CarrierAccount, Label, Order, Replacement, Restore
from orders.models.account import BOOKINGS
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.importing import booking as importing
from shipping_portal.importing import holding
from shipping_portal.importing.models import ImportRow
from shipping_portal.refused import Refused
from shipping_portal.staff import queues
from shipping_portal.staff.resolution import matches
from shipping_portal.staff.restores import fencing, restoring
from tests import factories, older
from tests.jobs.conftest import replaced
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import REASON
from tracking.models import Parcel

pytestmark = pytest.mark.usefixtures("as_the_owner")  # which moves the audit ids on

HOUR = dt.timedelta(hours=1)
BANNER = "Bookings are paused: only the carrier knows what was booked"


@pytest.fixture
def due_row(quill: Sender, alice: User) -> Callable[..., ImportRow]:
    """`due_row()` is a row of an import whose sender has just pressed Book."""

    def make(**fields: Any) -> ImportRow:
        now = timezone.now()
        file = factories.import_file(quill, alice, state="booking", begun_at=now, **fields)
        return factories.import_row(
            quill, alice, file=file, state="owed", due_at=now, quote=factories.quote(quill, alice), problems={},
            product_code="STANDARD-PICKUP", booked_by=alice,
        )  # fmt: skip

    return make


def fenced() -> Restore:
    now = timezone.now()
    fencing.fence_database(now - HOUR, now=now)
    return Restore.objects.latest("pk")


def act(name: str, of: Any) -> str:
    return reverse(f"admin:{of._meta.app_label}_{of._meta.model_name}_act", args=[of.pk, name])


def press(staff: Client, name: str, of: Any, **form: Any) -> Any:
    return staff.post(act(name, of), {"reason": REASON, **form})


def lift(staff: Client, restore: Restore) -> None:
    assert press(staff, "lift", restore).status_code == 302


def again(thing: Any) -> Any:
    thing.refresh_from_db()
    return thing


def test_every_admin_page_shows_the_gap_until_it_is_closed(staff: Client, quill: Sender) -> None:
    restore = fenced()
    pages = ["/admin/", reverse("admin:accounts_sender_change", args=[quill.pk])]
    pages += [reverse(f"admin:{m._meta.app_label}_{m._meta.model_name}_changelist") for m in admin.site._registry]
    for url in pages:
        text = staff.get(url).content.decode()
        assert BANNER in text, url
        assert date_format(restore.backup_at, "DATETIME_FORMAT") in text
    lift(staff, restore)
    assert BANNER not in staff.get("/admin/").content.decode()


def test_senders_see_no_banner(alice: User, visit: Any) -> None:
    fenced()
    assert BANNER not in visit(alice).get(reverse("parcels")).content.decode()


def test_the_banners_links_lead_to_scans_and_bills_since_the_backup(staff: Client, quill: Sender, alice: User) -> None:
    now = timezone.now()
    old = factories.parcel(reference="SBEFORE001", last_scan_at=now - 2 * HOUR)
    Parcel.objects.filter(pk=old.pk).update(created_at=now - 2 * HOUR)
    factories.charge(None, reference="SBEFORE001", posted_at=now - 2 * HOUR)
    order = factories.order(quill, alice, status="booking")
    fenced()
    factories.parcel(reference="SDURING001", last_scan_at=now)
    factories.charge(None, reference="SDURING001")
    gap = staff.get("/admin/").context["restore_gaps"][0]
    assert [str(one) for one in found(staff, gap.scans_url)] == ["SDURING001"]
    assert [line.reference for line in found(staff, gap.lines_url)] == ["SDURING001"]
    assert found(staff, gap.unclear_url) == [order]


def found(staff: Client, url: str) -> list[Any]:
    return list(staff.get(url).context["cl"].result_list)


def test_bookings_stay_paused_until_the_gap_is_closed_and_are_then_sent(
    staff: Client, submitted: Callable[..., Order], carrier: SandboxCarrier
) -> None:
    restore = fenced()
    for name, form in {"resume-bookings": {}, "change-bookings-pause": {"text": "-", "ends": "30"}}.items():
        page = press(staff, name, factories.account(), **form)
        assert "Bookings stay paused until the restore gap is closed" in page.content.decode()
    assert gateway.current_account().pause_of(BOOKINGS, timezone.now() + 999 * HOUR)
    lift(staff, restore)
    order = submitted()
    bookings.process_booking(order.pk)
    assert again(order).status == "booked"


def test_with_two_restores_both_gaps_must_be_closed(staff: Client) -> None:
    first, second = fenced(), factories.restore()
    lift(staff, first)
    assert gateway.current_account().paused_at
    lift(staff, second)
    assert not gateway.current_account().paused_at


def test_held_work_is_released_by_typing_its_number(
    staff: Client, due_row: Callable[..., ImportRow], quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    rows = [due_row(), due_row()]
    cancelled = factories.order(quill, alice, status="cancelled", due_at=None)
    replacement = replaced(cancelled, due_at=timezone.now())
    restore = fenced()
    page = press(staff, "release", restore, count=2)
    assert "3 parcels are held now, but you entered 2. Nothing was changed." in page.content.decode()
    assert Replacement.objects.answered().count() == 0
    assert press(staff, "release", restore, count=3).status_code == 302
    assert Audit.objects.get(action="held parcels released").reason == f"3: {REASON}"
    lift(staff, restore)
    for row in rows:
        importing.book_row(row.pk)
    assert [again(row).state for row in rows] == ["booked", "booked"]
    assert [one.pk for one in Replacement.objects.answered()] == [replacement]
    assert act("release", restore) not in page_of(staff, restore)


def page_of(staff: Client, thing: Any) -> str:
    url = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])
    return staff.get(url).content.decode()


def test_dropped_work_is_never_booked_and_its_sender_reads_why(
    staff: Client, due_row: Callable[..., ImportRow], quill: Sender, alice: User, visit: Any
) -> None:
    row = due_row()
    cancelled = factories.order(quill, alice, status="cancelled", due_at=None)
    replacement = replaced(cancelled, due_at=timezone.now())
    restore = fenced()
    assert press(staff, "leave-out", restore, count=2).status_code == 302
    lift(staff, restore)
    importing.book_row(row.pk)
    assert again(row).state == "skipped"
    assert "The carrier has this parcel already" in row.problems[""][0]
    assert Replacement.objects.get(pk=replacement).ended_at
    assert Order.objects.get() == cancelled


def test_rows_of_a_dropped_import_that_were_not_queued_stay_as_they_are(
    staff: Client, due_row: Callable[..., ImportRow], quill: Sender, alice: User
) -> None:
    row = due_row()
    order = factories.order(quill, alice, status="booked")
    booked = factories.import_row(quill, alice, file=row.file, state="booked", order=order)
    ready = factories.import_row(quill, alice, file=row.file, state="ready")
    assert press(staff, "leave-out", fenced(), count=1).status_code == 302
    assert [again(one).state for one in (row, booked, ready)] == ["skipped", "booked", "ready"]


@pytest.mark.parametrize("status", ["cancelled", "cancelling", "booked"])
def test_the_sender_of_a_dropped_replacement_reads_not_to_book_it_again(
    staff: Client, quill: Sender, alice: User, visit: Any, status: str
) -> None:
    order = factories.order(quill, alice, status=status, due_at=None)
    replaced(order, due_at=timezone.now())
    assert press(staff, "leave-out", fenced(), count=1).status_code == 302
    notice, parcel = Notification.objects.get(), reverse("parcel", args=[order.uuid])
    assert f"the parcel that replaces {order}: the carrier has it already. Don't book it again" in notice.line
    assert notice.path == parcel
    page = visit(alice)
    assert page.get(reverse("replacing", args=[order.uuid]))["Location"] == parcel
    words = " ".join(page.get(parcel).content.decode().split())
    assert "the carrier already has it.</strong> Don't book it again." in words
    assert "Book again" not in words


def test_a_parcel_replaced_again_since_does_not_mention_the_dropped_one(
    staff: Client, quill: Sender, alice: User, visit: Any
) -> None:
    order = factories.order(quill, alice, status="cancelled", due_at=None)
    replaced(order, due_at=timezone.now())
    press(staff, "leave-out", fenced(), count=1)
    replaced(order, due_at=timezone.now())
    words = visit(alice).get(reverse("parcel", args=[order.uuid])).content.decode()
    assert "See the new parcel being booked" in words
    assert "the carrier already has it" not in words


def test_one_import_is_dropped_and_the_others_are_released(
    staff: Client, due_row: Callable[..., ImportRow], carrier: SandboxCarrier
) -> None:
    known, unknown = due_row(), due_row()
    restore = fenced()
    assert "(1 rows, of 0\xa0minutes ago)" in page_of(staff, restore)
    assert press(staff, "leave-out", known.file).status_code == 302
    assert press(staff, "release", restore, count=1).status_code == 302
    lift(staff, restore)
    for row in (known, unknown):
        importing.book_row(row.pk)
    assert [again(known).state, again(unknown).state] == ["skipped", "booked"]


def test_a_held_import_is_not_released_automatically(
    staff: Client, sam: User, due_row: Callable[..., ImportRow]
) -> None:
    file = due_row().file
    fenced()
    assert act("let-go", file) not in page_of(staff, file)
    assert press(staff, "let-go", file).status_code == 409
    with pytest.raises(Refused):  # from a page that was opened before the restore
        holding.release_import(file, by=sam, reason=REASON, now=timezone.now())
    assert again(file).hold == holding.HELD


@pytest.mark.parametrize("hold", ["", "We look into your file first."])
def test_an_import_that_was_stopped_before_the_backup_stays_stopped(
    staff: Client, due_row: Callable[..., ImportRow], hold: str
) -> None:
    file = due_row(paused_at=timezone.now() - 2 * HOUR, hold=hold).file
    restore = fenced()
    press(staff, "release", restore, count=1)
    assert again(file).paused_at
    assert file.hold == hold


def test_closing_the_gap_shows_the_labels_that_were_not_checked(staff: Client, quill: Sender, alice: User) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked", carrier_order_id="id-1"))
    restore = fenced()
    assert again(label).state == "withheld"
    assert press_fetch(staff, label).status_code == 409
    lift(staff, restore)
    assert again(label).is_ready


def press_fetch(staff: Client, label: Label) -> Any:
    return press(staff, "fetch-again", label)


@pytest.mark.parametrize("name", ["release", "leave-out", "lift"])
def test_only_the_lead_resolves_a_restore(operator: Callable[[str], Client], name: str) -> None:
    restore = factories.restore()
    assert operator("Support").post(act(name, restore), {"reason": REASON}).status_code == 403


def test_before_resuming_an_operator_sees_how_many_bookings_wait_and_since_when(
    staff: Client, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booking", created_at=timezone.now() - 3 * HOUR)
    assert "1, oldest 3\xa0hours ago" in page_of(staff, CarrierAccount.objects.get())


def test_the_number_of_waiting_bookings_leaves_out_other_carrier_accounts(
    staff: Client, quill: Sender, alice: User, settings: Any
) -> None:
    factories.order(quill, alice, account=older.named(settings), status="booking")
    today = gateway.current_account()
    assert "the oldest of" not in page_of(staff, today)


# -- A booking of the backup as a case -------------------------------------------------------------


def test_references_booked_since_the_backup_are_offered_for_a_booking_in_it(
    staff: Client, quill: Sender, alice: User
) -> None:
    """There is no attempt, so it may have been sent at any time up to the restore."""
    now = timezone.now()
    order = factories.order(quill, alice, status="booking", created_at=now - 9 * 24 * HOUR)
    fenced()
    parcel = factories.parcel(reference="SDURING001", last_scan_at=now)
    factories.event(parcel, scan_time=now - HOUR, postcode=order.receiver_postcode)
    factories.charge(None, reference="SDURING002", day=now.date())
    offered = {found.reference for found in matches.find_candidates(again(order), [])}
    assert offered == {"SDURING001", "SDURING002"}
    page = staff.get(reverse("admin:orders_order_resolve", args=[order.pk])).content.decode()
    assert "SDURING001" in page
    assert "the backup is older than the answer" in page


def test_a_booking_from_the_backup_is_listed_as_unclear_for_long(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booking")
    fenced()
    assert Order.objects.get(queues.unconfirmed_long(timezone.now())) == order


def test_dropped_work_is_no_longer_held(
    staff: Client, due_row: Callable[..., ImportRow], quill: Sender, alice: User
) -> None:
    due_row()
    replaced(factories.order(quill, alice, status="cancelled", due_at=None), due_at=timezone.now())
    restore = fenced()
    assert restoring.count_held(restore) == 2
    assert press(staff, "leave-out", restore, count=2).status_code == 302
    assert restoring.count_held(restore) == 0


def test_work_held_by_one_restore_is_not_counted_or_released_with_another(
    staff: Client, due_row: Callable[..., ImportRow], quill: Sender, alice: User
) -> None:
    row = due_row()
    replaced(factories.order(quill, alice, status="cancelled", due_at=None), due_at=timezone.now())
    first, second = fenced(), factories.restore()
    assert (restoring.count_held(first), restoring.count_held(second)) == (2, 0)
    assert press(staff, "release", second, count=2).status_code != 302
    assert press(staff, "lift", second).status_code == 302
    assert (restoring.count_held(first), again(row).state) == (2, "owed")
