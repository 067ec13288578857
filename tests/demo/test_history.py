"""The demo's month of history matches today's code, and loading it moves it up to today."""

import datetime as dt
import hashlib
import json
import lzma
import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from orders.booking import recounting
from orders.calling import carrier_settings, gateway
from orders.calling.contract import client_of
from orders.models import CarrierAccount, DailySpend, Label, LabelBytes, Order
from shipping_portal.accounts import demo
from shipping_portal.accounts.models import User
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import Charge, WeekSum
from shipping_portal.reports.models import Counting, DayFigures
from shipping_portal.sandbox.labels import draw, label_file
from shipping_portal.staff.carrier.carrier_accounts import unreachable_accounts
from shipping_portal.staff.demo import demo_history
from tests.demo import fixture
from tests.demo.conftest import WEDNESDAY
from tests.demo.month import FIRST_MONDAY, Month
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery

pytestmark = pytest.mark.django_db
# What chance, the length of the month or its bills decide.
ACCIDENTAL = ("id", "uuid", "form_token", "form_hash", "key", "body_sha256", "fingerprint", "event_id", "request_id",
              "carrier_order_id", "carrier_reference", "search", "unbilled", "content")  # fmt: skip
CHANCE = re.compile(
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\bS[2-9A-Z]{7}\b|127\.0\.0\.1:\d+|:\d\d(\.\d+)?(?=Z|\+00)"
)


@pytest.mark.skipif("UPDATE_EXPECTED" not in os.environ, reason="UPDATE_EXPECTED=1 writes it; a minute")
def test_the_month_can_be_regenerated(month: Callable[[int], Month]) -> None:
    fixture.write(month(25), demo_history.FILE)
    assert demo_history.FILE.stat().st_size < 300_000


@pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"],
    reason="it is kept with the numbers of a new database, and PostgreSQL takes none of a test back",
)
def test_todays_code_makes_the_same_month_as_the_stored_one(month: Callable[[int], Month]) -> None:
    """This compares its first three days column by column: everything they book, print, scan and store."""
    kept, made = json.loads(lzma.decompress(demo_history.FILE.read_bytes())), fixture.recorded(month(3))
    for label, table in made["tables"].items():
        assert kept["tables"][label]["columns"] == table["columns"], f"{label}: write it with UPDATE_EXPECTED=1"
    booked = len(made["tables"]["orders.Order"]["rows"])
    assert booked == 21
    for label in ("orders.Order", "orders.BookingAttempt", "tracking.TrackingEvent", "orders.LabelBytes"):
        for here, there in zip(_of_the_first(booked, made, label), _of_the_first(booked, kept, label), strict=True):
            assert {name: here[name] for name in here if here[name] != there[name]} == {}, (label, there)


def _of_the_first(orders: int, month: dict[str, Any], label: str) -> list[dict[str, Any]]:
    """Return a table's rows of the first orders, without values that depend on chance, the clock or a bill."""
    columns, rows = month["tables"][label]["columns"], month["tables"][label]["rows"]
    owner = next(name for name in ("order", "parcel", "label", "id") if name in columns)
    most = orders * 2 if owner == "label" else orders
    mine = [dict(zip(columns, row, strict=True)) for row in rows]
    found = [{name: cell for name, cell in row.items() if name not in ACCIDENTAL} for row in mine if row[owner] <= most]
    return [json.loads(CHANCE.sub("…", json.dumps(row))) for row in found]


@pytest.mark.parametrize("day", range(7))
def test_the_last_days_are_business_days_whenever_it_is_loaded(day: int) -> None:
    now = WEDNESDAY + dt.timedelta(days=day)

    def moved(date: dt.date) -> dt.date:
        return dt.date.fromisoformat(demo_history.with_dates_at(str(date), now))

    live = [moved(demo_history.LIVE + dt.timedelta(days=ahead)) for ahead in range(5)]
    assert live == sorted(set(live))
    assert [one for one in live if one.weekday() > 4] == []
    assert (now.date() - live[-1]).days <= (2 if now.weekday() > 4 else 0)
    closed = [FIRST_MONDAY + dt.timedelta(days=ahead) for ahead in range(28)]
    assert [moved(one).weekday() for one in closed] == [one.weekday() for one in closed]
    assert moved(closed[-1]) < now.date() <= moved(closed[-1]) + dt.timedelta(days=7)


def test_nothing_in_the_month_is_in_the_future(loaded: Path) -> None:
    soon = timezone.now() + dt.timedelta(minutes=1)
    for model, name in (
        (Order, "progress_at"),
        (TrackingEvent, "scan_time"),
        (Label, "stored_at"),
        (Charge, "posted_at"),
    ):
        assert not model.objects.filter(**{f"{name}__gt": soon}).exists(), name  # type: ignore[attr-defined]
    assert Order.objects.filter(status="booked", progress="").count() == 7
    states = set(Order.objects.values_list("progress", flat=True))
    assert states >= {"delivered", "in_transit", "out_for_delivery", "held", "pickup_missed", "returning"}
    assert not Poll.objects.filter(due_at__lt=timezone.now() - dt.timedelta(minutes=1)).exists()
    assert not Order.objects.filter(due_at__isnull=False).exists()
    assert list(recounting.miscounted_rows(timezone.now())) == []


