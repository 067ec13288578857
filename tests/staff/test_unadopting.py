"""A wrong adoption is undone with everything it added. Once somebody has its label, it becomes a conflict instead."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.labels import fetching
from orders.models import BucketFile, LabelBytes, Order
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.billing.charges import matching
from shipping_portal.billing.models import Charge, Dispute
from shipping_portal.billing.reports import posting
from shipping_portal.carrier.messages import LabelFile, Tracked
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import deciding, undoing
from tests import factories
from tests.billing.conftest import line, summed, take  # noqa: F401  (a fixture)
from tests.sandbox_carrier import SandboxCarrier
from tests.staff import cases
from tests.staff.conftest import REASON
from tracking import polling
from tracking.models import Parcel, Poll
from tracking.scanning import projecting

pytestmark = pytest.mark.django_db

Unclear = Callable[..., Order]
ACTS = ("undo-adoption", "contest-adoption")


def offered(staff: Client, order: Order) -> list[str]:
    """Return which of the two actions has a button on the order's page."""
    page = staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    return [act for act in ACTS if reverse("admin:orders_order_act", args=[order.pk, act]) in page]


def press(staff: Client, order: Order, act: str) -> Any:
    url = reverse("admin:orders_order_act", args=[order.pk, act])
    return staff.post(url, {"reason": REASON})


def adopt(order: Order, reference: str, by: User) -> Order:
    """Undo an adoption as an operator does, and do the work that is then due."""
    deciding.adopt_reference(order, reference, by=by, reason=REASON, now=timezone.now())
    polling.open_parcel(order.pk)
    return Order.objects.get(pk=order.pk)


@pytest.fixture
def adopted(
    unclear: Unclear, carrier: SandboxCarrier, contract: Callable[[str], None], sam: User
) -> Callable[..., Order]:
    """`adopted()` is an order an operator booked with a reference that couldn't be compared."""
    contract('view = ""')

    def make(reference: str = "SWRONG0001", **choices: Any) -> Order:
        carrier.foreign(reference)
        return adopt(unclear(**choices), reference, sam)

    return make


def test_two_orders_with_each_others_reference_are_both_corrected(
    submitted: Callable[..., Order], carrier: SandboxCarrier, contract: Callable[[str], None], staff: Client, sam: User
) -> None:
    """A past bug: order 40's reference was adopted for order 41, with the same suburbs, and both stayed wrong."""
    contract('view = ""')
    carrier.trouble("book", "commit-close", count=2)
    forty, forty_one = submitted(), submitted()
    for order in (forty, forty_one):
        bookings.process_booking(order.pk)
        order.refresh_from_db()
    theirs, own = (line["reference"] for line in carrier.ledger("booked"))
    scans_of = factories.parcel(reference=theirs, last_scan_at=timezone.now())
    factories.event(scans_of, event_type="Delivered")

    forty_one = adopt(forty_one, theirs, sam)
    assert (forty_one.status, forty_one.progress) == ("booked", "delivered")
    with pytest.raises(Refused, match=f"order {forty_one.pk}.* undo that adoption"):
        adopt(forty, theirs, sam)
    assert press(staff, forty_one, "undo-adoption").status_code == 302
    forty_one.refresh_from_db()
    assert (forty_one.status, forty_one.progress) == ("unconfirmed", "")

    forty = adopt(forty, theirs, sam)
    forty_one = adopt(forty_one, own, sam)
    assert (forty.status, forty.carrier_reference, forty.progress) == ("booked", theirs, "delivered")
    assert (forty_one.status, forty_one.carrier_reference, forty_one.progress) == ("booked", own, "")
    assert {parcel.reference: parcel.order for parcel in Parcel.objects.all()} == {theirs: forty, own: forty_one}
    assert [order.attempts.get().state for order in (forty, forty_one)] == ["accepted", "accepted"]


