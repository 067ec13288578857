"""A booking can be traced by one id: on the order, in the audit log, and in the logs of web, worker and webhook."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from orders.models import Order, Quote
from shipping_portal.accounts.models import Audit, User
from shipping_portal.jobs.registry import kind_of
from tests import factories
from tests.log_lines import lines as lines
from tests.pages.parcel_form import form
from tests.pages.typed import AT_HOME
from tests.sandbox_carrier import SandboxCarrier
from tests.tracking.webhook_calls import event, post
from tracking.models import Parcel, WebhookDelivery

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def booked(carrier: SandboxCarrier, localities: None, alice: User, lines: Any, client: Client) -> tuple[Order, str]:
    """Book an order from its page. Return it and the id of that request."""
    client.force_login(alice)
    client.post("/parcels/new/", AT_HOME)
    quote = Quote.objects.get()
    answer = client.post(f"{factories.prices_of(quote)}book/", form(quote))
    order = Order.objects.get()
    book = kind_of("book")
    assert book
    book(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"
    return order, answer["X-Request-ID"]


def test_the_id_of_the_request_is_on_the_order_and_in_the_workers_lines(booked: tuple[Order, str], lines: Any) -> None:
    order, request = booked
    assert order.request_id == request
    found = [json.loads(line) for line in lines() if "order_moved" in line or '"carrier_call"' in line]
    mine = [line for line in found if line.get("order") == str(order.uuid)]
    assert {line["request"] for line in mine} == {request}
    assert [(line["old"], line["new"]) for line in mine if line["event"] == "order_moved"] == [
        ("draft", "booking"),
        ("booking", "booked"),
    ]
    call = next(line for line in mine if line["event"] == "carrier_call" and line["operation"] == "book")
    assert (call["job"], call["row"], call["attempt"], call["status"]) == ("book", order.pk, 1, 201)
    assert call["milliseconds"] >= 0


def test_a_scan_is_logged_with_its_reference(booked: tuple[Order, str], lines: Any) -> None:
    reference = booked[0].carrier_reference
    post(event(carrier_reference=reference))
    (found,) = [json.loads(line) for line in lines() if '"scan_read"' in line]
    assert (found["reference"], found["event_type"], found["state"]) == (reference, "Pickup", "stored")
    assert found["delivery"] == WebhookDelivery.objects.get().pk


def test_an_action_has_the_id_of_its_request(booked: tuple[Order, str], client: Client, alice: User) -> None:
    answer = client.post("/accounts/logout/")
    assert Audit.objects.get(action="logged out").request_id == answer["X-Request-ID"]


@pytest.mark.parametrize("by", ["carrier_reference", "pk", "uuid"])
def test_trace_prints_a_parcels_history_in_order(booked: tuple[Order, str], by: str, capsys: Any) -> None:
    order, request = booked
    post(event(carrier_reference=order.carrier_reference))
    Parcel.objects.update(order=order)  # as a job does a moment later
    call_command("trace", str(getattr(order, by)))
    first, *rest = capsys.readouterr().out.splitlines()
    assert str(order.uuid) in first
    assert request in first
    assert [line[:23] for line in rest] == sorted(line[:23] for line in rest)
    found = "\n".join(rest)
    for part in ("quote ", "draft → booking", "attempt 1 sent", "call  ", "booking → booked", "scan  ", "webhook "):
        assert part in found, part
    assert order.receiver_name not in found
    assert order.receiver_email not in found


@pytest.mark.parametrize("typed", ["S0NOSUCH", "999", "not an order", "00000000-0000-4000-8000-000000000000"])
def test_trace_reports_an_unknown_parcel(typed: str) -> None:
    with pytest.raises(CommandError, match="No order matches"):
        call_command("trace", typed)
