"""Many unassigned lines are assigned to one sender at once, except those that may belong to an unclear booking."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.billing.charges import matching
from shipping_portal.billing.models import Charge
from tests import factories
from tests.staff import cases
from tests.staff.conftest import REASON

LIST, PAGE = "/admin/billing/charge/?owner=nobody", "/admin/billing/charge/assign/"


def ticks(page: Any) -> list[str]:
    """Return what the page's own checkboxes send."""
    return [f"{line.charge.pk}:{line.destination}" for line in page.context["lines"] if not line.left]


def preview(staff: Client, sender: Sender, *charges: Charge) -> Any:
    return staff.post(PAGE, {"line": [f"{charge.pk}:" for charge in charges], "sender": sender.number, "preview": "1"})


def assign(staff: Client, page: Any, sender: Sender, reason: str = REASON) -> Any:
    return staff.post(PAGE, {"line": ticks(page), "sender": sender.number, "reason": reason, "assign": "1"})


def line(page: Any, charge: Charge) -> Any:
    return next(line for line in page.context["lines"] if line.charge == charge)


def stray(reference: str = "SSTRAY001", amount: str = "12.08", **fields: Any) -> Charge:
    made: Charge = factories.charge(None, amount=amount, reference=reference, **fields)
    return made


@pytest.fixture
def wren(bob: User) -> Sender:
    """Bob's account."""
    return Sender.objects.get(memberships__user=bob)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", customer_reference="PO 117")


def test_lines_are_ticked_reviewed_and_assigned_with_an_audit_row_each(
    staff: Client, sam: User, quill: Sender, alice: User
) -> None:
    lines = [stray("SSTRAY001"), stray("SSTRAY002", "3.00"), stray("SSTRAY003", "9.00", currency="NZD")]
    listed = staff.post(LIST, {"action": "assign_lines", "_selected_action": [it.pk for it in lines]})
    assert [it.charge for it in listed.context["lines"]] == lines

    page = preview(staff, quill, *lines)
    assert {currency: str(amount) for currency, amount in page.context["sums"].items()} == {
        "AUD": "15.08", "NZD": "9.00",
    }  # fmt: skip
    assert not Charge.objects.for_user(alice).exists()

    assert assign(staff, page, quill).status_code == 302
    assert set(Charge.objects.for_user(alice)) == set(lines)
    rows = Audit.objects.filter(action="charge assigned")
    assert sorted((row.subject, row.actor, row.sender) for row in rows) == [
        (f"charge {it.pk}", sam, quill) for it in lines
    ]
    assert all(REASON in row.reason for row in rows)


def test_a_line_goes_to_the_parcel_with_its_customer_reference(
    staff: Client, order: Order, alice: User, wren: Sender, bob: User
) -> None:
    factories.order(wren, bob, status="booked", customer_reference="PO 118")
    today = timezone.now().date()
    own, anothers = stray(customer_reference="po 117", day=today), stray(customer_reference="PO 118", day=today)
    page = preview(staff, order.sender, own, anothers)
    assert (line(page, own).order, line(page, anothers).order) == (order, None)
    assign(staff, page, order.sender)
    own.refresh_from_db()
    assert own.order == order


def test_a_customer_reference_shared_by_two_parcels_matches_neither(staff: Client, order: Order, alice: User) -> None:
    factories.order(order.sender, alice, status="booked", customer_reference="PO 117")
    charge = stray(customer_reference="PO 117", day=timezone.now().date())
    assert line(preview(staff, order.sender, charge), charge).order is None


def test_a_line_with_the_reference_of_another_senders_parcel_is_skipped(
    staff: Client, order: Order, wren: Sender, bob: User
) -> None:
    factories.order(wren, bob, status="booked", carrier_reference="SWREN0001")
    charge, other = stray("SWREN0001"), stray()
    page = preview(staff, order.sender, charge, other)
    assert "another sender's" in line(page, charge).left
    assign(staff, page, order.sender)
    assert list(Charge.objects.unmatched()) == [charge]


def test_cover_in_the_same_price_is_assigned_too_and_is_in_the_total(staff: Client, quill: Sender) -> None:
    cost = stray(line=2)
    cover = stray(kind="cover", amount="2.00", report=cost.report, line=2, part=1)
    page = preview(staff, quill, cost, cover)
    assert [str(it.amount) for it in page.context["lines"]] == ["14.08"]
    assign(staff, page, quill)
    assert set(Charge.objects.filter(sender=quill)) == {cost, cover}
    assert Audit.objects.filter(action="charge assigned").count() == 1


