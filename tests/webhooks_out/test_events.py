"""An event is a row in the transaction that causes it, for each endpoint that wants it and for nobody else."""

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import transaction
from django.utils import timezone

from orders.booking import bookings
from orders.labels import fetching
from orders.models.statuses import MOVES, Status
from orders.notices.parcel_events import note_label, note_progress, type_of_move
from orders.status.transitions import move_to
from shipping_portal.accounts.erasing import purge_webhook_events
from shipping_portal.accounts.models import Sender, User, WebhookEndpoint, WebhookEvent, WebhookKind
from shipping_portal.accounts.webhooks import events, switching
from shipping_portal.accounts.webhooks.events import Happened
from shipping_portal.api.reference import openapi
from shipping_portal.api.schemas import LabelOut, OneParcelOut
from shipping_portal.api.webhooks import ChargeEvent, ParcelEvent
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.jobs import erasing
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tracking.scanning.projecting import project_parcels

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(quill: Sender, alice: User) -> WebhookEndpoint:
    return factories.webhook_endpoint(quill, alice)


def written() -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in WebhookEvent.objects.order_by("pk")]


def types() -> list[str]:
    return [one["type"] for one in written()]


def never() -> Happened:
    raise AssertionError("nothing is made that nobody wants")


def test_without_an_endpoint_an_event_takes_no_query(quill: Sender, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        events.note(quill, "order", never, timezone.now())


def test_a_kind_that_no_endpoint_wants_is_not_written(quill: Sender, alice: User) -> None:
    factories.webhook_endpoint(quill, alice, kinds=["label"])
    events.note(quill, "order", never, timezone.now())
    assert not WebhookEvent.objects.exists()


def test_another_business_and_a_disabled_endpoint_get_nothing(quill: Sender, alice: User, bob: User) -> None:
    other = factories.webhook_endpoint(bob.membership.sender, bob)
    off = factories.webhook_endpoint(quill, alice, off_why="it is gone", paused_at=timezone.now())
    on = factories.webhook_endpoint(quill, alice)
    order = factories.order(quill, alice, status="unconfirmed")
    move_to(order, Status.NOT_BOOKED, reason="x", at=timezone.now())
    assert [event.endpoint for event in WebhookEvent.objects.all()] == [on]
    assert other.pk != off.pk


def test_two_endpoints_get_one_event_with_one_id(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    factories.webhook_endpoint(quill, alice)
    order = factories.order(quill, alice, status="unconfirmed")
    move_to(order, Status.NOT_BOOKED, reason="x", at=timezone.now())
    one, two = WebhookEvent.objects.all()
    assert (one.uuid, one.body) == (two.uuid, two.body)


def test_an_event_is_rolled_back_with_its_transaction(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="unconfirmed")
    with transaction.atomic():
        move_to(order, Status.NOT_BOOKED, reason="x", at=timezone.now())
        assert types() == ["order.not_booked"]
        transaction.set_rollback(True)
    assert not WebhookEvent.objects.exists()


RESULTS = {
    ("booking", "booked"): "order.booked",
    ("booking", "rejected"): "order.rejected",
    ("booking", "unconfirmed"): "order.unconfirmed",
    ("booking", "draft"): "order.draft",
    ("booking", "conflict"): "order.conflict",
    ("unconfirmed", "booked"): "order.booked",
    ("unconfirmed", "not_booked"): "order.not_booked",
    ("booked", "unconfirmed"): "order.unconfirmed",
    ("cancelling", "cancelled"): "cancel.accepted",
    ("cancelling", "booked"): "cancel.refused",
    ("cancelling", "cancel_unconfirmed"): "cancel.unconfirmed",
    ("cancelling", "cancel_asked"): "cancel.asked",
    ("cancel_asked", "booked"): "cancel.refused",
    ("cancel_asked", "cancelled"): "cancel.accepted",
    ("draft", "booking"): "",
    ("booked", "cancelling"): "",
    ("not_booked", "draft"): "",
}


def test_each_result_has_its_type() -> None:
    assert {move: type_of_move(*move) for move in RESULTS} == RESULTS
    found = {type_of_move(old, new) for old, to in MOVES.items() for new in to} - {""}
    assert found == set(RESULTS.values()) - {""}


def test_a_parcel_causes_events_from_its_booking_to_its_label(
    quill: Sender, alice: User, endpoint: WebhookEndpoint, carrier: SandboxCarrier
) -> None:
    order = factories.order(quill, alice, status="booking", due_at=timezone.now())
    bookings.process_booking(order.pk)
    label = order.labels.get(size="full")
    fetching.fetch_due_label(label.pk)
    order.refresh_from_db()
    assert types() == ["order.booked", "label.ready"]
    booked, full = written()
    assert booked["data"] == {
        "id": str(order.uuid),
        "reference": order.carrier_reference,
        "url": f"{configured.SITE_URL}/api/v1/parcels/{order.uuid}",
        "status": "booked",
    }
    assert full["data"]["label"] == {"size": "full", "is_worthless": False}
    assert {event.about for event in WebhookEvent.objects.all()} == {order.uuid.hex}


def test_a_label_stored_already_is_not_an_event(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked"))
    fetching.store(label, LabelFile(b"%PDF-", "x" * 64), at=timezone.now())
    assert types() == []


def test_a_scan_that_changes_the_status_is_one_event(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order)
    event = factories.event(parcel)
    project_parcels(parcel.pk)
    project_parcels(parcel.pk)
    order.refresh_from_db()
    (got,) = written()
    assert got["type"] == "tracking.changed"
    assert (got["data"]["id"], got["data"]["progress"]) == (str(order.uuid), order.progress)
    assert order.progress_at
    assert (
        dt.datetime.fromisoformat(got["data"]["progress_at"]).timestamp()
        == int(order.progress_at.timestamp() * 1000) / 1000
    )
    assert event.pk


def test_charges_are_events_when_they_count(quill: Sender, alice: User, sam: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="booked")
    now = timezone.now()
    credit = correcting.credit_sender(quill, Decimal("4.10"), "AUD", by=sam, now=now, reason="sorry", order=order)
    correcting.reverse_charge(credit, by=sam, now=now, reason="a mistake")
    one, two = written()
    assert one["type"] == "charge.posted"
    assert one["data"] == {
        "id": credit.pk, "parcel": str(order.uuid), "reference": order.carrier_reference,
        "url": f"{configured.SITE_URL}/api/v1/parcels/{order.uuid}", "kind": "credit", "amount": "-4.10",
        "currency": "AUD", "week": str(credit.week),
    }  # fmt: skip
    assert two["data"]["amount"] == "4.10"
    assert WebhookEvent.objects.latest("pk").about == order.uuid.hex


def test_a_charge_matched_late_is_an_event(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="booked")
    charge = factories.charge(order, "under-declared", "4.13", measured_kg="3.6")
    type(charge).objects.filter(pk=charge.pk).update(sender=None, order=None)
    charge.refresh_from_db()
    matching.assign_charge(charge, sender=quill)
    assert [(one["data"]["amount"], one["data"]["parcel"]) for one in written()] == [("4.13", None)]


def test_an_event_holds_no_receiver_data(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="unconfirmed", description="A secret present")
    move_to(order, Status.NOT_BOOKED, reason="x", at=timezone.now())
    (body,) = WebhookEvent.objects.values_list("body", flat=True)
    receiver = [
        value for name, value in vars(order).items() if name.startswith("receiver_") and len(str(value or "")) > 3
    ]
    assert receiver
    assert not [value for value in (*receiver, "secret present", order.customer_reference or "-") if str(value) in body]


def test_each_event_follows_the_schema(quill: Sender, alice: User, sam: User, endpoint: WebhookEndpoint) -> None:
    order, now = factories.order(quill, alice, status="unconfirmed"), timezone.now()
    move_to(order, Status.NOT_BOOKED, reason="x", at=now)
    note_progress(order, now)
    note_label(factories.stored_label(factories.order(quill, alice, status="booked")), now)
    correcting.credit_sender(quill, Decimal("4.10"), "AUD", by=sam, now=now, reason="sorry")
    *parcels, charge = written()
    assert [ParcelEvent.model_validate(one).type for one in parcels] == [
        "order.not_booked", "tracking.changed", "label.ready",
    ]  # fmt: skip
    assert ChargeEvent.model_validate(charge).data.amount == Decimal("-4.10")
    assert set(openapi()["webhooks"]) == set(WebhookKind.values)


def test_an_event_has_the_same_fields_as_the_api(quill: Sender, alice: User, endpoint: WebhookEndpoint) -> None:
    order = factories.order(quill, alice, status="unconfirmed")
    move_to(order, Status.NOT_BOOKED, reason="x", at=timezone.now())
    assert set(written()[0]["data"]) - set(OneParcelOut.model_fields) == {"url"}
    assert {"size", "is_worthless"} <= set(LabelOut.model_fields)


def test_events_are_deleted_after_their_retention_time(endpoint: WebhookEndpoint, settings: Any) -> None:
    now = timezone.now()
    for days in (29, 31):
        factories.webhook_event(endpoint, happened_at=now - dt.timedelta(days=days))
    assert purge_webhook_events(now) == 1
    assert settings.WEBHOOK_EVENT_DAYS == 30


def test_erasing_an_account_removes_its_endpoints(quill: Sender, endpoint: WebhookEndpoint) -> None:
    factories.webhook_event(endpoint)
    erasing.erase({"sender": [quill.pk]})
    assert not WebhookEndpoint.objects.exists()
    assert not WebhookEvent.objects.exists()
    quill.refresh_from_db()
    assert not quill.has_webhooks


def test_resuming_an_endpoint_ends_its_failure_and_events_start_again(
    quill: Sender, alice: User, endpoint: WebhookEndpoint
) -> None:
    now = timezone.now()
    switching.switch_off(endpoint, "it is gone", now)
    quill.refresh_from_db()
    assert not quill.has_webhooks
    switching.resume_endpoint(endpoint, by=alice, now=now)
    quill.refresh_from_db()
    assert quill.has_webhooks
    assert (endpoint.off_why, endpoint.paused_at, endpoint.failures) == ("", None, 0)
    assert uuid.UUID(factories.webhook_event(endpoint).uuid.hex)