def test_undoing_removes_everything_the_adoption_added(adopted: Callable[..., Order], staff: Client, sam: User) -> None:
    order = adopted(seen_reference="", duplicate_booking_at=None)
    Order.objects.filter(pk=order.pk).update(
        carrier_pickup_date=timezone.now().date(), progress="delivered", carrier_order_id="id-9"
    )
    order.labels.all().delete()
    factories.stored_label(order)
    LabelBytes.objects.update(address="labels/of-the-wrong-parcel")
    assert press(staff, order, "undo-adoption").status_code == 302
    assert BucketFile.objects.get(key="labels/of-the-wrong-parcel").due_at  # and then deleted
    order.refresh_from_db()
    assert (order.status, order.carrier_reference, order.carrier_order_id) == ("unconfirmed", None, "")
    assert (order.booked_at, order.carrier_pickup_date, order.progress, order.due_at) == (None, None, "", None)
    assert "swrong0001" not in order.search
    assert not LabelBytes.objects.exists()
    assert not order.labels.exists()
    attempt = order.attempts.get()
    assert (attempt.state, attempt.seen_reference) == ("unknown", "")
    parcel = Parcel.objects.get()
    assert (parcel.order, Poll.objects.get(parcel=parcel).due_at) == (None, None)
    row = Audit.objects.latest("pk")
    assert (row.action, row.actor) == ("adoption undone", sam)
    assert row.reason == f"SWRONG0001, order id id-9: {REASON}"
    assert order.changes.latest("pk").reason == f"adoption undone {row.reason}"
    assert offered(staff, order) == []


def test_the_scans_stay_with_the_reference_and_are_matched_again(
    adopted: Callable[..., Order], staff: Client, quill: Sender, alice: User
) -> None:
    order = adopted()
    parcel = Parcel.objects.get()
    long_ago = timezone.now() - dt.timedelta(days=40)
    old = factories.event(parcel, event_type="Pickup", scan_time=long_ago)
    other = factories.event(parcel, event_type="Delivered", set_aside="another reason")
    projecting.project_parcels(parcel.pk)
    old.refresh_from_db()
    assert old.set_aside == "scan time is long before the booking"
    watching = factories.watch(quill, alice, reference="SELSE00001")
    type(watching).objects.update(parcel=parcel)
    press(staff, order, "undo-adoption")
    parcel.refresh_from_db()
    old.refresh_from_db()
    assert (parcel.order, parcel.progress, old.set_aside) == (None, "collected", "")
    assert parcel.events.exclude(set_aside="").get() == other  # unrelated to any order
    assert Poll.objects.get(parcel=parcel).due_at  # somebody watches it
    order.refresh_from_db()
    assert order.progress == ""


def test_the_sender_is_emailed_and_pending_news_of_the_wrong_parcel_is_dropped(
    adopted: Callable[..., Order], staff: Client, alice: User
) -> None:
    order = adopted()
    advance(order, "lost", at=timezone.now())
    found = Notification.objects.filter(user=alice, due_at__isnull=False)
    assert {"Good news" in notice.line for notice in found} == {True, False}
    press(staff, order, "undo-adoption")
    [notice] = found.all()
    assert "We said too early" in notice.line
    assert "Don't book it again" in notice.line


# -- Once a label was served ------------------------------------------------------------------


@pytest.mark.parametrize("how", ["opened", "marked as printed"])
def test_once_somebody_has_a_label_it_is_a_conflict(
    adopted: Callable[..., Order], staff: Client, visit: Callable[[User], Client], alice: User, how: str
) -> None:
    order = adopted()
    order.labels.all().delete()
    label = factories.stored_label(order)
    assert offered(staff, order) == ["undo-adoption"]
    if how == "opened":
        visit(alice).get(reverse("label", args=[order.uuid, "full"]))
    else:
        visit(alice).post(reverse("printed", args=[order.uuid]), {"printed": "yes"})
    assert offered(staff, order) == ["contest-adoption"]
    assert press(staff, order, "undo-adoption").status_code == 409
    order = Order.objects.get(pk=order.pk)
    with pytest.raises(Refused, match=r"label.* at .*press “Contest the adoption”"):
        undoing.undo_adoption(order, by=alice, reason=REASON, now=timezone.now())
    assert press(staff, order, "contest-adoption").status_code == 302
    order.refresh_from_db()
    assert (order.status, order.carrier_reference, order.printed_at) == ("conflict", None, None)
    assert visit(alice).get(reverse("label", args=[order.uuid, "full"])).status_code == 404
    assert "may be another parcel's. Don't use it" in Notification.objects.get(dedupe_key__startswith="change:").line
    assert (label.sha256 in Audit.objects.latest("pk").reason) == (how == "opened")
    assert (
        reverse("admin:orders_order_resolve", args=[order.pk])
        in staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    )


