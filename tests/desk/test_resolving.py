"""An unclear booking is settled on one page, once, with a reason, from what is known about it."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders import resolving
from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.desk.conftest import REASON
from tests.sandbox_carrier import SandboxCarrier

Unclear = Callable[..., Order]


def _url(order: Order) -> str:
    return reverse("admin:orders_order_resolve", args=[order.pk])


def _decision(name: str, reason: str = REASON, **fields: str) -> dict[str, str]:
    return {
        "decision": name,
        **{f"{name}-{field}": text for field, text in {"reason": reason, **fields}.items()},
    }


@pytest.fixture
def known(carrier: SandboxCarrier) -> str:
    """A reference that answers on the carrier's tracking."""
    carrier.foreign("SFOUND12345")
    return "SFOUND12345"


def test_the_page_tells_the_story_and_offers_three_decisions(desk: Client, unclear: Unclear) -> None:
    order = unclear()
    order.changes.create(old="booking", new="unconfirmed", at=timezone.now(), reason="reset by peer")
    text = desk.get(_url(order)).content.decode()
    for words in (
        "reset by peer",
        str(order.attempts.get().key),
        "Adopt reference",
        "Settle as not booked",
        "Keep waiting",
    ):
        assert words in text, words
    assert "Noor Tamsin" not in text


def test_unknown_references_are_proposed_same_postcode_first(desk: Client, unclear: Unclear) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(hours=1))
    for reference, postcode in (("SELSE00001", "2000"), ("SNEAR00001", "3065"), ("SOLDER0001", "3065")):
        parcel = factories.parcel(reference=reference, last_scan_at=timezone.now())
        when = timezone.now() - dt.timedelta(days=9 if reference == "SOLDER0001" else 0)
        factories.event(parcel, postcode=postcode, scan_time=when)
    factories.event(factories.parcel(factories.order(order.sender, order.made_by, status="booked")))
    candidates = desk.get(_url(order)).context["evidence"].candidates
    assert [candidate.reference for candidate in candidates] == ["SNEAR00001", "SELSE00001"]
    assert [candidate.same_postcode for candidate in candidates] == [True, False]


def test_a_proposed_reference_is_picked_with_one_click(desk: Client, unclear: Unclear) -> None:
    order = unclear(seen_reference="STOLD00001")
    link = "?reference=STOLD00001"
    assert link in desk.get(_url(order)).content.decode()
    assert desk.get(_url(order) + link).context["forms"]["adopt"]["reference"].value() == "STOLD00001"


def test_a_reference_that_a_doubtful_answer_named_is_proposed_first(desk: Client, unclear: Unclear) -> None:
    order = unclear(status="conflict", seen_reference="STOLD00001")
    assert desk.get(_url(order)).context["evidence"].candidates[0].reference == "STOLD00001"


def test_a_reference_that_answers_on_tracking_is_adopted(
    desk: Client, unclear: Unclear, known: str, sam: User
) -> None:
    order = unclear()
    answer = desk.post(_url(order), _decision("adopt", reference=known))
    assert answer["Location"] == reverse("admin:orders_order_change", args=[order.pk])
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("booked", known)
    assert order.changes.latest("pk").by == sam
    assert Audit.objects.get().reason == REASON


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("HELLO", "at least five more letters or digits"),
        ("SNOBODY999", "does not confirm"),
        ("STEST00000", "Another order already has this reference"),
        ("", "This field is required"),
    ],
)
def test_a_reference_that_cannot_be_right_is_refused(
    desk: Client, unclear: Unclear, known: str, quill: Sender, alice: User, reference: str, words: str
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="STEST00000")
    order = unclear()
    page = desk.post(_url(order), _decision("adopt", reference=reference))
    assert words in page.content.decode()
    order.refresh_from_db()
    assert order.status == "unconfirmed"


def test_a_booking_the_carrier_does_not_have_is_settled_as_not_booked(desk: Client, unclear: Unclear) -> None:
    order = unclear()
    desk.post(_url(order), _decision("not_booked"))
    order.refresh_from_db()
    assert order.status == "not_booked"
    assert order.attempts.get().state == "not_created"


def test_waiting_on_keeps_the_case_open_and_the_reason(desk: Client, unclear: Unclear) -> None:
    order = unclear()
    desk.post(_url(order), _decision("keep_waiting"))
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert (Audit.objects.get().action, Audit.objects.get().reason) == ("kept waiting", REASON)


@pytest.mark.parametrize("decision", ["adopt", "not_booked", "keep_waiting"])
def test_every_decision_asks_why(desk: Client, unclear: Unclear, known: str, decision: str) -> None:
    order = unclear()
    page = desk.post(_url(order), _decision(decision, reason="because", reference=known))
    assert page.context["forms"][decision].errors["reason"]
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert not Audit.objects.exists()


@pytest.mark.parametrize("decision", ["adopt", "not_booked", "keep_waiting"])
def test_the_second_operator_reads_that_it_is_resolved(
    desk: Client, unclear: Unclear, known: str, decision: str
) -> None:
    order = unclear()
    desk.post(_url(order), _decision("not_booked"))
    answer = desk.post(_url(order), _decision(decision, reference=known))
    assert answer.status_code == 409
    assert "already resolved" in answer.content.decode()
    order.refresh_from_db()
    assert order.status == "not_booked"
    assert Audit.objects.count() == 1


def test_two_operators_at_the_very_same_moment_settle_it_once(
    desk: Client, unclear: Unclear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one acts after this page has read the order and before it writes."""
    order = unclear()
    mine = resolving.not_booked

    def after_the_other(seen: Order, **more: Any) -> None:
        mine(Order.objects.get(pk=order.pk), **{**more, "reason": "the other operator was here"})
        mine(seen, **more)

    monkeypatch.setattr(resolving, "not_booked", after_the_other)
    page = desk.post(_url(order), _decision("not_booked"))
    assert "already resolved" in page.content.decode()
    assert Audit.objects.count() == 1


def test_an_operator_without_the_permission_cannot_open_a_case(
    visit: Callable[[User], Client], unclear: Unclear
) -> None:
    reader = factories.user("reader@portal.example", is_staff=True)
    factories.second_factor(reader)
    assert visit(reader).get(_url(unclear())).status_code == 403


def test_an_order_that_is_not_there_is_not_found(desk: Client) -> None:
    assert desk.get(reverse("admin:orders_order_resolve", args=[999])).status_code == 404


def test_the_orders_page_leads_to_the_decision(desk: Client, unclear: Unclear) -> None:
    order = unclear()
    page = desk.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    assert _url(order) in page
