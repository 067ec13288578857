"""Webhooks that only trigger a poll: EasyPost signs and sends the whole history, and a poll reads it at once."""

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.conf import settings as configured
from django.core.management import call_command
from django.test import Client as Browser
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.easypost import EasyPost
from shipping_portal.jobs.erasing import MARK
from shipping_portal.jobs.models import UNDER_WAY
from tests import factories
from tests.catalogue.pushing import URL, by_its_address, by_the_short_cut
from tests.easypost_account import at_easypost
from tests.sandbox.test_easypost import EasyPostClient
from tracking import erasing, polling, queues
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery, WebhookTally
from tracking.receiving import looks, webhook_health
from tracking.scanning import reading

pytestmark = pytest.mark.django_db
KEY = "hook-key-0123456789abcdef0123456789abcdef"
SECRET = configured.WEBHOOK_SECRETS[0].partition(":")[2]
CODE = "9400999990000000000017"
WORDS = ["pre_transit", *["in_transit"] * 9, "out_for_delivery", "delivered"]
WAYS = [by_its_address, by_the_short_cut]


@pytest.fixture
def easypost(tmp_path: Path, settings: Any) -> Iterator[EasyPostClient]:
    with at_easypost(settings, tmp_path, account="easypost-live") as address:
        settings.CARRIER_WEBHOOK_KEY = KEY
        yield EasyPostClient(address)


@pytest.fixture
def parcel(easypost: EasyPostClient, quill: Sender, alice: User) -> Parcel:
    """A booked parcel that EasyPost knows. It is opened here but not polled yet."""
    code = easypost.bought()["tracking_code"]
    order = factories.order(quill, alice, status="booked", carrier_reference=code, due_at=timezone.now())
    polling.open_parcel(order.pk)
    return Parcel.objects.get(order=order)


def travel(easypost: EasyPostClient, parcel: Parcel, words: list[str]) -> None:
    began = timezone.now() - dt.timedelta(hours=len(words))
    for hour, word in enumerate(words):
        at = (began + dt.timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
        easypost.control("scan", reference=parcel.reference, status=word, message=f"Scan {hour}", datetime=at)


def history(easypost: EasyPostClient, parcel: Parcel) -> bytes:
    """Return the delivery about the parcel's latest scan."""
    [tracker] = easypost.ask("GET", f"/v2/trackers?tracking_code={parcel.reference}").json["trackers"]
    return delivery(parcel.reference, result=tracker)


def delivery(reference: str = CODE, **members: Any) -> bytes:
    result = {"object": "Tracker", "tracking_code": reference, "tracking_details": [{"status": "delivered"}]}
    event = {"id": "evt_0123456789abcdef", "object": "Event", "description": "tracker.updated", "result": result}
    return json.dumps(event | members).encode()


def push(body: bytes, *, key: str = KEY, way: Any = by_its_address, **extra: Any) -> int:
    """Deliver it as EasyPost does, and read the stored delivery."""
    if key:
        extra["HTTP_X_HMAC_SIGNATURE"] = EasyPost.sign_webhook(body, key)
    answer = way("POST", f"{URL}{SECRET}/", body, content_type="application/json", **extra)
    reading.read_due()
    status: int = answer.status_code
    return status


def do_due_polls() -> None:
    for pk in Poll.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True):
        polling.poll_due_parcel(pk)


def polls(easypost: EasyPostClient) -> int:
    return sum(asked["operation"] == "track" for asked in easypost.read("requests"))


def states() -> list[str]:
    return list(WebhookDelivery.objects.order_by("pk").values_list("state", flat=True))


# -- From a delivery to the page -----------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_history_of_twelve_scans_in_one_webhook_is_read_once_each(easypost, parcel, way):
    travel(easypost, parcel, WORDS)
    body = history(easypost, parcel)
    for _ in range(2):
        assert push(body, way=way) == 200
        do_due_polls()
    assert [bytes(kept) for kept in WebhookDelivery.objects.values_list("body", flat=True)] == [body, body]
    assert states() == ["look", "look"]
    assert sorted(parcel.events.values_list("description", flat=True)) == sorted(f"Scan {n}" for n in range(12))
    parcel.refresh_from_db()
    assert parcel.progress == "delivered"


