"""A parcel that needed its sender leaves the lists of what to do once it is dismissed, until something changes."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.drafting import drafts
from orders.erasing import erase_receivers
from orders.list.system_views import VIEWS, SenderScope
from orders.models import Order
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.api.shown import one_parcel_facts
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
WORK = ("needs-attention", "drafts", "not-booked", "not-cancelled", "couldnt-collect", "delivery-problem",
        "used-after-cancelling")  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "refused": {"status": "rejected"},
    "dearer": {"status": "draft", "problem": {"kind": "price_rose"}},
    "not booked": {"status": "not_booked"},
    "not collected": {"status": "booked", "progress": "pickup_futile"},
    "lost": {"status": "booked", "progress": "lost"},
    "label expired": {"status": "booked", "progress": "expired"},
    "not cancelled": {"status": "booked", "cancel_refused_at": timezone.now()},
    "used": {"status": "cancelled", "used_after_cancel_at": timezone.now()},
}


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


def lists(order: Order) -> set[str]:
    """Return the work lists that name this order."""
    scope = SenderScope.of(order.made_by, order.sender, timezone.now())
    return {slug for slug in WORK if scope.orders.filter(VIEWS[slug].where(scope), pk=order.pk).exists()}


@pytest.mark.parametrize("case", CASES)
def test_a_dismissed_parcel_is_on_no_list_of_what_to_do(page: Client, quill: Sender, alice: User, case: str) -> None:
    order = factories.order(quill, alice, **CASES[case])
    assert "needs-attention" in lists(order)
    assert "1 thing needs you" in text(page.get("/today/"))
    answer = page.post(f"/parcels/{order.uuid}/dismiss/")
    assert answer["Location"] == f"/parcels/{order.uuid}/"
    assert lists(order) == set()
    assert "Nothing needs you right now" in text(page.get("/today/"))
    assert "1 parcel" in text(page.get("/parcels/"))


@pytest.mark.parametrize("status", ["unconfirmed", "conflict", "cancel_unconfirmed"])
def test_an_unclear_parcel_cannot_be_dismissed(page: Client, quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    page.post(f"/parcels/{order.uuid}/dismiss/")
    answer = page.post("/parcels/dismiss/", {"order": order.uuid}, follow=True)
    assert lists(order) == {"needs-attention"}
    assert "None of them can be dismissed" in text(answer)
    assert f"/parcels/{order.uuid}/dismiss/" not in page.get(f"/parcels/{order.uuid}/").content.decode()


def test_chosen_parcels_are_dismissed_together(page: Client, quill: Sender, alice: User) -> None:
    orders = [factories.order(quill, alice, **fields) for fields in CASES.values()]
    fine = factories.order(quill, alice, status="booked", progress="in_transit")
    chosen = [str(order.uuid) for order in (*orders, fine)]
    answer = page.post("/parcels/dismiss/", {"order": chosen, "query": "view=needs-attention"}, follow=True)
    assert f"Dismissed {len(CASES)} parcels." in text(answer)
    assert answer.redirect_chain == [("/parcels/?view=needs-attention", 302)]
    assert not Order.objects.filter(dismissed_at=None).exclude(pk=fine.pk).exists()
    fine.refresh_from_db()
    assert fine.dismissed_at is None


def test_a_dismissal_can_be_undone(page: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="rejected")
    before = lists(order)
    page.post(f"/parcels/{order.uuid}/dismiss/")
    assert "Dismissed on" in text(page.get(f"/parcels/{order.uuid}/"))
    page.post(f"/parcels/{order.uuid}/dismiss/", {"undo": "yes"})
    assert lists(order) == before
    assert "Dismissed on" not in text(page.get(f"/parcels/{order.uuid}/"))


def test_a_new_scan_brings_a_dismissed_parcel_back(quill: Sender, alice: User, page: Client) -> None:
    order = factories.order(quill, alice, status="booked", progress="lost", progress_at=timezone.now())
    page.post(f"/parcels/{order.uuid}/dismiss/")
    order.refresh_from_db()
    advance(order, order.progress, at=order.progress_at)  # nothing new
    assert lists(order) == set()
    advance(order, "damaged", at=timezone.now())
    assert lists(order) == {"needs-attention", "delivery-problem"}


def test_a_late_acceptance_brings_a_dismissed_parcel_back(quill: Sender, alice: User, page: Client) -> None:
    order = factories.order(quill, alice, status="rejected")
    page.post(f"/parcels/{order.uuid}/dismiss/")
    order.refresh_from_db()
    move_to(order, "conflict", reason="-", at=timezone.now())
    order.refresh_from_db()
    assert (order.dismissed_at, lists(order)) == (None, {"needs-attention"})


@pytest.mark.parametrize(("case", "is_dismissed"), [("refused", True), ("dearer", True), ("lost", False)])
def test_booking_a_copy_dismisses_the_parcel_that_was_not_booked(
    quill: Sender, alice: User, case: str, is_dismissed: bool
) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, **CASES[case])
    draft = drafts.begin(quill, alice, order.details(), now=now, origin=order)
    quote = factories.quote(quill, alice)
    drafts.submit(draft, quote, by=alice, now=now, product="STANDARD-PICKUP", form_token=uuid.uuid4(), pickup_date=None)
    order.refresh_from_db()
    assert (order.dismissed_at == now) == is_dismissed


def test_an_erased_parcel_needs_nobody(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="rejected")
    erase_receivers([order.pk])
    assert lists(order) == set()


@pytest.mark.parametrize("status", ["rejected", "draft", "not_booked"])
def test_nothing_is_offered_for_an_erased_parcel_that_was_not_booked(
    page: Client, quill: Sender, alice: User, status: str
) -> None:
    order = factories.order(quill, alice, status=status)
    erase_receivers([order.pk])
    shown = page.get(f"/parcels/{order.uuid}/booking/", follow=True)
    assert shown.redirect_chain == [(f"/parcels/{order.uuid}/", 302)]
    asked = page.get(f"/parcels/{order.uuid}/booking/?seen=booking.quick.False")
    assert asked["HX-Redirect"] == f"/parcels/{order.uuid}/"
    assert "Needs your yes" not in text(shown) + text(page.get("/parcels/"))
    body = shown.content.decode()
    for path in ("booking/", "confirm/", "dismiss/", "replace/"):
        assert f"/parcels/{order.uuid}/{path}" not in body
    assert f"?again={order.uuid}" not in body
    assert "It isn't booked and you weren't charged. Its receiver was erased, so it can't be booked now." in text(shown)
    order.refresh_from_db()
    assert one_parcel_facts(order, "owner", timezone.now())["price_to_confirm"] is None


def test_another_accounts_parcel_is_not_found(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="rejected")
    assert visit(bob).post(f"/parcels/{order.uuid}/dismiss/").status_code == 404
    visit(bob).post("/parcels/dismiss/", {"order": order.uuid})
    order.refresh_from_db()
    assert order.dismissed_at is None
