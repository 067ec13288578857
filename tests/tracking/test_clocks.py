"""Carriers' clocks that are ahead: no scan is ever dated after it was received, whatever the order of scans."""

import datetime as dt
import itertools
import json
import uuid
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.utils import timezone

from orders.calling.contract import contract_of
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.scans import read_scan
from shipping_portal.exporting import rows as exported
from shipping_portal.reports.shipments import _scans_by_order as scans_of
from shipping_portal.staff.alerts import health
from tests import factories
from tests.orders.conftest import booked, submitted
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import staff
from tracking import milestones, polling, timeline
from tracking.models import IS_AHEAD, Parcel, TrackingEvent, WebhookDelivery, happened_at
from tracking.scanning import projecting, reading, scans

__all__ = ["booked", "staff", "submitted"]  # pytest finds them here

pytestmark = pytest.mark.django_db

HOUR, MINUTE, SECOND = dt.timedelta(hours=1), dt.timedelta(minutes=1), dt.timedelta(seconds=1)
NOW = dt.datetime(2026, 11, 27, 7, tzinfo=dt.UTC)  # six in the evening in Melbourne
AHEAD = 10.5 * HOUR
MARK = "The carrier's clock was ahead: this is when the scan reached us."


@pytest.fixture
def parcel(quill: Sender, alice: User) -> Parcel:
    return factories.parcel(factories.order(quill, alice, status="booked", created_at=NOW - 72 * HOUR))


def wire(parcel: Parcel, word: str, at: dt.datetime, **more: Any) -> dict[str, Any]:
    facts = {"event_id": str(uuid.uuid4()), "description": f"{word} scan", "location_data": None}
    return {"carrier_reference": parcel.reference, "event_type": word, "scan_time": at.isoformat(), **facts, **more}


def came(row: dict[str, Any], at: dt.datetime, *, by: str = "push") -> None:
    """Store a scan as it arrived then, and recompute its parcel's progress."""
    parcel = Parcel.objects.get(reference=row["carrier_reference"])
    scan = read_scan(row, contract_of(parcel.account))
    held = scans.lock_parcels([parcel.pk])
    scans.store_scans([scans.Arrival(parcel.pk, scan, by, b"{}", at)], held)
    projecting.project_held(held)


def stands(parcel: Parcel) -> tuple[str, dt.datetime | None]:
    parcel.refresh_from_db()
    return parcel.progress, parcel.progress_at


# -- Where the parcel is ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("by", ["push", "poll"])
def test_a_delivered_parcel_stays_delivered(parcel: Parcel, by: str, first: int) -> None:
    both = [wire(parcel, "Delivered", NOW), wire(parcel, "In Transit", NOW + 9 * HOUR)]
    for row in (both[first], both[1 - first]):
        came(row, NOW + SECOND, by=by)
    assert stands(parcel) == ("delivered", NOW)
    order = Order.objects.get()
    assert (order.progress, order.progress_at) == ("delivered", NOW)


def test_a_delivery_dated_in_the_future_counts_as_today(parcel: Parcel) -> None:
    came(wire(parcel, "Delivered", NOW + AHEAD), NOW)
    assert stands(parcel) == ("delivered", NOW)
    assert parcel.last_scan_at == NOW


@pytest.mark.postgres
@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_a_scan_counts_from_its_first_receipt_whichever_copy_is_read_first(parcel: Parcel, order: list[int]) -> None:
    """The scan is pushed twice and polled. Its webhook may be read after the poll."""
    row = wire(parcel, "Pickup", NOW + AHEAD)
    arrivals = [(NOW, "push"), (NOW + 3 * MINUTE, "poll"), (NOW + 5 * MINUTE, "push")]
    for place in order:
        at, by = arrivals[place]
        came(row, at, by=by)
    event = TrackingEvent.objects.get()
    assert (event.received_at, event.pushed_at, event.polled_at) == (NOW, NOW, NOW + 3 * MINUTE)
    assert stands(parcel) == ("collected", NOW)


def test_an_earlier_receipt_read_later_shows_that_the_clock_was_ahead(parcel: Parcel) -> None:
    row = wire(parcel, "Pickup", NOW + 20 * MINUTE)
    came(row, NOW + 10 * MINUTE, by="poll")
    assert stands(parcel) == ("collected", NOW + 20 * MINUTE)
    came(row, NOW)
    assert stands(parcel) == ("collected", NOW)