def test_an_order_adopted_again_gets_the_right_label(
    adopted: Callable[..., Order], carrier: SandboxCarrier, staff: Client, sam: User
) -> None:
    order = adopted()
    order.labels.all().delete()
    factories.stored_label(order)
    press(staff, order, "undo-adoption")
    carrier.foreign("SRIGHT0001")
    order = adopt(Order.objects.get(pk=order.pk), "SRIGHT0001", sam)
    assert {label.state for label in order.labels.all()} == {"pending"}


def test_a_label_that_is_being_fetched_while_it_is_undone_is_not_kept(
    adopted: Callable[..., Order], staff: Client
) -> None:
    order = adopted()
    label = order.labels.get(size="full")
    press(staff, order, "undo-adoption")
    fetching.store(label, LabelFile(b"%PDF", "0" * 64), at=timezone.now())
    assert not LabelBytes.objects.exists()


# -- Which orders ----------------------------------------------------------------------------------


def test_an_order_the_carrier_confirmed_is_not_undone(booked: Callable[..., Order], staff: Client, sam: User) -> None:
    order = booked()
    assert offered(staff, order) == []
    with pytest.raises(Refused, match="Reload its page"):
        undoing.undo_adoption(order, by=sam, reason=REASON, now=timezone.now())
    order.refresh_from_db()
    assert order.status == "booked"


def test_an_unclear_booking_that_a_replay_resolved_is_not_undone(unclear: Unclear, staff: Client) -> None:
    order = unclear()
    move_to(
        order, "booked", reason="the carrier booked it", at=timezone.now(), carrier_reference="SREPLAY001",
        booked_at=timezone.now(),
    )  # fmt: skip
    assert offered(staff, order) == []


def test_an_adoption_that_was_not_cancelled_after_all_can_still_be_undone(
    adopted: Callable[..., Order], staff: Client
) -> None:
    order = adopted()
    for old, new in (("booked", "cancelling"), ("cancelling", "booked")):
        order.changes.create(old=old, new=new, at=timezone.now(), reason="not cancelled")
    assert offered(staff, order) == ["undo-adoption"]


def test_a_slow_operator_does_not_undo_a_later_adoption(
    adopted: Callable[..., Order], carrier: SandboxCarrier, sam: User
) -> None:
    seen = adopted()
    undoing.undo_adoption(Order.objects.get(pk=seen.pk), by=sam, reason=REASON, now=timezone.now())
    carrier.foreign("SRIGHT0001")
    adopt(Order.objects.get(pk=seen.pk), "SRIGHT0001", sam)
    with pytest.raises(Refused, match="Reload its page"):
        undoing.undo_adoption(seen, by=sam, reason=REASON, now=timezone.now())
    assert Order.objects.get(pk=seen.pk).carrier_reference == "SRIGHT0001"


# -- What was charged for it -----------------------------------------------------------------------


def test_its_charges_become_unassigned_and_follow_the_reference(
    adopted: Callable[..., Order], unclear: Unclear, staff: Client, sam: User
) -> None:
    right, order = unclear(), adopted()
    line = factories.charge(order, is_unexpected=True)
    by_hand = factories.charge(order, reference="SELSE00001")
    press(staff, order, "undo-adoption")
    line.refresh_from_db()
    by_hand.refresh_from_db()
    assert (line.order, line.sender, line.is_unexpected, by_hand.order) == (None, None, False, order)
    right = adopt(right, "SWRONG0001", sam)
    assert Charge.objects.get(pk=line.pk).order == right
    assert matching.match_late() == 0


