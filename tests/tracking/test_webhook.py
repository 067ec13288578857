"""The webhook: who is let in, what is answered, and that sent = stored + quarantined + refused."""

import base64
import datetime as dt
import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.table import table
from tests.tracking.webhook_calls import URL, event, post
from tracking import polling, views
from tracking.models import EventWord, Parcel, TrackingEvent, WebhookDelivery, WebhookTally
from tracking.scanning import reading

pytestmark = pytest.mark.django_db


def state_of_last() -> str:
    return WebhookDelivery.objects.latest("pk").state


def test_over_plain_http_nothing_is_read_and_the_desk_sees_it(settings: Any) -> None:
    settings.SECURE = True
    assert post(event()).status_code == 403
    assert post(event(), secret="carrier:wrong").status_code == 403
    assert not WebhookDelivery.objects.exists()
    tally = WebhookTally.objects.get()
    assert (tally.reason, tally.count) == ("over plain http", 2)
    assert post(event(), secure=True).status_code == 200


def test_an_address_pasted_without_its_last_slash_works() -> None:
    secret = settings.WEBHOOK_SECRETS[0].partition(":")[2]
    assert post(event(), url="/webhooks/tracking").status_code == 200
    assert post(event(), url=f"/webhooks/tracking/{secret}", secret="").status_code == 200


def test_it_stores_a_scan_and_its_raw_bytes() -> None:
    body = json.dumps(event()).encode()
    assert post(body).status_code == 200
    delivery = WebhookDelivery.objects.get()
    assert bytes(delivery.body) == body
    assert (delivery.state, delivery.event.event_type) == ("stored", "Pickup")


@table(("place", "remark"), [(None, ""), ("a depot", "the location could not be read"), ({"suburb": "Fitzroy"}, "")])
def test_a_scan_whose_place_cannot_be_read_is_stored_with_a_remark(place: object, remark: str) -> None:
    assert post(event(location_data=place)).status_code == 200
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.reason, delivery.due_at) == ("stored", remark, None)


def test_a_delivery_that_was_a_duplicate_stays_one_however_often_it_is_read() -> None:
    same = event()
    for _ in range(2):
        post(same)
    for pk in WebhookDelivery.objects.values_list("pk", flat=True):
        reading.read(pk)
    assert list(WebhookDelivery.objects.order_by("pk").values_list("state", flat=True)) == ["stored", "duplicate"]


def test_it_takes_the_older_secret_during_a_rotation() -> None:
    assert post(event(), secret=settings.WEBHOOK_SECRETS[1]).status_code == 200


def test_it_takes_the_secret_in_the_path() -> None:
    token = settings.WEBHOOK_SECRETS[0].partition(":")[2]
    assert post(event(), secret="", url=f"{URL}{token}/").status_code == 200


def test_missing_credentials_are_asked_for() -> None:
    answer = post(event(), secret="")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Basic realm="webhooks"')
    assert not WebhookDelivery.objects.exists()


@table("secret", ["carrier:wrong", "carrier:CANARY-WEBHOOK-SECRET-0123456789ABCDEF", "x", ":"])
def test_wrong_credentials_find_nothing_and_are_counted(secret: str) -> None:
    assert post(event(), secret=secret).status_code == 404
    assert not WebhookDelivery.objects.exists()
    assert WebhookTally.objects.get().count == 1


def test_a_secret_in_the_query_string_is_no_credential() -> None:
    token = settings.WEBHOOK_SECRETS[0].partition(":")[2]
    assert post(event(), secret="", url=f"{URL}?token={token}").status_code == 401


@table("method", ["get", "put", "head", "options", "delete", "patch"])
def test_only_post_is_answered(method: str) -> None:
    assert getattr(Client(), method)(URL).status_code == 405


def test_a_duplicate_is_answered_well_and_stored_once() -> None:
    same = event()
    for _ in range(5):
        assert post(same).status_code == 200
    assert TrackingEvent.objects.count() == 1
    assert WebhookDelivery.objects.filter(state="duplicate").count() == 4


def test_an_upper_case_event_id_is_the_same_scan() -> None:
    same = event()
    post(same)
    post({**same, "event_id": same["event_id"].upper()})
    assert TrackingEvent.objects.count() == 1


def test_the_same_id_with_other_content_keeps_the_first() -> None:
    first = event()
    post(first)
    assert post({**first, "description": "Something else"}).status_code == 200
    assert state_of_last() == "differs"
    assert TrackingEvent.objects.get().description == "Parcel picked up"


