"""The admin's pages of one parcel and one sender, for people to read; the raw columns are collapsed below."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.models import CarrierCall, Order
from shipping_portal.accounts.adminkit import facts, permissions
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting
from shipping_portal.billing.models import Dispute
from shipping_portal.db import keyset
from shipping_portal.staff import casework
from tests import factories
from tests.pages.typed import text
from tests.staff import cases
from tests.staff.conftest import REASON

pytestmark = pytest.mark.django_db
FOLD = '<details class="raw">'


def url(thing: Any) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])


def above(page: Any) -> str:
    """Return what is above the collapsed columns, as text."""
    before, fold, _ = page.content.decode().partition(FOLD)
    assert fold
    page.content = before.encode()
    return text(page)


@pytest.fixture
def order(quill: Sender, alice: User, sam: User) -> Order:
    """An order that is booked, scanned and charged, with some of everything else."""
    made: Order = factories.order(quill, alice, status="booked", price="12.08")
    lengthen(made, sam)
    return made


def lengthen(order: Order, sam: User) -> None:
    """Add one of everything that an order's page lists."""
    now = timezone.now()
    parcel = getattr(order, "parcel", None) or factories.parcel(order)
    factories.event(parcel, description="Left at noor.tamsin@example.net's door")
    line = factories.charge(order, "under-declared", "4.13")
    Dispute.objects.create(charge=line, sender=order.sender, made_by=sam, made_at=now, text="Why?")
    order.changes.create(old="booking", new="booked", at=now, reason="booked", by=sam)
    order.cancels.create(by=sam, why="-", state="refused", asked_at=now, answer="Too late.")
    cases.attempt(order, state="rejected", error="HTTP 400: wrong postcode")
    CarrierCall.objects.create(
        at=now, operation="view", method="GET", path="/orders", status=200, milliseconds=9, outcome="ok", order=order
    )
    casework.add_note(order.sender, "Called twice.", by=sam, now=now, order=order)
    casework.queue_mail(order, to=order.made_by, about="missed", text="Friday.", by=sam, now=now)


def test_the_parcels_page_gives_its_state_and_the_next_step(staff: Client, order: Order) -> None:
    page = above(staff.get(url(order)))
    for said in ("The sender sees Booked", "Print the label", "Not in any queue", "$12.08 AUD", "Size or weight",
                 "$4.13 AUD", "Called twice.", "Friday.", "Too late.", "wrong postcode",
                 order.sender.number):  # fmt: skip
        assert said in page, said
    assert f'href="{url(order.sender)}"' in staff.get(url(order)).content.decode()


def test_an_unclear_parcel_names_its_queue_and_the_next_step(staff: Client, unclear: Callable[..., Order]) -> None:
    page = above(staff.get(url(unclear())))
    assert "may or may not be booked" in page
    assert "press Resolve" in page


def test_a_parcel_with_two_missed_pickups_says_so(staff: Client, order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Order, "missed_twice", lambda self, now: True)
    assert "Ask the carrier about the driver" in above(staff.get(url(order)))


def test_masked_values_stay_masked_and_raw_columns_are_collapsed(staff: Client, order: Order) -> None:
    page = staff.get(url(order))
    whole = page.content.decode()
    shown = above(page)
    for secret in (order.receiver_email, order.receiver_phone, order.receiver_line1, order.pickup["line1"]):
        assert secret not in whole, secret
    assert order.receiver_name in shown
    for column in ("Generation", "Uuid", "Tries", "{&#x27;", "{'"):
        assert column not in shown, column
    assert "noor.tamsin@" not in shown


def test_billing_sees_neither_attempts_nor_calls(operator: Callable[[str], Client], order: Order) -> None:
    page = above(operator(permissions.BILLING).get(url(order)))
    assert "$4.13 AUD" in page
    assert "Booking attempts" not in page
    assert "calls to the carrier" not in page


def test_a_senders_page_has_its_parcels_money_people_and_notes(
    staff: Client, order: Order, alice: User, sam: User
) -> None:
    sender = order.sender
    now = timezone.now()
    correcting.credit_sender(sender, 5, "AUD", by=sam, now=now, reason="A credit for the wait.")
    outbox.notify(outbox.Event(sender, "booking", "x", "It was booked once.", "/", now), now=now)
    shown = above(staff.get(url(sender)))
    for said in (str(order), "Booked", order.receiver_name, "A credit for the wait.", "Booked, not yet billed",
                 alice.email, "It was booked once.", "Called twice.", "Bookings are on."):  # fmt: skip
        assert said in shown, said
    page = staff.get(url(sender)).content.decode()
    assert f'href="{url(order)}"' in page
    assert f"{reverse('admin:orders_order_changelist')}?sender={sender.number}" in page
    assert url(Dispute.objects.get()) in page


def test_every_list_on_a_senders_page_is_only_that_senders(staff: Client, order: Order, bob: User) -> None:
    factories.order(bob.membership.sender, bob)
    page = staff.get(url(order.sender))
    for words, address in page.context["lists"]:
        found = staff.get(address)
        assert found.status_code == 200, words
    shown = staff.get(page.context["lists"][0][1]).context["cl"].result_list
    assert list(shown) == [order]


def test_a_suspended_senders_page_says_why(staff: Client, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="the bank said so", now=timezone.now())
    shown = above(staff.get(url(quill)))
    assert "Suspended since" in shown
    assert "Unpaid bill." in shown
    assert "the bank said so" in shown


@pytest.mark.parametrize("what", ["order", "sender"])
def test_a_page_takes_the_same_number_of_queries_however_long_its_history(
    what: str, staff: Client, order: Order, sam: User
) -> None:
    address = url(order if what == "order" else order.sender)
    staff.get(address)
    with CaptureQueriesContext(connection) as short:
        staff.get(address)
    for _ in range(3):
        lengthen(order, sam)
        lengthen(factories.order(order.sender, order.made_by, status="booked"), sam)
    with CaptureQueriesContext(connection) as long:
        staff.get(address)
    assert len(long) == len(short)


def test_only_the_first_thousand_rows_of_a_long_list_are_counted(
    staff: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (facts, keyset):
        monkeypatch.setattr(module, "MOST_COUNTED", 3)
    quiet = text(staff.get("/admin/orders/carriercall/"))
    assert "Search or filter" not in quiet
    for _ in range(4):
        CarrierCall.objects.create(
            at=timezone.now(), operation="quote", method="GET", path="/x", milliseconds=9, outcome="ok"
        )
    page = staff.get("/admin/orders/carriercall/")
    assert "3+ carrier calls. Search or filter to see the others." in text(page)


def test_an_unknown_object_is_not_found(staff: Client) -> None:
    for address in ("orders/order/999999999", "accounts/sender/999999999", "accounts/sender/abc"):
        assert staff.get(f"/admin/{address}/change/").status_code == 302
    for page in ("mail", "note", "assign"):
        assert staff.post(f"/admin/orders/order/999999999/{page}/", {"reason": REASON}).status_code == 404
    assert staff.post("/admin/accounts/sender/999999999/see_as/", {"reason": REASON}).status_code == 404