def test_charges_that_a_person_has_acted_on_stay_and_make_it_a_conflict(
    adopted: Callable[..., Order], staff: Client, alice: User
) -> None:
    order = adopted()
    line = factories.charge(order)
    Dispute.objects.create(
        charge=line, sender=order.sender, made_by=alice, made_at=timezone.now(), text="It wasn't mine."
    )
    assert offered(staff, order) == ["contest-adoption"]
    press(staff, order, "contest-adoption")
    line.refresh_from_db()
    assert line.order == order


def test_after_undoing_the_order_counts_at_its_own_price_and_as_unbilled(
    submitted: Callable[..., Order], carrier: SandboxCarrier, contract: Callable[[str], None], sam: User,
    quill: Sender, take: Callable[..., Any],  # noqa: F811  (the fixture)
) -> None:  # fmt: skip
    """The bill for the adopted reference belongs to another parcel."""
    contract('view = ""')
    carrier.trouble("book", "commit-close")
    order = submitted()
    bookings.process_booking(order.pk)
    quill.refresh_from_db()
    before = (quill.spent_today, quill.unbilled)
    carrier.foreign("SWRONG0001")
    posting.post_report(take(summed(line("SWRONG0001", "99.00"))), by=None, now=timezone.now())
    order.refresh_from_db()
    deciding.adopt_reference(order, "SWRONG0001", by=sam, reason=REASON, now=timezone.now())
    assert matching.match_late() in {0, 1}
    undoing.undo_adoption(Order.objects.get(pk=order.pk), by=sam, reason=REASON, now=timezone.now())
    quill.refresh_from_db()
    order.refresh_from_db()
    assert (quill.spent_today, quill.unbilled) == before
    assert (order.reserved, order.unbilled) == (order.price, order.price)


def test_after_undoing_the_order_has_none_of_the_other_parcels_data(
    adopted: Callable[..., Order], sam: User, alice: User, visit: Callable[[User], Client]
) -> None:
    order = adopted()
    said = {"kind": "cancel_refused", "text": "It can't."}
    Order.objects.filter(pk=order.pk).update(cancel_refused_at=timezone.now(), is_cancellable=False, problem=said)
    order.refresh_from_db()
    undoing.undo_adoption(order, by=sam, reason=REASON, now=timezone.now())
    assert "its label is good" not in visit(alice).get(reverse("parcel", args=[order.uuid])).content.decode()
    order.refresh_from_db()
    assert (order.is_cancellable, order.problem) == (None, {})


def test_a_reply_about_the_other_parcel_that_comes_after_undoing_changes_nothing(
    adopted: Callable[..., Order], sam: User
) -> None:
    """Its day would be a missed pickup, and either would forbid cancelling the right parcel."""
    order = adopted()
    asked = Parcel.objects.select_related("order").get(order=order)
    undoing.undo_adoption(order, by=sam, reason=REASON, now=timezone.now())
    said = Tracked(state="", scans=(), unreadable=(), pickup_date=dt.date(2026, 1, 5), is_cancellable=False, body=b"")
    polling.take_scans(asked, said, now=timezone.now())
    order.refresh_from_db()
    assert (order.carrier_pickup_date, order.is_cancellable) == (None, None)


def test_after_a_restore_an_orders_label_may_have_been_served(adopted: Callable[..., Order]) -> None:
    order = adopted()
    order.labels.all().delete()
    factories.stored_label(order)
    assert undoing.undo_obstacle(order) == ""
    factories.restore(restored_at=timezone.now())
    assert "opened after the restored backup" in undoing.undo_obstacle(order)


def test_after_undoing_only_the_attempt_marked_accepted_is_unknown_again(
    adopted: Callable[..., Order], sam: User
) -> None:
    order = adopted(state="accepted", duplicate_booking_at=timezone.now())
    cases.attempt(order, generation=2, state="rejected")
    undoing.undo_adoption(order, by=sam, reason=REASON, now=timezone.now())
    assert list(order.attempts.order_by("pk").values_list("state", flat=True)) == ["unknown", "rejected"]
    assert not order.attempts.exclude(duplicate_booking_at=None).exists()