@pytest.mark.postgres
@pytest.mark.parametrize("status", ["unconfirmed", "conflict"])
def test_a_line_that_may_belong_to_an_unclear_booking_is_skipped_with_a_link(
    staff: Client, quill: Sender, wren: Sender, bob: User, status: str
) -> None:
    """Even if it is ticked in a made-up form."""
    booking = cases.unclear(wren, bob, status=status)
    may_be = stray("SFOUND001", day=timezone.now().date())
    other = stray("SLONGAGO1", day=timezone.now().date() - dt.timedelta(days=30))
    page = preview(staff, quill, may_be, other)
    assert line(page, may_be).unclear == booking
    assert f'href="{reverse("admin:orders_order_change", args=[booking.pk])}"' in page.content.decode()

    forged = {"line": [f"{it.pk}:{quill.pk}-" for it in (may_be, other)], "sender": quill.number, "reason": REASON}
    rest = staff.post(PAGE, {**forged, "assign": "1"})
    assert [it.charge for it in rest.context["lines"]] == [may_be]
    assert list(Charge.objects.unmatched()) == [may_be]


@pytest.mark.parametrize(
    ("fields", "attempt", "may_be"),
    [
        ({"day": 0}, {}, True),
        ({"day": 0, "kind": "oversize"}, {}, True),
        ({"day": None}, {}, True),
        ({"day": 30}, {}, False),
        ({"day": 30, "customer_reference": "po 200"}, {}, True),
        ({"day": 30}, {"seen_reference": "sfound001"}, True),
        ({"day": 0, "reference": ""}, {}, False),
        ({"day": 0, "customer_reference": "PO 117"}, {}, False),
    ],
    ids=[
        "charged on its day", "an adjustment of that day", "of its week", "of another month", "by its own name",
        "by a reply's reference", "without a reference", "another parcel's by its customer reference",
    ],
)  # fmt: skip
def test_lines_match_an_unclear_booking_by_reference_or_else_by_day(
    staff: Client, order: Order, wren: Sender, bob: User, fields: Any, attempt: Any, may_be: bool
) -> None:
    booking = factories.order(wren, bob, status="unconfirmed", customer_reference="PO 200")
    cases.attempt(booking, **attempt)
    now = timezone.now()
    day = now.date() - dt.timedelta(days=fields["day"]) if fields["day"] is not None else None
    week = factories.billing_report(week=now.date() - dt.timedelta(days=now.weekday()), uploaded_at=now)
    charge = stray(**{"reference": "SFOUND001", **fields, "day": day, "report": week})
    assert bool(line(preview(staff, order.sender, charge), charge).unclear) is may_be


def test_a_charge_from_before_the_booking_does_not_match(staff: Client, quill: Sender, unclear: Any) -> None:
    unclear()
    report = factories.billing_report(uploaded_at=timezone.now() - dt.timedelta(hours=1))
    charge = stray(day=timezone.now().date(), report=report)
    assert line(preview(staff, quill, charge), charge).unclear is None


def test_an_unclear_booking_of_another_account_blocks_no_line(staff: Client, quill: Sender, unclear: Any) -> None:
    booking = unclear()
    other = gateway.current_account()
    other.pk, other.fingerprint = None, "another"
    other.save()
    today = timezone.now().date()
    there = stray(day=today, report=factories.billing_report(account=other), account=other)
    here = stray("SSTRAY002", day=today, report=factories.billing_report())
    page = preview(staff, quill, there, here)
    assert (line(page, there).unclear, line(page, here).unclear) == (None, booking)


def test_a_line_that_changed_meanwhile_is_named_and_skipped(staff: Client, quill: Sender, wren: Sender) -> None:
    taken, other = stray("SSTRAY001"), stray("SSTRAY002")
    page = preview(staff, quill, taken, other)
    matching.assign_charge(taken, sender=wren)
    rest = assign(staff, page, quill)
    assert line(rest, taken).left == "It has already been assigned, or its report isn't posted."
    assert Charge.objects.get(sender=quill) == other
    assert Charge.objects.get(sender=wren) == taken


