"""Webhooks of the ShipStation API are signed with its own key and trigger a poll at once."""

import datetime as dt
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from django.conf import settings as configured
from django.utils import timezone

from orders.booking import bookings
from orders.models import Order
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.server import start
from tests import factories
from tests.carrier.test_shipstation import jwks, signed
from tests.catalogue.pushing import URL, by_its_address, by_the_short_cut
from tests.sandbox.client import Client
from tracking import polling
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery, WebhookTally
from tracking.scanning import reading

pytestmark = pytest.mark.django_db
SECRET = configured.WEBHOOK_SECRETS[0].partition(":")[2]
WAYS = [by_its_address, by_the_short_cut]


@pytest.fixture(scope="module")
def private_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@pytest.fixture
def shipstation(tmp_path: Path, settings: Any, private_key: RSAPrivateKey) -> Iterator[Client]:
    """Let the account that takes new orders be at a sandbox ShipStation, with its public key."""
    running = start(Config(state=tmp_path / "shipstation"))
    settings.CARRIER_CLIENT = "shipping_portal.carrier.shipstation.ShipStation"
    settings.CARRIER_BASE_URL, settings.CARRIER_ACCOUNT = f"{running.url}/v1", "shipstation"
    settings.CARRIER_KEY, settings.CARRIER_CONTRACT = Config.key, ""
    settings.CARRIER_PARTNER_ID, settings.CARRIER_WEBHOOK_KEY = "se-1003", jwks(private_key)
    yield Client(running.url)
    running.stop()


@pytest.fixture
def parcel(shipstation: Client, quill: Sender, alice: User) -> Parcel:
    """A booked parcel that ShipStation knows. It is opened here but not polled yet."""
    now = timezone.now()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    code, token = "australia_post:parcel_post", uuid.uuid4()
    order = bookings.submit(quote=quote, code=code, by=alice, form_token=token, pickup_date=None, now=now)
    bookings.process_booking(order.pk)
    polling.open_parcel(order.pk)
    return Parcel.objects.get(order=order)


def event(reference: str) -> bytes:
    return json.dumps({"resource_type": "API_TRACK", "data": {"tracking_number": reference}}).encode()


def push(body: bytes, headers: dict[str, str], way: Any = by_its_address) -> int:
    names = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    answer = way("POST", f"{URL}{SECRET}/", body, content_type="application/json", **names)
    reading.read_due()
    return int(answer.status_code)


def now_text(ago: dt.timedelta = dt.timedelta(0)) -> str:
    return f"{timezone.now() - ago:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize("way", WAYS)
def test_a_signed_webhook_gets_its_parcel_polled_at_once(shipstation, parcel, private_key, way):
    shipstation.control("scan", reference=parcel.reference, status_code="DE")
    body = event(parcel.reference)
    assert push(body, signed(private_key, body, now_text()), way) == 200
    for pk in Poll.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True):
        polling.poll_due_parcel(pk)
    assert list(WebhookDelivery.objects.values_list("state", flat=True)) == ["look"]
    assert list(TrackingEvent.objects.values_list("source", flat=True)) == ["push"]
    assert Order.objects.get(pk=parcel.order_id).progress == "delivered"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("forged", ["no signature", "another key", "another body", "old", "no keys"])
def test_a_forged_or_old_webhook_is_refused_and_counted(shipstation, private_key, settings, way, forged):
    body = event("9400999990000000000017")
    headers = signed(private_key, body, now_text())
    if forged == "no signature":
        headers = {}
    elif forged == "another key":
        headers = signed(generate_private_key(65537, 2048), body, now_text())
    elif forged == "another body":
        body += b" "
    elif forged == "old":
        headers = signed(private_key, body, now_text(dt.timedelta(minutes=6)))
    else:
        settings.CARRIER_WEBHOOK_KEY = ""
    assert push(body, headers, way) == 404
    assert (WebhookDelivery.objects.count(), WebhookTally.objects.get().reason) == (0, "wrong signature")