def test_a_webhook_is_on_the_parcels_page_after_one_poll(easypost, parcel, alice):
    browser = Browser()
    browser.force_login(alice)
    travel(easypost, parcel, ["in_transit"])
    push(history(easypost, parcel))
    polling.poll_due_parcel(parcel.pk)
    assert "Scan 0" in browser.get(f"/parcels/{parcel.order.uuid}/").content.decode()


def test_scans_from_a_triggered_poll_count_as_pushed(easypost, parcel):
    travel(easypost, parcel, WORDS[:4])
    push(history(easypost, parcel))
    do_due_polls()
    assert set(parcel.events.values_list("source", flat=True)) == {TrackingEvent.Source.PUSH}
    assert not webhook_health.is_alarmed(parcel.account, timezone.now())
    travel(easypost, parcel, ["out_for_delivery"] * 4)
    Poll.objects.update(due_at=timezone.now())
    do_due_polls()
    assert webhook_health.is_alarmed(parcel.account, timezone.now())


def test_a_webhook_before_the_booking_is_known_waits_for_its_order(easypost, quill, alice):
    code = easypost.bought()["tracking_code"]
    easypost.control("scan", reference=code, status="in_transit")
    push(delivery(code))
    do_due_polls()
    stranger = Parcel.objects.get()
    assert (stranger.order, stranger.events.count(), Poll.objects.get().due_at) == (None, 1, None)
    assert Parcel.objects.filter(queues.unmatched_references()).exists()
    order = factories.order(quill, alice, status="booked", carrier_reference=code, due_at=timezone.now())
    polling.open_parcel(order.pk)
    order.refresh_from_db()
    assert order.progress == "in_transit"


def test_a_poll_the_carrier_does_not_answer_is_repeated(easypost):
    code = easypost.bought()["tracking_code"]
    easypost.control("scan", reference=code, status="in_transit")
    easypost.control("trouble", operation="track", verb="503")
    push(delivery(code))
    do_due_polls()
    poll = Poll.objects.get()
    assert poll.due_at > timezone.now()
    Poll.objects.update(due_at=timezone.now())
    do_due_polls()
    poll.refresh_from_db()
    assert (poll.parcel.events.count(), poll.due_at) == (1, None)


# -- What can be read of it --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "state", "reference"),
    [
        (delivery(), "look", CODE),
        (delivery(weight=float("nan")), "look", CODE),
        (delivery(id=7, datetime="2026-11-18T21:21:05Z"), "look", CODE),
        (delivery(result={"object": "Refund", "tracking_code": CODE}), "look", CODE),
        (delivery(result={"object": "Payment"}), "quarantined", ""),
        (delivery(result={"tracking_code": ["1"]}), "quarantined", ""),
        (b"junk", "quarantined", ""),
    ],
)
def test_only_the_reference_is_read(easypost, body, state, reference):
    assert push(body) == 200
    kept = WebhookDelivery.objects.get()
    assert (kept.state, kept.reference, kept.carrier_event_id, kept.scan_time) == (state, reference, None, None)
    assert bytes(kept.body) == body


def test_reading_a_webhook_again_polls_again_and_changes_nothing_else(easypost, parcel):
    push(history(easypost, parcel))
    Poll.objects.update(due_at=None, look_due_at=None)
    reading.read_deliveries(WebhookDelivery.objects.get().pk)
    assert (states(), Poll.objects.get().due_at is None) == (["look"], False)


def test_an_erased_persons_histories_are_deleted_too(easypost, parcel):
    push(delivery(parcel.reference.lower(), signed_by="Zephyrine Quandary"))
    push(delivery("OTHER-0001"))
    erasing.erase_scans([parcel.order_id])
    mine, other = WebhookDelivery.objects.order_by("pk")
    assert bytes(mine.body).startswith(MARK)
    assert not bytes(other.body).startswith(MARK)