def test_a_batch_of_webhooks_uses_the_first_of_two_deliveries(parcel: Parcel) -> None:
    body = json.dumps(wire(parcel, "Delivered", timezone.now() + AHEAD)).encode()
    for ago in (1, 3, 2):
        factories.delivery(body=body, received_at=timezone.now() - ago * HOUR, due_at=timezone.now())
    reading.read_due()
    first = WebhookDelivery.objects.order_by("received_at")[0]
    assert stands(parcel) == ("delivered", first.received_at)


def test_an_old_delivery_read_again_counts_from_when_it_arrived(parcel: Parcel) -> None:
    then = timezone.now() - 50 * HOUR
    body = json.dumps(wire(parcel, "Delivered", then + AHEAD)).encode()
    old = factories.delivery(body=body, received_at=then, state="quarantined", reason="another form")
    reading.read_deliveries(old.pk)
    assert stands(parcel) == ("delivered", then)


def test_scans_of_a_watched_parcel_are_dated_by_the_poll_and_keep_their_order(
    carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    parcel = factories.watch(quill, alice, reference="SFOREIGN7").parcel

    before = timezone.now()
    tracked = SimpleNamespace(
        scans=[
            read_scan(wire(parcel, word, before + hours * HOUR), contract_of(parcel.account))
            for hours, word in ((10, "Delivered"), (9, "In Transit"), (8, "Pickup"))
        ],
        unreadable=(), pickup_date=None, is_cancellable=None,
    )  # fmt: skip
    for hours in (0, 6):
        polling.take_scans(parcel, tracked, now=before + hours * HOUR)  # type: ignore[arg-type]
    assert stands(parcel) == ("delivered", before)


def test_an_unknown_reference_follows_the_same_rule() -> None:
    factories.deliver(json.dumps(wire(Parcel(reference="SNOBODYS1"), "Pickup", timezone.now() + AHEAD)).encode())
    parcel, delivery = Parcel.objects.get(), WebhookDelivery.objects.get()
    assert (parcel.progress_at, parcel.last_scan_at) == (delivery.received_at, delivery.received_at)


# -- What people see -------------------------------------------------------------------------------


def test_the_timeline_shows_and_marks_the_time_of_receipt_and_sorts_by_it(parcel: Parcel) -> None:
    came(wire(parcel, "Delivered", NOW + HOUR), NOW + HOUR)
    came(wire(parcel, "Pickup", NOW + AHEAD), NOW)
    came(wire(parcel, "In Transit", NOW + 15 * MINUTE), NOW)
    entries = timeline.for_parcel(parcel, dt.UTC)  # type: ignore[arg-type]
    assert [(entry.words, entry.at, entry.is_clock_ahead) for entry in entries] == [
        ("Delivered", NOW + HOUR, False), ("On the way", NOW + 15 * MINUTE, False), ("Picked up", NOW, True),
    ]  # fmt: skip
    steps = milestones.of_order(Order.objects.get(), "delivered", entries)
    assert [step.at for step in steps[1:3]] == [NOW, NOW + 15 * MINUTE]


@pytest.mark.parametrize("is_watched", [False, True])
def test_the_page_shows_no_day_after_today(
    parcel: Parcel, quill: Sender, alice: User, visit: Callable[[User], Client], is_watched: bool
) -> None:
    now = timezone.now()
    address = f"/parcels/{Order.objects.get().uuid}/"
    if is_watched:
        watch = factories.watch(quill, alice, reference="SFOREIGN7")
        parcel, address = watch.parcel, f"/watch/{watch.uuid}/"
    came(wire(parcel, "Delivered", now + 24 * HOUR), now)
    shown = text(visit(alice).get(address))
    tomorrow, today = ((now + days * 24 * HOUR).astimezone(quill.tzinfo) for days in (1, 0))
    assert f"{tomorrow:%a} {tomorrow.day} {tomorrow:%b}" not in shown
    assert f"Delivered on {today:%a} {today.day} {today:%b}" in shown
    assert shown.count(MARK) == 1


def test_reports_count_from_the_time_of_receipt(parcel: Parcel) -> None:
    came(wire(parcel, "Pickup", NOW + AHEAD), NOW)
    came(wire(parcel, "In Transit", NOW + 2 * HOUR), NOW + 2 * HOUR)
    [found] = scans_of(Order.objects.all()).values()
    assert found.moved_at == NOW


def test_an_export_has_the_time_by_the_carriers_clock(parcel: Parcel) -> None:
    came(wire(parcel, "Pickup", NOW + AHEAD), NOW)
    came(wire(parcel, "In Transit", NOW + HOUR), NOW + HOUR)
    one, other = exported.scan_rows([parcel.order_id or 0], Sender.objects.get(pk=Order.objects.get().sender_id).tzinfo)
    assert (one["Time, UTC"], one["Carrier's clock"]) == (
        "2026-11-27T07:00:00Z", "Ahead: it said 2026-11-27T17:30:00Z, so the time is when it reached us",
    )  # fmt: skip
    assert (other["Time, UTC"], other["Carrier's clock"]) == ("2026-11-27T08:00:00Z", "")


# -- What operators see ----------------------------------------------------------------------------


@pytest.mark.postgres
def test_the_admin_counts_scans_from_the_future_and_shows_how_far_ahead_the_clock_is(
    parcel: Parcel, staff: Client
) -> None:
    now = timezone.now()
    for lead, ago in ((AHEAD - 2 * SECOND, 1), (9 * HOUR, 23), (14 * MINUTE, 1), (20 * HOUR, 25)):
        came(wire(parcel, "In Transit", now - ago * HOUR + lead), now - ago * HOUR)
    [clock] = health.clocks_ahead(now)
    assert (clock.account, clock.scans, clock.by) == (parcel.account.name, 2, "10:30")
    page = text(staff.get("/admin/health/"))
    assert f"{parcel.account.name}: the carrier's clock is ahead by 10:30. 2 scans of the last 24 hours" in page
    listed = staff.get(clock.url).context["cl"].result_list
    assert sorted(event.clock_ahead_by for event in listed) == ["10:30", "20:00", "9:00"]


def test_a_clock_up_to_a_quarter_of_an_hour_ahead_is_not_reported(parcel: Parcel) -> None:
    now = timezone.now()
    came(wire(parcel, "In Transit", now + 15 * MINUTE), now)
    assert health.clocks_ahead(now) == []


# -- One rule, in Python and in the database -------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.parametrize("lead", [-HOUR, 0 * HOUR, 15 * MINUTE, 15 * MINUTE + SECOND, AHEAD, 300 * 365 * 24 * HOUR])
@pytest.mark.parametrize("received", [NOW, NOW + dt.timedelta(microseconds=123456)])
def test_the_database_dates_a_scan_as_python_does(parcel: Parcel, lead: dt.timedelta, received: dt.datetime) -> None:
    event = factories.event(parcel, scan_time=received + lead, received_at=received)
    found = TrackingEvent.objects.annotate(at=happened_at()).get()
    assert found.at == event.happened_at == received + (lead if lead <= 15 * MINUTE else 0 * HOUR)
    assert TrackingEvent.objects.filter(IS_AHEAD).exists() == bool(event.clock_ahead) == (lead > 15 * MINUTE)


def test_scans_stored_before_are_recomputed(parcel: Parcel, quill: Sender, alice: User) -> None:
    ahead = factories.event(
        parcel, scan_time=NOW + 30 * HOUR, received_at=NOW, set_aside="scan time is more than a day ahead"
    )
    other = factories.parcel(factories.order(quill, alice, status="booked"))
    factories.event(other, scan_time=NOW, received_at=NOW)
    overtaken = factories.event(other, scan_time=NOW, received_at=NOW + HOUR, pushed_at=NOW, source="poll")
    migration = import_module("tracking.migrations.0006_scans_dated_ahead")
    migration.fold_again(apps, SimpleNamespace(connection=connection))
    for row in (ahead, other, overtaken, parcel):
        row.refresh_from_db()
    assert (ahead.set_aside, overtaken.received_at) == ("", NOW)
    assert parcel.due_at > timezone.now()
    assert other.due_at is None
