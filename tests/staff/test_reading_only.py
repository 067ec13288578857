"""Permanent records are read-only for everybody, superusers too; lists are fast and search works."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.masking import without_emails
from orders.models import Order
from shipping_portal.accounts.models import Audit, LocalityAlias, Sender, User
from tests import factories

EDITABLE = {LocalityAlias}
FACTS = sorted((model for model in admin.site._registry if model not in EDITABLE), key=lambda m: m._meta.label)
MOST_QUERIES = 12
MOST_ON_THE_FIRST_PAGE = 37  # every queue, the carrier's health and the gap meter


def _url(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_nobody_can_add_change_or_delete_a_permanent_record(staff: Client, row: Callable[[], None]) -> None:
    row()
    for model in FACTS:
        fact = model.objects.first()
        rows = model.objects.exclude(action="denied") if model is Audit else model.objects.all()
        before = list(rows.order_by("pk").values())
        everything = {field.name: "7" for field in model._meta.fields}
        assert staff.get(_url(model, "add")).status_code == 403, model
        assert staff.post(_url(model, "add"), everything).status_code == 403, model
        assert staff.post(_url(model, "delete", fact.pk), {"post": "yes"}).status_code == 403, model
        changed = staff.post(_url(model, "change", fact.pk), everything | {"_save": "Save"})
        assert changed.status_code == 403, model
        assert list(rows.all().order_by("pk").values()) == before, model


def test_no_list_can_delete_ticked_rows(staff: Client, row: Callable[[], None]) -> None:
    row()
    for model in [*FACTS, *EDITABLE]:
        before = list(model.objects.order_by("pk").values())
        ticked = {"action": "delete_selected", "_selected_action": [thing["id"] for thing in before], "index": "0"}
        answer = staff.post(_url(model, "changelist"), ticked | {"post": "yes"})
        assert answer.status_code in {200, 302, 403}, model
        assert list(model.objects.order_by("pk").values()) == before, model


@pytest.mark.parametrize("model", [*FACTS, *EDITABLE], ids=lambda model: model._meta.label)
def test_no_list_can_be_edited_in_place(model: Any) -> None:
    page = admin.site._registry[model]
    assert list(page.list_editable) == []
    assert all(not inline.can_delete and inline.extra == 0 for inline in page.inlines)


def _paths_to_people() -> list[tuple[Any, str]]:
    """Each relation of an admin model that leads to somebody's login, directly or through another one."""
    found = []
    for model in [*FACTS, *EDITABLE]:
        for field in model._meta.get_fields():
            near = field.related_model
            if near is User:
                found.append((model, field.name))
            elif near and hasattr(near, "_meta"):
                further = (f.name for f in near._meta.get_fields() if f.related_model is User)
                found += [(model, f"{field.name}__{name}") for name in further]
    return found


def test_no_list_is_filtered_by_a_password(staff: Client) -> None:
    for model, path in _paths_to_people():
        answer = staff.get(_url(model, "changelist"), {f"{path}__password__startswith": "argon2"})
        assert answer.status_code == 400, (model, path)


def test_every_page_opens_and_every_list_takes_the_same_number_of_queries_at_any_length(
    staff: Client, row: Callable[[], None]
) -> None:
    row()
    for model in admin.site._registry:
        url = _url(model, "change", model.objects.first().pk)
        assert staff.get(url).status_code == 200, url
    with_one = _costs_of_lists(staff)
    row()
    row()
    assert _costs_of_lists(staff) == with_one
    assert not {url: count for url, count in with_one.items() if count > MOST_QUERIES}


def _costs_of_lists(staff: Client) -> dict[str, int]:
    """Return how many queries each list needs."""
    costs = {}
    for url in (_url(model, "changelist") for model in admin.site._registry):
        with CaptureQueriesContext(connection) as seen:
            assert staff.get(url).status_code == 200, url
        costs[url] = len(seen)
    return costs


def test_the_first_page_takes_the_same_number_of_queries_however_much_is_waiting(
    staff: Client, row: Callable[[], None]
) -> None:
    row()
    staff.get("/admin/")
    with CaptureQueriesContext(connection) as with_one:
        staff.get("/admin/")
    row()
    row()
    with CaptureQueriesContext(connection) as with_three:
        staff.get("/admin/")
    assert len(with_three) == len(with_one) <= MOST_ON_THE_FIRST_PAGE


def test_an_orders_page_takes_the_same_number_of_queries_however_long_its_history(
    staff: Client, unclear: Callable[..., Order], alice: User
) -> None:
    order = unclear()
    url = _url(Order, "change", order.pk)
    staff.get(url)
    with CaptureQueriesContext(connection) as short:
        staff.get(url)
    for _ in range(3):
        order.changes.create(old="booking", new="unconfirmed", at=timezone.now(), reason="r", by=alice)
    with CaptureQueriesContext(connection) as long:
        staff.get(url)
    assert len(long) == len(short)


@pytest.mark.parametrize(
    "typed",
    ["STEST00000", "stest00000", "noor.tamsin@example.net", "Noor Tamsin", "7000", "Quill", "alice@quill.example"],
)
def test_search_finds_an_order_by_any_detail_a_caller_knows(
    staff: Client, quill: Sender, alice: User, bob: User, typed: str
) -> None:
    order = factories.order(quill, alice, status="booked")
    other = factories.order(bob.membership.sender, bob, search="somebody else", receiver_email="sol@example.net")
    page = staff.get(_url(Order, "changelist"), {"q": typed}).content.decode()
    assert _url(Order, "change", order.pk) in page
    assert _url(Order, "change", other.pk) not in page


def test_search_finds_an_order_by_uuid_and_by_number(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    for typed in (str(order.uuid), quill.number, str(order.pk)):
        page = staff.get(_url(Order, "changelist"), {"q": typed}).content.decode()
        assert _url(Order, "change", order.pk) in page, typed


def test_an_attempts_request_is_shown_with_its_people_masked(staff: Client, unclear: Callable[..., Order]) -> None:
    body = (
        b'{"receiver": {"contact": {"name": "Noor Tamsin", "email": "noor.tamsin@example.net",'
        b' "phone": "0491 570 156", "company": "Tamsin Bakes"},'
        b' "address": {"address_line1": "4 Sample Street", "address_line2": "Unit 9", "suburb": "HOBART",'
        b' "postcode": "7000", "instructions": "Behind the shed"}},'
        b' "note": "ask noor.tamsin@example.net"}'
    )
    answer = b'{"page": "https://carrier.example/t/?token=eyJabc.def.ghi", "message": "<b>no</b>"}'
    attempt = unclear(body=body, response=answer).attempts.get()
    page = staff.get(_url(type(attempt), "change", attempt.pk)).content.decode()
    assert "HOBART" in page
    assert "7000" in page
    for secret in ("Noor", "noor.tamsin", "570 156", "Bakes", "Sample Street", "Unit 9", "shed", "eyJabc", "<b>no</b>"):
        assert secret not in page, secret


def test_an_email_in_a_long_body_is_masked_without_backtracking() -> None:
    """Backtracking takes time that grows with the square of the length: a quarter of an hour for this body."""
    body = "x" * 200_000 + " ada@post.example " + "y" * 200_000
    assert without_emails(body)[200_000:-200_000] == " a•••@post.example "
