"""The walk through the code is true: every stop exists, and one traced booking calls them in that order."""

import base64
import itertools
import json
import re
import runpy
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import Order, Quote
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import booking as import_booking
from shipping_portal.importing import checking, submitting
from tests import factories
from tests.readme_commands import TYPED
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Poll
from tracking.scanning import reading

ROOT = Path(__file__).resolve().parents[1]
WALK = (ROOT / "docs/walk.md").read_text()
STOPS, ROW_STOPS = (
    re.findall(r"^\d+\. `([\w/]+\.py): (\w+)` – ", walk, re.MULTILINE)
    for walk in WALK.split("# Follow one row of a file")
)


def test_every_stop_is_an_existing_file_and_name() -> None:
    assert len(STOPS) > 20
    for path, name in STOPS + ROW_STOPS:
        assert re.search(rf"^\s*def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path}: {name}"


def test_each_walk_enters_a_module_once() -> None:
    """A walk never returns to a module it has left, so a reader needn't jump back and forth."""
    walks = re.split(r"^\*\*.+\*\*$", WALK, flags=re.MULTILINE)[1:]
    found = [re.findall(r"^\d+\. `([\w/]+\.py): \w+` – ", walk, re.MULTILINE) for walk in walks]
    assert sum(map(len, found)) == len(STOPS + ROW_STOPS)
    for walk in found:
        entered = [path for path, _ in itertools.groupby(walk)]
        assert len(entered) == len(set(entered)), walk


def test_every_setting_is_in_the_table_and_in_the_example() -> None:
    names = set(re.findall(r"env(?:\.\w+)?\(\s*\"([A-Z_]+)\"", (ROOT / "shipping_portal/settings.py").read_text()))
    table = (ROOT / "docs/settings.md").read_text()
    for name in names - {"TESTING"}:
        assert f"`{name}`" in table, name
    example = (ROOT / ".env.example").read_text()
    for name in ("SECRET_KEY", "CARRIER_BASE_URL", "CARRIER_PARTNER_ID", "WEBHOOK_SECRETS", "DATABASE_URL"):
        assert f"{name}=" in example, name


def test_an_older_accounts_settings_are_read_by_its_name_and_are_all_in_the_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Settings reach the process's environment from .env and from compose's env_file alike."""
    example = (ROOT / ".env.example").read_text()
    shown = re.findall(r"^#(CARRIER_OLD_[A-Z_]+)=", example, re.MULTILINE)
    for name in shown:
        monkeypatch.setenv(name, f"a,{name}")
    monkeypatch.setenv("OLDER_CARRIERS", "OLD, EU")
    read = runpy.run_path(str(ROOT / "shipping_portal/settings.py"))
    older = read["OLDER_CARRIERS"]
    assert list(older) == ["OLD", "EU"]
    assert set(shown) == {f"CARRIER_OLD_{part}" for part in older["OLD"]}
    assert older["OLD"].pop("WEBHOOK_SECRETS") == ["a", "CARRIER_OLD_WEBHOOK_SECRETS"]
    assert older["OLD"] == {part: f"a,CARRIER_OLD_{part}" for part in older["OLD"]}
    assert not any(older["EU"].values())


def test_the_second_accounts_settings_are_read_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECOND_CARRIER", "TWO")
    monkeypatch.setenv("CARRIER_TWO_TITLE", "Second Post")
    read = runpy.run_path(str(ROOT / "shipping_portal/settings.py"))
    assert read["SECOND_CARRIER"].keys() == {"TWO"}
    assert read["SECOND_CARRIER"]["TWO"].keys() == {*read["OF_A_CARRIER"], "WEBHOOK_SECRETS"}
    assert read["SECOND_CARRIER"]["TWO"]["TITLE"] == "Second Post"


def test_compose_gives_every_process_the_whole_env_file_and_the_contract_files() -> None:
    compose = (ROOT / "deploy/compose.yaml").read_text()
    shared = compose.partition("x-after-migration")[0]
    assert "env_file: ../.env" in shared
    for mount in (
        "${CARRIER_CONTRACT:-/dev/null}:/portal/contract.toml:ro",
        "${OLDER_CONTRACTS:-/dev/null}:/portal/contracts:ro",
    ):
        assert mount in shared


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 1200


@contextmanager
def first_calls(of: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Record (file, function) of these stops in the order of their first call, in every thread."""
    seen: dict[tuple[str, str], None] = {}
    wanted = set(of)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            stop = (frame.f_code.co_filename[len(str(ROOT)) + 1 :], frame.f_code.co_name)
            if stop in wanted:
                seen.setdefault(stop)

    calls: list[tuple[str, str]] = []
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        calls += seen


@pytest.mark.django_db
def test_one_booking_calls_the_stops_in_their_order(
    carrier: SandboxCarrier, alice: User, localities: None, visit: Callable[[User], Client]
) -> None:
    browser = visit(alice)
    with first_calls(STOPS) as calls:
        browser.post(reverse("new_parcel"), TYPED)
        quote = Quote.objects.get()
        pressed = {"product": "STANDARD-PICKUP", "form_token": str(quote.uuid), "pickup_date": ""}
        browser.post(factories.prices_of(quote) + "book/", pressed)
        order = Order.objects.get()
        bookings.process_booking(order.pk)
        polling.open_parcel(order.pk)
        order.labels.update(is_spare=False)  # both are wanted
        for label in order.labels.all():
            fetching.fetch_due_label(label.pk)
        order.refresh_from_db()
        assert order.carrier_reference
        deliver_a_scan(order.carrier_reference)
        page = browser.get(reverse("parcel", args=[order.uuid]))
        assert "Picked up" in page.content.decode()
        browser.get(reverse("label", args=[order.uuid, "full"]))
        Poll.objects.update(due_at=timezone.now())
        polling.poll_due_parcel(order.parcel.pk)
        other = factories.order(order.sender, alice, status="booking", due_at=timezone.now())
        bookings.process_booking(other.pk)
        other.refresh_from_db()
        cancels.ask_to_cancel(other, by=alice, why="not sending it", now=timezone.now())
        cancels.process_cancel(other.pk)
    assert calls == STOPS


@pytest.mark.django_db
def test_one_row_of_a_file_calls_the_stops_in_their_order(
    carrier: SandboxCarrier, quill: Sender, alice: User, localities: None
) -> None:
    cells = {**TYPED, "delivery_choice": ""}
    content = "\n".join(",".join(row) for row in (HEADINGS.values(), (cells[name] for name in HEADINGS)))
    with first_calls(ROW_STOPS) as calls:
        file = factories.taken(content.encode(), quill, alice)
        row = file.rows.get()
        checking.check_row(row.pk)
        submitting.begin(file, submitting.Press("cheapest", alice, timezone.now()))
        import_booking.book_row(row.pk)
    row.refresh_from_db()
    assert row.order
    assert calls == ROW_STOPS


HEADINGS = {
    "receiver_name": "Name",
    "receiver_line1": "Address 1",
    "receiver_suburb": "Suburb",
    "receiver_state": "State",
    "receiver_postcode": "Postcode",
    "receiver_email": "Email",
    "description": "Contents",
    "weight_kg": "Weight (kg)",
    "length_cm": "Length (cm)",
    "width_cm": "Width (cm)",
    "height_cm": "Height (cm)",
}


def deliver_a_scan(reference: str) -> None:
    event = {
        "carrier_reference": reference,
        "event_id": str(uuid.uuid4()),
        "event_type": "Pickup",
        "scan_time": "2026-11-20T01:00:00Z",
        "description": "Parcel picked up",
    }
    secret = base64.b64encode(settings.WEBHOOK_SECRETS[0].encode()).decode()
    Client().post(
        reverse("webhook"), json.dumps(event), content_type="application/json", HTTP_AUTHORIZATION=f"Basic {secret}"
    )
    reading.read_due()
