"""Offers of two carriers in one answer: each is booked at its own carrier, for its own price."""

from typing import Any

import pytest

from orders.calling import gateway
from orders.models import Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests import second as other
from tests.api.conftest import PARCEL, Program
from tests.api.test_parcels import problem
from tests.api.test_requests import queries

pytestmark = pytest.mark.django_db
CODE = factories.OFFER["code"]


@pytest.fixture
def quoted(quill: Sender, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Quote:
    """Prices with one service of the same code from each carrier; the second's is cheaper."""
    account = other.named(settings)
    quote = factories.quote(quill, alice)
    quote.products += [{**factories.OFFER, "account": account.pk, "amount": "9.0"}]
    quote.missing = [{"account": account.pk, "is_refused": True, "why": "Street: too long."}]
    quote.save()
    monkeypatch.setattr(asking, "ask_for_prices", lambda *args, **more: quote)
    return quote


def test_each_offer_names_its_carrier_and_is_booked_there(hers: Program, quoted: Quote) -> None:
    answer = hers.post("/quotes", PARCEL)
    assert answer.status_code == 201, answer.content
    found = {one["carrier"]: one for one in answer.json()["offers"]}
    assert {name: one["product"] for name, one in found.items()} == {other.FIRST: CODE, other.SECOND: other.key(CODE)}
    assert answer.json()["missing"] == [{"carrier": other.SECOND, "is_refused": True, "why": "Street: too long."}]
    chosen = {"quote": str(quoted.uuid), "product": found[other.SECOND]["product"]}
    booked = hers.post("/parcels", chosen, idempotency_key="one")
    assert booked.status_code == 202, booked.content
    order = Order.objects.get()
    assert (order.account, str(order.price)) == (other.account(), "9.00")
    assert hers.post("/parcels", chosen, idempotency_key="one").json() == booked.json()
    reused = hers.post("/parcels", chosen | {"product": CODE}, idempotency_key="one")
    assert problem(reused) == (422, "key-reused")
    parcel = hers.get(f"/parcels/{order.uuid}").json()
    assert (parcel["carrier"], parcel["product"]) == (other.SECOND, CODE)
    assert [one["carrier"] for one in hers.get("/parcels").json()["parcels"]] == [other.SECOND]


def test_a_booked_parcel_is_replaced_at_the_carrier_that_was_chosen(
    hers: Program, quoted: Quote, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    chosen = {"quote": str(quoted.uuid), "product": other.key(CODE)}
    answer = hers.post(f"/parcels/{order.uuid}/replace", chosen, idempotency_key="one")
    assert answer.status_code == 202, answer.content
    assert order.replacements.get().product_code == other.key(CODE)


def test_a_list_takes_as_many_queries_for_three_parcels_as_for_one(
    hers: Program, quoted: Quote, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booked")
    one = queries(hers, "/parcels")
    for _ in range(2):
        factories.order(quill, alice, status="booked")
    assert queries(hers, "/parcels") == one


def test_with_one_account_no_carrier_is_named(hers: Program, quill: Sender, alice: User) -> None:
    assert gateway.carrier_titles() == {}
    order = factories.order(quill, alice, status="booked")
    assert hers.get(f"/parcels/{order.uuid}").json()["carrier"] == ""
