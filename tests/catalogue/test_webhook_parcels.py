"""Which parcel an event is about, what people see of it, and many events at once."""

import datetime as dt
import io
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import CarrierAccount, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.ops import logs
from tests import factories
from tests.catalogue.acting import waiting
from tests.catalogue.pushing import REFERENCE, last, push, wire
from tests.catalogue.rows import rows
from tracking.models import Parcel, TrackingEvent, WebhookDelivery
from tracking.scanning import scans

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


# -- Whose it is --------------------------------------------------------------------------------


@rows("", ("W15", "nobody's reference"))
def test_an_unknown_reference_waits_for_its_order(quill: Sender, alice: User) -> None:
    assert push(wire()).status_code == 200
    assert (last().state, Parcel.objects.get().order) == ("stored", None)
    assert waiting("parcel-nobody") == 1
    assert not Parcel.objects.for_user(alice).exists()


@rows("", ("W16", "an order booked on another carrier account"))
def test_a_reference_of_another_account_is_not_matched(quill: Sender, alice: User) -> None:
    elsewhere = CarrierAccount.objects.create(fingerprint="f" * 64, name="the carrier's test system")
    order = factories.order(quill, alice, status="booked", carrier_reference=REFERENCE, account=elsewhere)
    assert push(wire(event_type="Delivered")).status_code == 200
    order.refresh_from_db()
    assert (Parcel.objects.get().order, order.progress) == (None, "")
    assert not Parcel.objects.for_user(alice).exists()


@rows(
    "changes",
    ("W18", "another description", {"description": "Something else"}),
    ("W18", "another kind", {"event_type": "Delivered"}),
    ("W18", "another time", {"scan_time": "2026-11-18T22:00:00Z"}),
    ("W18", "another parcel", {"carrier_reference": "SOTHER1"}),
)
def test_the_first_of_two_events_with_one_id_counts_and_the_admin_shows_both(changes: dict[str, Any]) -> None:
    push(wire())
    body = wire(**changes)
    assert push(body).status_code == 200
    assert (last().state, bytes(last().body)) == ("differs", body)
    assert "known with other content" in last().reason
    scan = TrackingEvent.objects.get()
    assert (scan.event_type, scan.description, bytes(scan.raw)) == ("Pickup", "Parcel picked up", wire())
    assert waiting("webhookdelivery-reading") == 1


@rows("", ("W18", "only the place differs"))
def test_an_event_with_only_another_place_is_a_duplicate() -> None:
    push(wire())
    push(wire(location_data=None))
    assert last().state == "duplicate"
    assert TrackingEvent.objects.get().suburb == "Fitzroy"


def numbered(number: int, word: str, at: str) -> bytes:
    return wire(event_id=f"00000000-0000-4000-8000-{number:012d}", event_type=word, scan_time=at)


JOURNEY = ["Pickup", "In Transit", "Info", "Out for Delivery", "Delivered"]


@rows(
    "hours",
    ("W27", "in order", [8, 9, 10, 11, 12]),
    ("W27", "in reverse", [12, 11, 10, 9, 8]),
    ("W27", "delivered first, an older Info last", [12, 8, 11, 9, 10]),
)
def test_a_parcels_progress_does_not_depend_on_the_order_of_its_events(hours: list[int]) -> None:
    for hour in hours:
        push(numbered(hour, JOURNEY[hour - 8], f"2026-11-18T{hour:02}:00:00Z"))
    parcel = Parcel.objects.get()
    assert (parcel.progress, parcel.progress_at.hour) == ("delivered", 12)
    assert TrackingEvent.objects.count() == 5


# -- What people see ----------------------------------------------------------------------------


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    """A booked order with its parcel."""
    made = factories.order(quill, alice, status="booked", carrier_reference=REFERENCE)
    factories.parcel(made)
    return made


MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)">'


@rows(
    "changes",
    ("W23", "markup on the pages", {"event_type": MARKUP}),
    ("W26", "HTML on the pages", {"description": MARKUP}),
    ("W26", "HTML in the place", {"location_data": {"suburb": MARKUP, "country": MARKUP}}),
    ("W26", "HTML in an unknown member", {"<script>": MARKUP}),
)
def test_the_carriers_text_is_only_ever_text(
    order: Order, alice: User, sam: User, visit: Visit, changes: dict[str, Any]
) -> None:
    push(wire(**changes))
    scan = TrackingEvent.objects.get()
    pages = [
        visit(alice).get(reverse("parcel", args=[order.uuid])),
        visit(sam).get(reverse("admin:tracking_trackingevent_change", args=[scan.pk])),
        visit(sam).get(reverse("admin:tracking_webhookdelivery_change", args=[last().pk])),
        visit(sam).get(reverse("admin:tracking_parcel_change", args=[order.parcel.pk])),
        visit(sam).get(reverse("admin:tracking_eventword_changelist")),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode()
        assert "<img src=x" not in page.content.decode()
    assert escape("<script>") in pages[0].content.decode()


@rows(
    "given, kept",
    ("W26", "two lines", "left\r\nX-Evil: 1", "left X-Evil: 1"),
    ("W26", "terminal colours", "\x1b[31mred\x1b[0m", "[31mred [0m"),
    ("W26", "an override of direction", "abc\u202egpj.exe", "abc gpj.exe"),
    ("W26", "an isolate of direction", "abc\u2066d\u2069", "abc d"),
    ("W26", "a line separator", "a\u2028b", "a b"),
)
def test_a_description_is_one_line_without_control_characters(given: str, kept: str) -> None:
    push(wire(description=given))
    assert TrackingEvent.objects.get().description == kept


@rows("", ("W26", "in the log"))
def test_an_events_text_stays_on_one_line_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._json_formatter())
    said = 'left\r\n{"level": "forged"}\n\x1b[31m'

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(scans, "store_scans", fails)
    logging.getLogger().addHandler(handler)
    try:
        assert push(wire(description=said)).status_code == 200
    finally:
        logging.getLogger().removeHandler(handler)
    lines = stream.getvalue().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["deliveries_not_read"]
    assert "\x1b" not in lines[0]


@rows("", ("W28", "a pickup after the cancellation"))
def test_a_label_used_after_cancelling_is_shown_to_the_operator_and_the_sender(
    order: Order, alice: User, visit: Visit
) -> None:
    now = timezone.now()
    move_to(order, "cancelling", reason="-", at=now)
    move_to(order, "cancelled", reason="-", at=now, cancelled_at=now - dt.timedelta(hours=1))
    push(wire(scan_time=now.isoformat()))
    order.refresh_from_db()
    assert (order.status, order.used_after_cancel_at) == ("cancelled", now)
    assert waiting("order-used-after-cancel") == 1
    page = visit(alice).get(reverse("parcel", args=[order.uuid])).content.decode()
    assert "after cancelling, so the carrier charges for it" in page


# -- Many at once -------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in")
@rows("", ("W17", "100 in parallel"))
def test_one_event_sent_a_hundred_times_in_parallel_is_one_scan() -> None:
    def deliver(_: int) -> int:
        try:
            return int(push(wire()).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(deliver, range(100))) == [200] * 100
    assert TrackingEvent.objects.count() == 1
    states = list(WebhookDelivery.objects.values_list("state", flat=True))
    assert (states.count("stored"), states.count("duplicate")) == (1, 99)
