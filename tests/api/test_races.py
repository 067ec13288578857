"""Identical calls at the same moment, on PostgreSQL."""

import pytest
from django.conf import settings
from django.db.models import F

from orders.calling import gateway
from orders.models import Draft, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.api.conftest import PARCEL, Program
from tests.racing import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]


@pytest.mark.parametrize("with_draft", [True, False])
def test_fifty_identical_posts_make_one_order_and_get_the_same_response(
    quill: Sender, alice: User, with_draft: bool
) -> None:
    gateway.current_account()
    quote, program = factories.quote(quill, alice), Program(factories.api_token(alice).text)
    if with_draft:
        factories.draft(quill, alice, quote)
    chosen = {"quote": str(quote.uuid), "product": "STANDARD-PICKUP"}
    answers = at_once(*[lambda: program.post("/parcels", chosen, idempotency_key="order-7")] * 50)
    assert {answer.status_code for answer in answers} == {202}
    assert {answer.json()["id"] for answer in answers} == {str(Order.objects.get().uuid)}
    assert len({answer.content for answer in answers}) == 1
    quill.refresh_from_db()
    assert quill.booked_today == 1
    assert not Draft.objects.exclude(order=F("order")).exists()


def test_ten_identical_addresses_make_one_and_break_no_constraint(quill: Sender, alice: User) -> None:
    """PostgreSQL's log would quote the whole receiver (docs/database.md)."""
    factories.localities()
    program = Program(factories.api_token(alice).text)
    address = {name: value for name, value in PARCEL.items() if name.startswith("receiver_")}
    found = at_once(*[lambda: program.post("/addresses", address)] * 10)
    assert sorted(answer.status_code for answer in found) == [201] + [422] * 9
    assert quill.receivers.count() == 1


def test_two_different_bodies_under_one_key_make_one_order(quill: Sender, alice: User) -> None:
    gateway.current_account()
    program = Program(factories.api_token(alice).text)
    quotes = [
        factories.quote(quill, alice),
        factories.quote(quill, alice, parcel=factories.details(quill, cover=None, description="Cups")),
    ]
    calls = [
        lambda quote=quote: program.post(
            "/parcels", {"quote": str(quote.uuid), "product": "STANDARD-PICKUP", "another": True}, idempotency_key="7"
        )
        for quote in quotes * 10
    ]
    found = sorted(answer.status_code for answer in at_once(*calls))
    assert set(found) == {202, 422}
    assert found.count(202) == 10
    assert Order.objects.count() == 1


def test_fifty_identical_replacements_make_one_and_get_the_same_response(quill: Sender, alice: User) -> None:
    order, quote = factories.order(quill, alice, status="booked", carrier_order_id="1"), factories.quote(quill, alice)
    program = Program(factories.api_token(alice).text)
    chosen = {"quote": str(quote.uuid), "product": "STANDARD-PICKUP"}
    url = f"/parcels/{order.uuid}/replace"
    answers = at_once(*[lambda: program.post(url, chosen, idempotency_key="fix")] * 50)
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert (order.replacements.count(), order.cancels.count()) == (1, 1)