def test_a_line_taken_at_the_same_moment_is_named_too(
    staff: Client, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, other = stray("SSTRAY001"), stray("SSTRAY002")
    page = preview(staff, quill, taken, other)
    attach = matching._attach_charge
    monkeypatch.setattr(matching, "_attach_charge", lambda charge, *to: charge != taken and attach(charge, *to))
    rest = assign(staff, page, quill)
    assert line(rest, taken).left == "This charge has already been assigned."
    assert list(Charge.objects.unmatched()) == [taken]
    assert Audit.objects.filter(action="charge assigned").count() == 1


def test_nothing_is_assigned_that_the_page_did_not_show(
    staff: Client, quill: Sender, wren: Sender, order: Order, alice: User
) -> None:
    charge = stray(customer_reference="PO 300", day=timezone.now().date())
    page = preview(staff, quill, charge)
    changed = assign(staff, page, wren)
    assert line(changed, charge).destination == f"{wren.pk}-"
    factories.order(quill, alice, status="booked", customer_reference="PO 300")
    assert assign(staff, page, quill).status_code == 200
    assert Charge.objects.unmatched().get() == charge


def test_the_page_keeps_what_was_typed_and_needs_a_reason_only_to_assign(staff: Client, quill: Sender) -> None:
    charge = stray()
    wrong = staff.post(PAGE, {"line": f"{charge.pk}:", "sender": "A-9999", "reason": "As told by", "preview": "1"})
    assert wrong.context["form"].errors == {"sender": ["No sender has this number."]}
    assert "As told by" in wrong.content.decode()
    assert wrong.context["form"]["sender"].value() == "A-9999"
    unsaid = assign(staff, preview(staff, quill, charge), quill, reason="")
    assert list(unsaid.context["form"].errors) == ["reason"]
    assert Charge.objects.unmatched().exists()


def test_unticked_lines_stay_unassigned(staff: Client, quill: Sender) -> None:
    ticked, other = stray("SSTRAY001"), stray("SSTRAY002")
    page = preview(staff, quill, ticked, other)
    staff.post(PAGE, {"line": ticks(page)[:1], "sender": quill.number, "reason": REASON, "assign": "1"})
    assert Charge.objects.get(sender=quill) == ticked


def test_ticking_no_line_or_more_than_a_hundred_is_refused(
    staff: Client, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"sender": quill.number, "reason": REASON, "assign": "1"}
    many = staff.post(PAGE, {"line": [f"{pk}:" for pk in range(1, 102)], **form}, follow=True)
    assert "You can assign up to 100 lines at once." in many.content.decode()
    assert "No lines selected." in staff.post(PAGE, {"line": ["x:", "-1:"], **form}, follow=True).content.decode()
    monkeypatch.setattr("shipping_portal.staff.assigning.MOST", 1)
    lines = [stray("SSTRAY001"), stray("SSTRAY002")]
    sent = {"action": "assign_lines", "_selected_action": [it.pk for it in lines]}
    assert "up to 100 lines" in staff.post(LIST, sent, follow=True).content.decode()
    assert not Charge.objects.exclude(sender=None).exists()


def test_a_line_whose_report_is_not_posted_is_skipped(staff: Client, quill: Sender) -> None:
    charge = stray(posted_at=None)
    assert line(preview(staff, quill, charge), charge).left


def test_checkboxes_are_only_in_the_unassigned_list_for_those_who_may_assign(
    staff: Client, operator: Callable[[str], Client], db: None
) -> None:
    stray()
    assert 'name="_selected_action"' in staff.get(LIST).content.decode()
    assert 'name="_selected_action"' not in staff.get("/admin/billing/charge/").content.decode()
    assert 'name="_selected_action"' not in operator("Support").get(LIST).content.decode()
    assert staff.get(PAGE).status_code == 405


@pytest.mark.postgres
def test_the_page_needs_no_more_queries_for_thirty_lines_than_for_two(
    staff: Client, quill: Sender, alice: User, unclear: Any
) -> None:
    counts = []
    for upto in (2, 30):
        for number in range(Charge.objects.count(), upto):
            unclear()
            factories.order(quill, alice, status="booked", customer_reference=f"PO {number}")
            stray(f"SSTRAY{number:03d}", customer_reference=f"PO {number}", day=timezone.now().date())
        with CaptureQueriesContext(connection) as asked:
            preview(staff, quill, *Charge.objects.all())
        counts.append(len(asked))
    assert counts[1] <= counts[0]
