"""The charges on a parcel's page, and “This looks wrong”: what is handed over, what is said after, and who may."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing import disputing
from shipping_portal.billing.models import Charge, Dispute
from tests import factories
from tests.pages.typed import text, title

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


@pytest.fixture
def charge(order: Order) -> Charge:
    return size_charge(order)


def size_charge(order: Order) -> Charge:
    made = factories.charge(order, "under-declared", "4.13", declared_kg="1", measured_kg="1.6")
    return Charge.objects.get(pk=made.pk)  # with its numbers as numbers


def own_page(page: Client, order: Order) -> str:
    return text(page.get(f"/parcels/{order.uuid}/"))


def test_a_parcel_shows_what_it_cost_from_quote_to_net(page: Client, order: Order) -> None:
    for kind, amount in (
        ("order", "12.08"), ("cover", "2.50"), ("un-cancellation", "5.00"), ("delay-refund", "-3.00"),
        ("credit", "-1.00"),
    ):  # fmt: skip
        factories.charge(order, kind, amount)
    size_charge(order)
    words = own_page(page, order)
    for said in (
        "Quoted", "Invoiced $14.58", "Adjusted $9.13", "Refunded −$3.00", "Credited by us −$1.00", "Net $19.71 AUD",
        "$4.13 added. You declared 1 kg; the carrier measured 1.6 kg.", "The price of the booking.",
    ):  # fmt: skip
        assert said in words
    assert words.count("This looks wrong") == 6


def test_the_sums_of_a_parcel_are_those_of_its_lines(page: Client, order: Order) -> None:
    for kind, amount in (("order", "12.08"), ("oversize", "100.00"), ("loss-refund", "-12.08")):
        factories.charge(order, kind, amount)
    charged = page.get(f"/parcels/{order.uuid}/").context["charged"]
    [balance] = charged.balances
    assert balance.net == sum(row["charge"].amount for row in charged.rows) == 100


def test_its_page_costs_the_same_however_many_lines_it_has(page: Client, order: Order) -> None:
    found = []
    for more in (1, 2, 40):
        for _ in range(more):
            size_charge(order)
        page.get(f"/parcels/{order.uuid}/")
        with CaptureQueriesContext(connection) as queries:
            page.get(f"/parcels/{order.uuid}/")
        found.append(len(queries))
    assert found[0] == found[1] == found[2] <= 14


def test_an_open_page_is_told_when_a_charge_or_an_answer_comes(
    page: Client, order: Order, sam: User, alice: User
) -> None:
    states = [page.get(f"/parcels/{order.uuid}/").context["state"]]
    charge = size_charge(order)
    states.append(page.get(f"/parcels/{order.uuid}/").context["state"])
    made = disputing.open_for(charge, by=alice, text="-", now=timezone.now())
    disputing.answer(made, accepted=False, text="-", by=sam, now=timezone.now())
    states.append(page.get(f"/parcels/{order.uuid}/").context["state"])
    assert len(set(states)) == 3


def test_the_question_shows_what_was_declared_measured_and_quoted(page: Client, charge: Charge) -> None:
    answer = page.get(f"/billing/charges/{charge.pk}/wrong/")
    for said in ("Declared 1 kg", "Measured 1.6 kg", "Quoted $12.08 AUD", "Amount $4.13 AUD"):
        assert said in text(answer)


def test_a_question_is_with_the_operator_until_it_is_answered(
    page: Client, order: Order, charge: Charge, alice: User, sam: User
) -> None:
    address = f"/billing/charges/{charge.pk}/wrong/"
    answer = page.post(address, {"text": "  We weighed it:\r\n1.0 kg. "})
    assert answer["Location"] == f"/parcels/{order.uuid}/#charges"
    made = Dispute.objects.get()
    assert (made.text, made.made_by, made.charge, made.sender) == (
        "We weighed it:\n1.0 kg.",
        alice,
        charge,
        order.sender,
    )
    assert made.facts["measured_kg"] == "1.6"
    for words in (own_page(page, order), text(page.get(address))):
        assert "With the operator since" in words
    assert own_page(page, order).count("This looks wrong") == 0
    disputing.answer(made, accepted=False, text="The photo shows 1.6 kg.", by=sam, now=timezone.now())
    assert "The operator answered on" in own_page(page, order)
    assert "The photo shows 1.6 kg." in own_page(page, order)
    assert "This looks wrong" in own_page(page, order)


def test_what_the_operator_agreed_to_is_not_asked_again(
    page: Client, order: Order, charge: Charge, alice: User, sam: User
) -> None:
    made = disputing.open_for(charge, by=alice, text="-", now=timezone.now())
    disputing.answer(made, accepted=True, text="You are right.", by=sam, now=timezone.now())
    assert "You are right." in own_page(page, order)
    assert page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "More"}).status_code == 409
    assert Dispute.objects.count() == 1


def test_a_second_press_asks_nothing_twice(page: Client, charge: Charge) -> None:
    for status in (302, 409):
        assert page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "Wrong"}).status_code == status
    assert Dispute.objects.count() == 1


def test_a_question_pressed_in_two_windows_at_once_is_one(
    page: Client, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faster(*_: Any, **__: Any) -> None:
        raise disputing.AlreadyOpen

    monkeypatch.setattr(disputing, "open_for", faster)
    answer = page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "Wrong"}, follow=True)
    assert "It is with the operator already." in text(answer)


def test_a_question_without_words_is_asked_for_them(page: Client, charge: Charge) -> None:
    answer = page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": " \x00 "})
    assert answer.status_code == 422
    assert title(answer).startswith("Error: This looks wrong")
    assert text(answer).count("Say what looks wrong.") == 2
    assert not Dispute.objects.exists()


def test_a_question_that_is_too_long_keeps_every_word(page: Client, charge: Charge) -> None:
    answer = page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "long " * 401 + "end"})
    assert answer.status_code == 422
    assert "2008 characters" in text(answer)
    assert "long end" in text(answer)


def test_a_suspended_sender_may_ask(page: Client, charge: Charge, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", at=timezone.now())
    page.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "Wrong"})
    assert Dispute.objects.count() == 1


def test_only_who_sees_the_money_of_this_account_may_ask(
    charge: Charge, bob: User, ana: User, vic: User, bea: User, visit: Visit
) -> None:
    for person in (bob, ana, vic):
        browser = visit(person)
        assert browser.get(f"/billing/charges/{charge.pk}/wrong/").status_code == 404
        assert browser.post(f"/billing/charges/{charge.pk}/wrong/", {"text": "Mine"}).status_code == 404
    assert not Dispute.objects.exists()
    answer = visit(bea).get(f"/billing/charges/{charge.pk}/wrong/")
    assert "N. Tamsin" in text(answer)
    assert "Noor" not in text(answer)


def test_a_line_that_is_not_posted_is_nobodys_to_ask_about(page: Client, order: Order) -> None:
    line = factories.charge(order, "oversize", "9.00", report=factories.billing_report(state="checked"))
    assert page.get(f"/billing/charges/{line.pk}/wrong/").status_code == 404


def test_a_line_without_a_parcel_leads_back_to_its_statement(page: Client, order: Order) -> None:
    line = factories.charge(None, "oversize", "9.00", sender=order.sender)
    answer = page.post(f"/billing/charges/{line.pk}/wrong/", {"text": "Not ours"})
    assert answer["Location"].startswith("/billing/2")
    assert "With the operator since" in text(page.get(answer["Location"]))
