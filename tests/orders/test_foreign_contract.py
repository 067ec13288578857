"""The main job with a carrier that differs in about fifty points: only the contract file changes, no code."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from orders.booking import bookings, resolving
from orders.calling import gateway
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import CarrierCall, Label, Order
from orders.quoting import asking
from orders.status import references
from shipping_portal.accounts.models import Sender, User
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import verifying
from tests import factories
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tracking import pages, polling, watching
from tracking.models import Poll, TrackingEvent, WebhookDelivery
from tracking.scanning import reading

pytestmark = pytest.mark.django_db

EXAMPLE = Path(__file__).parents[2] / "docs" / "contract-example.toml"
FOREIGN = Path(__file__).with_name("foreign.toml")


@pytest.fixture
def foreign(tmp_path: Path, settings: Any) -> Iterator[SandboxCarrier]:
    settings.CARRIER_CONTRACT = str(FOREIGN)
    with SandboxCarrier(tmp_path / "foreign", contract=FOREIGN.read_text(), key=settings.CARRIER_KEY) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it
        assert improper(it.requests()) == []


def book(quill: Sender, alice: User, code: str) -> Order:
    now = timezone.now()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    order = bookings.submit(quote=quote, code=code, by=alice, form_token=uuid.uuid4(), pickup_date=None, now=now)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    return order


def test_the_main_job_works_with_a_foreign_contract(foreign: SandboxCarrier, quill: Sender, alice: User) -> None:
    order = book(quill, alice, "STANDARD-PICKUP")
    assert order.status == "booked", order.problem
    assert order.carrier_reference == foreign.ledger("booked")[0]["reference"]
    assert order.charged_price == order.price

    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert all(label.intact_bytes().startswith(b"%PDF-") for label in order.labels.all())

    polling.open_parcel(order.pk)
    Poll.objects.update(due_at=timezone.now())
    foreign.scan(order.carrier_reference, "Collected by driver", push=False)
    foreign.scan(order.carrier_reference, "At the door", push=False)
    polling.poll_due_parcel(order.parcel.pk)
    order.refresh_from_db()
    assert order.progress == "delivered"
    assert pages.tracking_page_link(order, by=alice, now=timezone.now()).startswith(foreign.url)


def test_cancelling_and_refusals_work_with_a_foreign_contract(
    foreign: SandboxCarrier, quill: Sender, alice: User
) -> None:
    order = book(quill, alice, "STANDARD-DROPOFF")
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert order.status == "cancelled"

    foreign.trouble("book", "422")
    refused = book(quill, alice, "STANDARD-PICKUP")
    assert (refused.status, bool(refused.problem["text"])) == ("rejected", True)


def test_a_lost_reply_is_resolved_with_the_foreign_key_header(
    foreign: SandboxCarrier, quill: Sender, alice: User
) -> None:
    foreign.trouble("book", "commit-close")
    order = book(quill, alice, "STANDARD-PICKUP")
    assert order.status == "unconfirmed"
    Order.objects.update(due_at=timezone.now())
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"
    assert len(foreign.ledger("booked")) == 1


SHAPES = ["[0-9]{22}", "[A-Z]{3}-[A-Z0-9]{36}", "33[0-9]{12}|99[0-9]{20}"]
Visit = Callable[[User], Client]
CarrierWith = Callable[..., SandboxCarrier]


def pushed(event: dict[str, Any]) -> int:
    """Return what the listener replies to this event."""
    token = settings.WEBHOOK_SECRETS[0].partition(":")[2]
    answer = Client().post(f"/webhooks/tracking/{token}/", json.dumps(event), "application/json")
    reading.read_due()
    return answer.status_code


@pytest.mark.parametrize("as_numbers", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_references_of_any_format_work_with_the_contract_file_alone(
    carrier_with: CarrierWith, quill: Sender, alice: User, visit: Visit, shape: str, as_numbers: bool
) -> None:
    carrier = carrier_with(f'reference_shape = "{shape}"', number_ids=as_numbers)
    order = book(quill, alice, "STANDARD-PICKUP")
    reference = str(order.carrier_reference)
    assert (order.status, bool(re.fullmatch(shape, reference))) == ("booked", True), order.problem
    assert order.carrier_order_id == carrier.ledger("booked")[0]["order_id"]

    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert all(label.intact_bytes().startswith(b"%PDF-") for label in order.labels.all())

    polling.open_parcel(order.pk)
    carrier.scan(reference, "Pickup", push=False)
    polling.take_scans(
        order.parcel, gateway.carrier_client(gateway.current_account()).track(reference), now=timezone.now()
    )
    number = int(reference) if as_numbers and reference.isdigit() else reference
    event = {"carrier_reference": number, "event_id": str(uuid.uuid4()), "event_type": "Delivered"}
    assert pushed({**event, "scan_time": "2026-11-18T21:21:05Z", "description": "At the door"}) == 200
    types = TrackingEvent.objects.filter(parcel__reference=reference).values_list("event_type", flat=True)
    assert sorted(types) == ["Delivered", "Pickup"]

    page = visit(alice)
    assert page.get(f"/parcels/{reference}/")["Location"] == f"/parcels/{order.uuid}/"
    assert references.with_reference(Order.objects.all(), reference.lower()).get() == order
    page.post("/watch/", {"reference": f"https://track.example/shipments/x?ref={reference}&x=1"})
    assert quill.watches.get().parcel.reference == reference

    other = book(quill, alice, "STANDARD-PICKUP")
    cancels.ask_to_cancel(other, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(other.pk)
    other.refresh_from_db()
    assert other.status == "cancelled"


def test_a_reference_of_another_format_is_refused_with_an_example(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier_with('reference_shape = "[0-9]{12}"')
    with pytest.raises(watching.NotAReference):
        watching.reference_in("S7K2QX9")
    order = factories.order(quill, alice)
    with pytest.raises(Refused, match="One looks like 729472947294"):
        verifying.confirm_reference(order, "S7K2QX9", "")


def test_an_unclear_booking_is_adopted_by_a_reference_of_any_format(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier = carrier_with('reference_shape = "[a-z]{4}[0-9]{30}"')
    carrier.trouble("book", "commit-close")
    order = book(quill, alice, "STANDARD-PICKUP")
    made = carrier.ledger("booked")[0]
    confirmed = verifying.confirm_reference(order, made["reference"].upper(), made["order_id"])
    assert confirmed.reference == made["reference"]


@pytest.mark.parametrize("tokens", [False, True])
def test_scans_that_come_in_pages_are_all_read(
    carrier_with: CarrierWith, quill: Sender, alice: User, tokens: bool
) -> None:
    carrier = carrier_with('tracking_next = "paging.next"\nmost_tracking_pages = 4')
    carrier.settings(scans_a_page=1, page_tokens=tokens)
    order = book(quill, alice, "STANDARD-PICKUP")
    polling.open_parcel(order.pk)
    for word in ("Pickup", "In Transit", "Delivered"):
        carrier.scan(str(order.carrier_reference), word, push=False)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(order.parcel.pk)
    order.refresh_from_db()
    assert (order.progress, order.parcel.events.count()) == ("delivered", 3)
    assert not WebhookDelivery.objects.exists()


def test_pages_beyond_the_limit_are_reported_to_the_operator(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier = carrier_with('tracking_next = "paging.next"\nmost_tracking_pages = 2')
    carrier.settings(scans_a_page=1)
    order = book(quill, alice, "STANDARD-PICKUP")
    polling.open_parcel(order.pk)
    for word in ("Pickup", "In Transit", "Delivered"):
        carrier.scan(str(order.carrier_reference), word, push=False)
    for _ in range(2):
        Poll.objects.update(due_at=timezone.now())
        polling.poll_due_parcel(order.parcel.pk)
    assert order.parcel.events.count() == 2
    assert WebhookDelivery.objects.get().reason == "more than 2 pages of scans"
    outcomes = CarrierCall.objects.filter(operation="track").order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["ok", "incomplete"] * 2


def test_labels_named_only_in_the_booking_reply_are_fetched_from_there(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier = carrier_with('view = ""\nfull_page_sizes = ["Whole page"]\ncropped_sizes = ["6x4"]')
    order = book(quill, alice, "STANDARD-PICKUP")
    kept = order.labels.values_list("address", flat=True)
    assert all(address.startswith(f"{carrier.url}/orders/") for address in kept)
    assert len(set(kept)) == 2
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert all(label.intact_bytes().startswith(b"%PDF-") for label in order.labels.all())
    assert set(order.labels.values_list("state", "address")) == {("stored", "")}
    assert not [request for request in carrier.requests() if request["operation"] == "view"]


def test_a_label_missing_from_the_reply_goes_to_the_operator_if_orders_cannot_be_read(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier = carrier_with('view = ""')
    carrier.settings(labels_pending_seconds=60)
    label = book(quill, alice, "STANDARD-PICKUP").labels.first()
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.due_at) == ("failed", None)
    assert "has no view to ask again" in label.problem


def test_a_stored_label_url_on_another_host_is_never_requested(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier_with('view = ""')
    label = book(quill, alice, "STANDARD-PICKUP").labels.first()
    Label.objects.filter(pk=label.pk).update(address="http://169.254.169.254/label.pdf")
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.problem) == ("failed", "The label's address is not one of the carrier's.")


def test_a_cancelled_orders_label_urls_are_deleted(carrier_with: CarrierWith, quill: Sender, alice: User) -> None:
    carrier_with('view = ""')
    order = book(quill, alice, "STANDARD-PICKUP")
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert set(order.labels.values_list("address", flat=True)) == {""}


def test_a_stored_label_url_is_on_no_admin_page_and_in_no_log(
    carrier_with: CarrierWith, quill: Sender, alice: User, sam: User, visit: Visit
) -> None:
    carrier = carrier_with('view = ""')
    label = book(quill, alice, "STANDARD-PICKUP").labels.first()
    staff = visit(sam)
    for url in (f"/admin/orders/label/{label.pk}/change/", "/admin/orders/label/"):
        answer = staff.get(url)
        assert answer.status_code == 200
        assert carrier.url not in answer.content.decode()
    fetching.fetch_due_label(label.pk)
    paths = CarrierCall.objects.filter(operation="label").values_list("path", flat=True)
    assert set(paths) == {"(label address)"}


def test_the_example_files_carrier_works_with_only_that_file(
    carrier_with: CarrierWith, quill: Sender, alice: User, visit: Visit
) -> None:
    carrier = carrier_with(EXAMPLE.read_text(), number_ids=True)
    carrier.settings(scans_a_page=1)
    order = book(quill, alice, "STANDARD-PICKUP")
    reference = str(order.carrier_reference)
    assert (order.status, reference[:2], len(reference)) == ("booked", "33", 14), order.problem
    assert order.carrier_order_id.isdigit()
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    assert all(label.intact_bytes().startswith(b"%PDF-") for label in order.labels.all())

    polling.open_parcel(order.pk)
    for word in ("Collected by driver", "In Transit"):
        carrier.scan(reference, word, push=False)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(order.parcel.pk)
    event = {"consignment": int(reference), "event_id": str(uuid.uuid4()), "event_type": "At the door"}
    when = timezone.now().isoformat(timespec="seconds")
    assert pushed({**event, "scan_time": when, "description": "Handed over"}) == 200
    order.refresh_from_db()
    assert (order.progress, order.parcel.events.count()) == ("delivered", 3)
    assert visit(alice).get(f"/parcels/{reference}/")["Location"] == f"/parcels/{order.uuid}/"

    other = book(quill, alice, "STANDARD-DROPOFF")
    cancels.ask_to_cancel(other, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(other.pk)
    other.refresh_from_db()
    assert other.status == "cancelled"


def test_a_parcel_with_scans_beyond_the_limit_is_not_cancelled(
    carrier_with: CarrierWith, quill: Sender, alice: User
) -> None:
    carrier = carrier_with('tracking_next = "paging.next"\nmost_tracking_pages = 2')
    carrier.settings(scans_a_page=1)
    order = book(quill, alice, "STANDARD-PICKUP")
    for word in ("Info", "Info", "Pickup"):
        carrier.scan(str(order.carrier_reference), word, push=False)
    cancels.ask_to_cancel(order, by=alice, why="not_sending", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"
    assert "Not all of its scans can be read" in order.changes.last().reason