def test_an_unknown_reference_is_kept_and_matched_later(quill: Sender, alice: User) -> None:
    assert post(event(carrier_reference="SEARLY1", scan_time=timezone.now().isoformat())).status_code == 200
    assert Parcel.objects.get().order is None
    order = factories.order(
        quill, alice, status="booked", carrier_reference="SEARLY1", due_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    polling.open_parcel(order.pk)
    order.refresh_from_db()
    assert order.progress == "collected"


def test_an_unknown_word_is_stored_shown_and_asked_about() -> None:
    post(event(event_type="Teleported"))
    assert TrackingEvent.objects.get().event_type == "Teleported"
    assert EventWord.objects.get().word == "teleported"
    assert Parcel.objects.get().progress == ""


def test_info_is_a_word_that_says_nothing_and_nobody_is_asked_about_it() -> None:
    post(event(event_type="Info"))
    assert TrackingEvent.objects.get().event_type == "Info"
    assert not EventWord.objects.exists()


@table(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"123",
        b"[" * 60_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"event_id": NaN}',
        '{"x": 1}'.encode("utf-16"),
        b"\xff\xfe\xfa",
    ],
)
def test_authenticated_nonsense_is_kept_and_set_aside(body: bytes) -> None:
    assert post(body).status_code == 200
    delivery = WebhookDelivery.objects.get()
    assert delivery.state == "quarantined"
    assert delivery.reason
    assert bytes(delivery.body) == body


@table(
    "changes",
    [
        {"carrier_reference": "X123456"},
        {"carrier_reference": "S12"},
        {"carrier_reference": "S3NDL\u0415"},
        {"carrier_reference": None},
        {"event_id": "not-a-uuid"},
        {"event_id": "00000000-0000-0000-0000-000000000000"},
        {"event_id": "{3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21}"},
        {"event_id": 5},
        {"scan_time": "2026-11-18T21:21:05"},
        {"scan_time": "yesterday"},
        {"scan_time": "9999-12-31T23:59:59-23:59"},
        {"event_type": "x" * 10_000},
        {"event_type": 7},
    ],
)
def test_a_scan_with_a_bad_member_is_set_aside_with_its_reason(changes: dict[str, Any]) -> None:
    assert post(event(**changes)).status_code == 200
    assert state_of_last() == "quarantined"
    assert not TrackingEvent.objects.exists()


@table(
    "location", [None, {}, {"suburb": None, "state": None, "postcode": None, "country": None}, [], {"suburb": ["x"]}]
)
def test_a_missing_or_odd_place_is_no_reason_to_lose_a_scan(location: Any) -> None:
    post(event(location_data=location))
    assert state_of_last() == "stored"


def test_a_body_over_64_kib_is_refused_and_counted() -> None:
    assert post(b" " * (64 * 1024 + 1)).status_code == 413
    assert not WebhookDelivery.objects.exists()
    assert WebhookTally.objects.get(reason="larger than 64 KiB").count == 1


def test_a_body_that_broke_off_is_refused_so_that_it_is_sent_again() -> None:
    secret = base64.b64encode(settings.WEBHOOK_SECRETS[0].encode()).decode()
    body = json.dumps(event()).encode()
    request = RequestFactory().post(
        URL, body, content_type="application/json", secure=True, headers={"Authorization": f"Basic {secret}"}
    )
    request.META["CONTENT_LENGTH"] = str(len(body) + 1)
    assert views.webhook(request).status_code == 400
    assert not WebhookDelivery.objects.exists()


def test_sent_is_stored_plus_quarantined_plus_refused() -> None:
    bodies: list[Any] = [event(), event(), b"junk", event(event_id="x"), event(carrier_reference="SNEW001")]
    for body in bodies:
        post(body)
    post(event(), secret="carrier:wrong")
    post(b" " * 70_000)
    refused = sum(WebhookTally.objects.values_list("count", flat=True))
    assert WebhookDelivery.objects.filter(state="stored").count() == 3
    assert WebhookDelivery.objects.filter(state="quarantined").count() == 2
    assert len(bodies) + 2 == WebhookDelivery.objects.count() + refused


def test_html_in_a_description_stays_text() -> None:
    post(event(description="<b>hi</b>\r\n\x1b[31m"))
    assert "<b>hi</b>" in TrackingEvent.objects.get().description


def test_reading_a_delivery_again_changes_nothing() -> None:
    post(event())
    delivery = WebhookDelivery.objects.get()
    reading.read(delivery.pk)
    assert state_of_last() == "stored"
    assert TrackingEvent.objects.count() == 1