def test_its_labels_are_the_carriers_own_files(loaded: Path, carrier: SandboxCarrier) -> None:
    with SandboxCarrier(loaded) as again:
        app = again.running.app
        for kept in LabelBytes.objects.select_related("label__order"):
            order, size = kept.label.order, demo_history.CARRIERS_SIZES[kept.label.size]
            parcel = app.depot.parcels[order.carrier_reference or ""]
            assert bytes(kept.content) == label_file(parcel, size, app.contract, loaded / "labels")
            if not parcel.first_scan_of("pickup_missed"):  # its new pickup day is on no label
                assert bytes(kept.content) == draw(parcel, size, app.contract)
            assert kept.label.sha256 == hashlib.sha256(kept.content).hexdigest()


def test_the_carrier_knows_the_months_parcels_and_sends_nothing_new_about_them(loaded: Path, settings: Any) -> None:
    with SandboxCarrier(loaded, key=settings.CARRIER_KEY) as again:
        settings.CARRIER_BASE_URL, before = again.url, TrackingEvent.objects.count()
        client = client_of(carrier_settings.current_settings())
        for parcel in Parcel.objects.exclude(progress="delivered"):
            polling.take_scans(parcel, client.track(parcel.reference), now=timezone.now())
        assert (TrackingEvent.objects.count(), WebhookDelivery.objects.count()) == (before, 0)
        waiting = Order.objects.filter(status="booked", progress="").first()
        assert waiting
        assert client.cancel(waiting.carrier_order_id, not_after=None).state


def test_the_month_follows_the_sandbox_carrier_to_another_port(loaded: Path, settings: Any) -> None:
    for port in (8101, 8100):
        settings.CARRIER_BASE_URL = f"http://127.0.0.1:{port}"
        demo_history.follow_the_carrier()
        assert not unreachable_accounts().exists()
        here = f"{settings.CARRIER_BASE_URL}/tracking-page?ref="
        elsewhere = Order.objects.exclude(public_tracking_url__startswith=here)
        assert [order.status for order in elsewhere] == ["unconfirmed"]  # nobody knows its reference yet
        assert CarrierAccount.objects.count() == 1


def test_two_accounts_with_orders_each_keep_their_own(loaded: Path, settings: Any) -> None:
    settings.CARRIER_BASE_URL = "http://127.0.0.1:8100"
    demo_history.follow_the_carrier()
    moved = Order.objects.latest("pk")
    settings.CARRIER_BASE_URL = "http://127.0.0.1:8101"
    Order.objects.filter(pk=moved.pk).update(account=gateway.current_account())
    demo_history.follow_the_carrier()
    assert Order.objects.filter(account__in=unreachable_accounts()).count() == Order.objects.count() - 1


@pytest.mark.parametrize(
    ("url", "account"),
    [("http://127.0.0.2:8101", "demo-account"), ("https://carrier.example", "demo-account"),
     ("http://127.0.0.1:8101", "another")],
)  # fmt: skip
def test_parcels_of_another_carrier_stay_with_it(loaded: Path, settings: Any, url: str, account: str) -> None:
    settings.CARRIER_BASE_URL, settings.CARRIER_ACCOUNT = "http://127.0.0.1:8100", "demo-account"
    demo_history.follow_the_carrier()
    [row] = CarrierAccount.objects.all()
    other = CarrierAccount.objects.create(name=f"{account} at {url}", fingerprint="another")
    Order.objects.update(account=other)
    demo_history.follow_the_carrier()
    assert set(CarrierAccount.objects.values_list("pk", flat=True)) == {row.pk, other.pk}
    assert not Order.objects.exclude(account=other).exists()


def test_pages_show_the_month(loaded: Path, visit: Callable[[User], Client]) -> None:
    page = visit(User.objects.get(email=demo.SENDER_EMAIL))
    for address in ("/today/", "/parcels/", "/billing/", "/reports/", "/parcels/print/", "/addresses/"):
        assert page.get(address).status_code == 200, address
    assert "No parcels yet" not in page.get("/parcels/").content.decode()


def test_the_months_reports_are_counted(loaded: Path) -> None:
    assert Counting.objects.get().counted_at
    assert DayFigures.objects.filter(figures__has_key="delivered").count() > 20


def test_the_totals_of_every_week_are_right(loaded: Path) -> None:
    assert WeekSum.objects.exists()
    assert week_sums.wrong_weeks(Q()) == set()


def test_the_spend_of_every_day_is_right(loaded: Path) -> None:
    """Otherwise the next booking would begin its day at nothing, and the admin would report a wrong counter."""
    spent = dict.fromkeys(Order.objects.exclude(reserved_on=None).values_list("reserved_on", flat=True), Decimal(0))
    for order in Order.objects.exclude(reserved_on=None):
        spent[order.reserved_on] += order.reserved
    assert dict(DailySpend.objects.values_list("day", "spent")) == spent
    assert len(spent) > 20


def test_a_database_that_has_orders_is_not_overwritten(loaded: Path) -> None:
    assert not demo_history.load_history(timezone.now())