def test_triggered_polls_need_an_operation_to_poll_with():
    with pytest.raises(ContractError, match="needs track"):
        Contract(webhook_means="look", track="")


# -- No more often than this -------------------------------------------------------------------------


def test_100_webhooks_in_a_minute_make_four_polls_and_the_last_of_them_is_read(easypost, parcel):
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(99):
            push(delivery(parcel.reference))
            do_due_polls()
            clock.shift(dt.timedelta(seconds=0.6))
        assert polls(easypost) == 3
        travel(easypost, parcel, ["in_transit"])
        push(delivery(parcel.reference))
        clock.shift(looks.APART)
        do_due_polls()
        assert (polls(easypost), parcel.events.count()) == (4, 1)


def test_a_webhook_during_a_poll_gets_its_own_poll(easypost, parcel):
    """The first poll's reply may be older than the scan. Its end doesn't delay the next poll."""
    poll = Poll.objects.get()
    Poll.objects.update(due_at=timezone.now())
    poll.refresh_from_db()
    assert poll.claim()
    push(delivery(parcel.reference))
    due = Poll.objects.get().due_at
    assert due <= timezone.now()
    assert not poll.postpone(timezone.now() + dt.timedelta(hours=1))
    kept = Poll.objects.get()
    assert (kept.due_at, kept.failures, kept.last_error) == (due, 0, "")


@pytest.mark.parametrize(("last", "due"), [(None, 0), (-60, 0), (-20, 0), (-5, 15), (0, 20), (15, 15)])
def test_a_triggered_poll_is_due_at_once_unless_the_last_one_was_just_now(parcel, last, due):
    now = timezone.now()
    at = None if last is None else now + dt.timedelta(seconds=last)
    Poll.objects.update(look_due_at=at)
    looks.request_poll(parcel.pk, now=now)
    poll = Poll.objects.get()
    assert poll.due_at == poll.look_due_at == now + dt.timedelta(seconds=due)


def test_a_poll_due_earlier_stays_due_and_a_dead_letter_stays_one(parcel):
    now = timezone.now()
    earlier = now - dt.timedelta(minutes=1)
    Poll.objects.update(due_at=earlier, look_due_at=now, failures=5, last_error=UNDER_WAY, parked_at=now)
    looks.request_poll(parcel.pk, now=now)
    poll = Poll.objects.get()
    assert (poll.due_at, poll.failures, poll.parked_at) == (earlier, 5, now)


# -- Signatures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["", KEY[:-1], f"{KEY} ", SECRET])
def test_a_forged_signature_is_refused_and_counted(easypost, way, key):
    assert push(delivery(), key=key, way=way) == 404
    assert (states(), WebhookTally.objects.get().reason, WebhookTally.objects.get().count) == ([], "wrong signature", 1)


@pytest.mark.parametrize("way", WAYS)
def test_the_signature_of_another_body_is_refused(easypost, way):
    signature = EasyPost.sign_webhook(delivery("OTHER-0001"), KEY)
    assert push(delivery(), key="", way=way, HTTP_X_HMAC_SIGNATURE=signature) == 404
    assert states() == []


def test_without_a_key_no_signature_is_valid(easypost, settings):
    settings.CARRIER_WEBHOOK_KEY = ""
    assert push(delivery(), key="", HTTP_X_HMAC_SIGNATURE=EasyPost.sign_webhook(delivery(), "")) == 404
    assert states() == []


def test_the_secret_in_the_path_is_needed_as_well_as_the_signature(easypost):
    signature = EasyPost.sign_webhook(delivery(), KEY)
    answer = by_its_address("POST", f"{URL}wrong/", delivery(), HTTP_X_HMAC_SIGNATURE=signature)
    assert (answer.status_code, states()) == (404, [])


def test_the_listeners_test_event_is_signed(easypost, live_server: LiveServer, settings):
    settings.SITE_URL = live_server.url
    call_command("webhook_url", "--test")
    reading.read_due()
    assert states() == ["look"]
