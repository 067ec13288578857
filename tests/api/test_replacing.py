"""A booked parcel is replaced through the API: cancelled first, then booked again, once for each key."""

import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels, replacing
from orders.models import Order, Quote, Replacement
from shipping_portal.accounts.models import Membership, Sender, User
from tests import factories
from tests.api.conftest import Program
from tests.api.test_parcels import problem
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
STREET = "44 Sample Street"


@pytest.fixture
def booked(carrier: SandboxCarrier, hers: Program) -> Order:
    order = Order.objects.get(uuid=hers.book(hers.quote(), "one").json()["id"])
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    return order


def replace(program: Program, order: Order, prices: dict[str, Any], key: str, **changes: Any) -> Any:
    chosen = {"quote": prices["id"], "product": prices["offers"][0]["product"]} | changes
    return program.post(f"/parcels/{order.uuid}/replace", chosen, idempotency_key=key)


def recorded(program: Program, order: Order) -> Any:
    return program.get(f"/parcels/{order.uuid}").json()["replacement"]


def test_a_parcel_is_cancelled_and_then_booked_as_corrected(
    carrier: SandboxCarrier, hers: Program, booked: Order
) -> None:
    assert recorded(hers, booked) is None
    answer = replace(hers, booked, hers.quote(receiver_line1=STREET), "fix")
    assert answer.status_code == 202
    assert answer.json()["id"] == str(booked.uuid)
    assert recorded(hers, booked) == {"is_waiting": True, "parcel": None, "problem": ""}
    assert problem(hers.get(f"/parcels/{booked.uuid}/label")) == (404, "not-found")
    assert Order.objects.count() == 1
    cancels.process_cancel(booked.pk)
    replacing.replace_due_parcel(Replacement.objects.get().pk)
    new = Order.objects.get(replaces=booked)
    assert recorded(hers, booked) == {"is_waiting": False, "parcel": str(new.uuid), "problem": ""}
    shown = hers.get(f"/parcels/{new.uuid}").json()
    assert (shown["replaces"], shown["receiver"]["line1"]) == (str(booked.uuid), STREET)
    assert len(carrier.ledger("cancelled")) == 1


def test_the_same_key_gets_the_same_response_or_422_for_different_content(hers: Program, booked: Order) -> None:
    prices = hers.quote(receiver_line1=STREET)
    first = replace(hers, booked, prices, "fix")
    other = hers.quote(receiver_line1="45 Sample Street")
    assert replace(hers, booked, prices, "fix").content == first.content
    for change in ({"product": "OTHER"}, {"quote": other["id"]}):
        answer = replace(hers, booked, prices, "fix", **change)
        assert problem(answer) == (422, "key-reused")
        assert answer.json()["parcel"] == str(booked.uuid)
    assert problem(replace(hers, booked, prices, "again")) == (409, "state")
    cancels.process_cancel(booked.pk)
    replacing.replace_due_parcel(Replacement.objects.get().pk)
    assert replace(hers, booked, prices, "fix").content == first.content
    assert (Replacement.objects.count(), Order.objects.count()) == (1, 2)


def test_a_key_whose_replacement_failed_does_not_try_again(
    hers: Program, booked: Order, quill: Sender, sam: User
) -> None:
    prices = hers.quote(receiver_line1=STREET)
    first = replace(hers, booked, prices, "fix")
    cancels.process_cancel(booked.pk)
    Sender.objects.filter(pk=quill.pk).update(suspended_at=timezone.now(), suspension="terms")
    replacing.replace_due_parcel(Replacement.objects.get().pk)
    ended = {"is_waiting": False, "parcel": None, "problem": "Booking is off for this account."}
    assert recorded(hers, booked) == ended
    Sender.objects.filter(pk=quill.pk).update(suspended_at=None, suspension="")
    assert replace(hers, booked, prices, "fix").content == first.content
    assert recorded(hers, booked) == ended


@pytest.mark.parametrize(
    ("changes", "at"), [({"product": "NO-SUCH"}, "product"), ({"pickup_date": "2020-01-01"}, "pickup_date")]
)
def test_a_wrong_choice_cancels_nothing(hers: Program, booked: Order, changes: dict[str, str], at: str) -> None:
    answer = replace(hers, booked, hers.quote(), "fix", **changes)
    assert problem(answer) == (422, "invalid")
    assert list(answer.json()["errors"]) == [at]
    booked.refresh_from_db()
    assert booked.status == "booked"


def test_an_old_price_cancels_nothing(hers: Program, booked: Order) -> None:
    prices = hers.quote(receiver_line1=STREET)
    Quote.objects.update(made_at=timezone.now() - dt.timedelta(days=1))
    answer = replace(hers, booked, prices, "fix")
    assert problem(answer) == (422, "invalid")
    assert list(answer.json()["errors"]) == ["quote"]
    assert not Replacement.objects.exists()


def test_a_suspended_account_replaces_nothing(hers: Program, booked: Order, quill: Sender, sam: User) -> None:
    prices = hers.quote(receiver_line1=STREET)
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=timezone.now())
    assert problem(replace(hers, booked, prices, "fix")) == (403, "suspended")


def test_a_parcel_the_driver_already_has_is_not_replaced(hers: Program, booked: Order) -> None:
    Order.objects.update(progress="collected")
    assert problem(replace(hers, booked, hers.quote(), "fix")) == (409, "state")
    assert not booked.cancels.exists()


def test_a_viewer_is_not_shown_why_nothing_was_booked(hers: Program, booked: Order, alice: User) -> None:
    replace(hers, booked, hers.quote(receiver_line1=STREET), "fix")
    token = Program(factories.api_token(alice).text)
    Membership.objects.filter(user=alice).update(role="viewer")
    assert recorded(token, booked) is None


def test_a_key_belongs_to_one_parcel(hers: Program, booked: Order) -> None:
    """So a program may use the same key to replace two parcels with the same mistake."""
    second = Order.objects.get(uuid=hers.book(hers.quote(customer_reference=str(uuid.uuid4())), "two", another=True).json()["id"])  # fmt: skip
    bookings.process_booking(second.pk)
    prices = hers.quote(receiver_line1=STREET)
    assert replace(hers, booked, prices, "street").status_code == 202
    assert replace(hers, second, prices, "street").status_code == 202
    assert Replacement.objects.count() == 2
