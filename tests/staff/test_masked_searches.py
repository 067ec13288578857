"""A masked value is found only by its full text. Searching for parts would reveal it letter by letter."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import DatabaseError, transaction
from django.test import Client, RequestFactory

from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.security.data_classes import PERSONAL, SECRETS

SEARCHED = [(model, page) for model, page in admin.site._registry.items() if page.search_fields]
# Every operator sees these unmasked on the lists or pages that search them.
SHOWN = {
    "accounts.Sender": {"name"}, "accounts.User": {"email", "name"}, "accounts.ApiToken": {"name"}, "importing.Import": {"file_name"},
    "accounts.PickupAddress": {"name", "suburb", "postcode"},
    "orders.Order": {"receiver_name", "receiver_company", "receiver_suburb", "receiver_postcode"},
}  # fmt: skip
EMAIL, PHONE = "zora.qcanaryq@qhostq.example", "(03) 9012 3477"
PARTS = [
    "zora", "qcanaryq", "zora.qcanaryq", "zora.qcanaryq@", "zora.qcanaryq@qhostq", "qhostq", "@qhostq.example",
    "canaryq@qhostq.example", "a.qcanaryq@qhostq.example", "zo", "(03)", "9012", "3477", "9012 3477", "(03) 9012",
    "901", "77", "0390123", "90123477",
]  # fmt: skip


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    made = factories.order(
        quill, alice, status="booked", receiver_email=EMAIL, receiver_phone=PHONE, receiver_name="Noor Tamsin",
        receiver_company="Sample Mugs", receiver_postcode="7000",
    )  # fmt: skip
    made.search = made.search_text()
    made.save()
    return made


def test_no_list_finds_part_of_a_value_it_masks(
    row: Callable[[], None], order: Order, sam: User, rf: RequestFactory
) -> None:
    row()
    held = {(name, column) for one in (PERSONAL, SECRETS) for name in one for column in one[name].columns.split()}
    shown = {(name, column) for name, columns in SHOWN.items() for column in columns}
    columns = sorted(held - shown - {("orders.Order", "search")})
    written = {text for number, (name, column) in enumerate(columns) if (text := _write(name, column, number))}
    assert {EMAIL, PHONE} <= written
    assert len(written) > len(columns) / 2
    for made in Order.objects.all():
        Order.objects.filter(pk=made.pk).update(search=made.search_text())
    halves = {half for text in written for half in (text[: len(text) // 2], text[len(text) // 2 :])}
    request = rf.get("/")
    request.user = sam
    for model, page in SEARCHED:
        for half in sorted(halves):
            found, _ = page.get_search_results(request, page.get_queryset(request), half)
            assert not found.exists(), (model, half)


def _write(name: str, column: str, number: int) -> str:
    """Write a unique value into this column of every row and return it, or "" if that isn't possible."""
    model = apps.get_model(name)
    field: Any = model._meta.get_field(column)
    own = {"receiver_email": EMAIL, "receiver_phone": PHONE}
    text = own.get(column, f"zq{number:03}{number * 7:04}qx"[: field.max_length])
    kept = {"email": text} if field.get_internal_type() == "JSONField" else text
    try:
        with transaction.atomic():
            model._default_manager.update(
                **{column: text.encode() if field.get_internal_type() == "BinaryField" else kept}
            )
    except DatabaseError:  # one value for all rows, where each has its own
        return ""
    return text if len(text) > 6 else ""


@pytest.mark.parametrize("group", ["Read-only", "Support"])
def test_no_part_of_an_email_or_a_phone_finds_its_parcel(
    group: str, operator: Callable[[str], Client], order: Order
) -> None:
    browser = operator(group)
    for said in PARTS:
        assert list(browser.get("/admin/orders/order/", {"q": said}).context["cl"].queryset) == [], said
        assert browser.get("/admin/find/", {"q": said}).context["orders"] == [], said


@pytest.mark.parametrize(
    ("said", "is_recorded"),
    [
        (EMAIL, True), (EMAIL.upper(), True), (PHONE, True), ("03 9012 3477", True), ("+61390123477", True),
        ("tamsin 0390123477", True), (f"{EMAIL} 7000", True), ("noor", False), ("no", False), ("sample mu", False),
        ("7000", False), ("oor tam", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("group", ["Read-only", "Support"])
@pytest.mark.postgres
def test_a_full_value_finds_it_and_writes_an_audit_row_without_names(
    group: str, said: str, is_recorded: bool, operator: Callable[[str], Client], order: Order
) -> None:
    browser = operator(group)
    for address, found in (
        ("/admin/orders/order/", lambda page: list(page.context["cl"].queryset)),
        ("/admin/find/", lambda page: page.context["orders"]),
    ):
        before = set(Audit.objects.values_list("pk", flat=True))
        assert found(browser.get(address, {"q": said})) == [order]
        rows = Audit.objects.exclude(pk__in=before).filter(action="searched by contact details")
        assert [row.actor.is_staff for row in rows if row.actor] == [True] * is_recorded
        assert not any(part in row.reason for row in rows for part in ("qcanaryq", "9012"))


def test_one_phone_is_one_hash_however_it_is_spelled(operator: Callable[[str], Client], order: Order) -> None:
    browser = operator("Support")
    for said in ("03 9012 3477", "+61 3 9012 3477", "(03) 9012 3477"):
        browser.get("/admin/find/", {"q": said})
    reasons = Audit.objects.filter(action="searched by contact details").values_list("reason", flat=True)
    assert len(reasons) == 3
    assert len(set(reasons)) == 1


def test_a_search_for_somebody_to_erase_is_audited(operator: Callable[[str], Client], order: Order) -> None:
    operator("Ops lead").post("/admin/orders/order/erase/", {"phone": "9012", "name": "", "email": "", "postcode": ""})
    assert Audit.objects.filter(action="searched by contact details").count() == 1


def test_a_senders_list_finds_no_parts_for_operators_who_may_not_reveal(
    operator: Callable[[str], Client], order: Order
) -> None:
    browser = operator("Billing")
    browser.post(f"/admin/accounts/sender/{order.sender_id}/see_as/", {"reason": "she can't find her parcel"})
    for said in PARTS:
        page = browser.get("/parcels/", {"q": said})
        assert page.status_code == 200, said
        assert f"/parcels/{order.uuid}/" not in page.content.decode(), said
