"""A label made with a test key is never printed by mistake. Only its parcel's page links to it, below a red banner."""

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from orders.models import Label, Order
from orders.notices import reminders
from shipping_portal.accounts.models import Notification, Sender, User
from tests import factories
from tests.pages.typed import text
from tests.tracking.test_exports import everything_of, packed, proof_of

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
LEFT_OUT = "1 worthless label left out. Made with a test key, so no carrier takes it: STEST1"


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


def labelled(of: Sender, by: User, reference: str) -> Order:
    day = timezone.now().astimezone(of.tzinfo).date()
    made = factories.order(of, by, status="booked", carrier_reference=reference, carrier_pickup_date=day)
    factories.stored_label(made)
    return made


@pytest.fixture
def good(quill: Sender, alice: User) -> Order:
    return labelled(quill, alice, "SGOOD1")


@pytest.fixture
def worthless(quill: Sender, alice: User) -> Order:
    made = labelled(quill, alice, "STEST1")
    made.labels.update(is_worthless=True)
    return made


def listed(answer: object) -> list[str]:
    return [row["order"].carrier_reference for row in answer.context["rows"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("are_chosen", [False, True])
def test_the_print_page_leaves_a_test_label_out_and_says_so(
    page: Client, good: Order, worthless: Order, are_chosen: bool
) -> None:
    query = {"order": [good.uuid, worthless.uuid]} if are_chosen else {}
    answer = page.get("/parcels/print/", query)
    assert listed(answer) == ["SGOOD1"]
    assert LEFT_OUT in text(answer)
    assert answer.context["left_out"] == 0
    assert f'href="/parcels/{worthless.uuid}/"' in answer.content.decode()


def test_if_a_test_label_is_the_only_one_there_is_nothing_to_print(page: Client, worthless: Order) -> None:
    answer = page.get("/parcels/print/")
    assert "No labels to print" in text(answer)
    assert LEFT_OUT in text(answer)


def test_no_count_of_labels_to_print_includes_a_test_label(page: Client, good: Order, worthless: Order) -> None:
    assert page.get("/today/").context["unprinted"] == 1
    answer = page.get("/parcels/?view=labels-to-print")
    assert (listed(answer), answer.context["unprinted"]) == (["SGOOD1"], 1)


def test_the_zip_leaves_a_test_label_out_and_says_so(page: Client, good: Order, worthless: Order) -> None:
    archive = zipfile.ZipFile(io.BytesIO(page.get("/parcels/print/originals.zip").getvalue()))  # type: ignore[attr-defined]
    assert [name for name in archive.namelist() if name.endswith(".pdf")] == ["full-page/01_SGOOD1_TAMSIN_7000.pdf"]
    left_out = archive.read("NOT-INCLUDED.txt").decode()
    assert left_out == "STEST1: Its label is worthless: it was made with a test key, and no carrier takes it.\n"


def test_an_accounts_export_and_a_proof_pack_leave_a_test_label_out_and_say_so(
    quill: Sender, alice: User, good: Order, worthless: Order
) -> None:
    archive = packed(everything_of(quill, alice))
    assert [name for name in archive.namelist() if name.endswith(".pdf")] == [
        "labels/full-page/01_SGOOD1_TAMSIN_7000.pdf"
    ]
    assert "STEST1 full-page: Its label is worthless" in archive.read("NOT-INCLUDED.txt").decode()
    archive = packed(proof_of(worthless))
    assert [name for name in archive.namelist() if name.endswith(".pdf")] == []
    assert "STEST1: Its label is worthless" in archive.read("NOT-INCLUDED.txt").decode()


def test_the_parcels_page_opens_a_test_label_below_the_banner_without_print(page: Client, worthless: Order) -> None:
    answer = page.get(f"/parcels/{worthless.uuid}/")
    words, body, file = text(answer), answer.content.decode(), f"/parcels/{worthless.uuid}/label/full.pdf"
    assert "This label is worthless: it was made with a test key." in words
    assert f'href="{file}"' in body
    assert page.get(file).status_code == 200
    assert [
        word for word in ("Print label", "Print again", "Mark printed", "Print at", "stick it on") if word in words
    ] == []


def test_a_test_label_stays_worthless_when_a_cancellation_is_refused(page: Client, worthless: Order) -> None:
    problem = {"kind": "cancel_refused", "text": "Too late."}
    Order.objects.filter(pk=worthless.pk).update(problem=problem, cancel_refused_at=timezone.now())
    words = text(page.get(f"/parcels/{worthless.uuid}/"))
    assert "This label is worthless" in words
    assert "its label is good" not in words
    assert listed(page.get("/parcels/print/")) == []


@pytest.mark.parametrize("sheet", ["pick-list", "handover"])
def test_the_sheets_of_a_pickup_day_leave_a_test_label_out_and_say_so(
    page: Client, good: Order, worthless: Order, sheet: str
) -> None:
    answer = page.get(f"/parcels/print/{sheet}/")
    assert listed(answer) == ["SGOOD1"]
    assert LEFT_OUT in text(answer)


def test_nobody_is_reminded_to_print_a_test_label(quill: Sender, good: Order, worthless: Order) -> None:
    Label.objects.filter(order=good).update(state="pending", stored_at=None)
    now = dt.datetime.combine(good.carrier_pickup_date or dt.date.max, dt.time(7, 30), quill.tzinfo)
    reminders.send_due_reminders(now.astimezone(dt.UTC))
    assert ["SGOOD1" in line for line in Notification.objects.values_list("line", flat=True)] == [True]


def test_labels_an_older_version_flagged_on_their_order_are_marked(worthless: Order, good: Order) -> None:
    Label.objects.update(is_worthless=False)
    Order.objects.filter(pk=worthless.pk).update(problem={"kind": "test_label"})
    import_module("orders.migrations.0015_worthless_labels").mark_known(apps, None)
    assert [label.order for label in Label.objects.filter(is_worthless=True)] == [worthless]
