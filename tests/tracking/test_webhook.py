"""The webhook: who is let in, what we reply, and that every delivery is stored, quarantined or refused."""

import datetime as dt
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.tracking.webhook_calls import event, post
from tracking import polling
from tracking.models import EventWord, Parcel, TrackingEvent, WebhookDelivery, WebhookTally
from tracking.scanning import reading

pytestmark = pytest.mark.django_db


def state_of_last() -> str:
    return WebhookDelivery.objects.latest("pk").state


@pytest.mark.parametrize(
    ("place", "remark"), [(None, ""), ("a depot", "the location could not be read"), ({"suburb": "Fitzroy"}, "")]
)
def test_a_scan_whose_place_cannot_be_read_is_stored_with_a_remark(place: object, remark: str) -> None:
    assert post(event(location_data=place)).status_code == 200
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.reason, delivery.due_at) == ("stored", remark, None)


def test_a_duplicate_delivery_stays_one_however_often_it_is_read() -> None:
    same = event()
    for _ in range(2):
        post(same)
    for pk in WebhookDelivery.objects.values_list("pk", flat=True):
        reading.read_deliveries(pk)
    assert list(WebhookDelivery.objects.order_by("pk").values_list("state", flat=True)) == ["stored", "duplicate"]


def test_the_older_secret_is_accepted_during_a_rotation() -> None:
    assert post(event(), secret=settings.WEBHOOK_SECRETS[1]).status_code == 200


def test_a_duplicate_gets_a_success_but_is_stored_once() -> None:
    same = event()
    for _ in range(5):
        assert post(same).status_code == 200
    assert TrackingEvent.objects.count() == 1
    assert WebhookDelivery.objects.filter(state="duplicate").count() == 4


def test_an_unknown_reference_is_kept_and_matched_later(quill: Sender, alice: User) -> None:
    assert post(event(carrier_reference="SEARLY1", scan_time=timezone.now().isoformat())).status_code == 200
    assert Parcel.objects.get().order is None
    order = factories.order(
        quill, alice, status="booked", carrier_reference="SEARLY1", due_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    polling.open_parcel(order.pk)
    order.refresh_from_db()
    assert order.progress == "collected"


def test_an_unknown_word_is_stored_shown_and_queued_for_an_operator() -> None:
    post(event(event_type="Teleported"))
    assert TrackingEvent.objects.get().event_type == "Teleported"
    assert EventWord.objects.get().word == "teleported"
    assert Parcel.objects.get().progress == ""


def test_info_means_nothing_and_needs_no_decision() -> None:
    post(event(event_type="Info"))
    assert TrackingEvent.objects.get().event_type == "Info"
    assert not EventWord.objects.exists()


def test_every_delivery_is_stored_quarantined_or_refused() -> None:
    bodies: list[Any] = [event(), event(), b"junk", event(event_id="x"), event(carrier_reference="SNEW001")]
    for body in bodies:
        post(body)
    post(event(), secret="carrier:wrong")
    post(b" " * 70_000)
    refused = sum(WebhookTally.objects.values_list("count", flat=True))
    assert WebhookDelivery.objects.filter(state="stored").count() == 3
    assert WebhookDelivery.objects.filter(state="quarantined").count() == 2
    assert len(bodies) + 2 == WebhookDelivery.objects.count() + refused


def test_reading_a_delivery_again_changes_nothing() -> None:
    post(event())
    delivery = WebhookDelivery.objects.get()
    reading.read_deliveries(delivery.pk)
    assert state_of_last() == "stored"
    assert TrackingEvent.objects.count() == 1
