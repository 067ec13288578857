"""A search ignores case and accents on both sides, and reads no more than its role may."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from orders.folding import fold
from orders.list import listing
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Zoë", "zoe"),
        ("Đặng WÓJCIK", "dang wojcik"),
        ("Øyvind Łuk", "oyvind luk"),
        ("Straße", "strasse"),
        ("A-1", "a-1"),
    ],
)
def test_text_is_reduced_to_characters_any_keyboard_can_type(text: str, folded: str) -> None:
    assert fold(text) == folded


def made(of: Sender, by: User, name: str, **fields: Any) -> Order:
    order = factories.order(of, by, status="booked", receiver_name=name, **fields)
    order.search = f"{order.search_text()} {str(order.carrier_reference).lower()}"
    order.save(update_fields=["search"])
    return order


def found(q: str, role: str) -> list[str]:
    return [order.receiver_name for order in listing.search_orders(Order.objects.order_by("pk"), q, role)]


@pytest.mark.parametrize(
    ("q", "role", "names"),
    [
        ("zoe", "owner", ["Zoë Castellan", "Zoe Pryor"]),
        ("ZOË", "shipper", ["Zoë Castellan", "Zoe Pryor"]),
        ("dang", "owner", ["Đặng Wilson"]),
        ("zoe", "viewer", ["Zoë Castellan", "Zoe Pryor"]),
        ("castellan zoe", "viewer", ["Zoë Castellan"]),
        ("hobart", "viewer", []),
        ("noor.tamsin@example.net", "viewer", []),
        (".", "viewer", []),
        ("zoe", "bookkeeper", []),
    ],
)
def test_accents_do_not_matter_and_a_viewer_can_search_only_names(
    q: str, role: str, names: list[str], quill: Sender, alice: User
) -> None:
    for name in ("Zoë Castellan", "Đặng Wilson", "Zoe Pryor"):
        made(quill, alice, name)
    assert found(q, role) == names


def test_old_rows_get_search_texts_and_erased_ones_stay_erased(quill: Sender, alice: User) -> None:
    order, erased = (made(quill, alice, "Zoë Castellan") for _ in range(2))
    before = fold(order.search)
    Order.objects.filter(pk=order.pk).update(search=order.search.replace("zoe", "zoë").replace("\n", ""))
    Order.objects.filter(pk=erased.pk).update(search="sé1", erased_at=order.created_at)
    migration = import_module("orders.migrations.0004_folded_search")
    apps = SimpleNamespace(get_model=lambda *_: Order)
    migration.fold_what_is_there(apps, SimpleNamespace(connection=connection))
    order.refresh_from_db()
    erased.refresh_from_db()
    assert (order.search, erased.search) == (before, "sé1")
