"""A value masked in the admin can't be worked out letter by letter by filtering, sorting or searching lists."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import Client, RequestFactory

from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.security.data_classes import PERSONAL, SECRETS

HELD = {name: set(held.columns.split()) for held_by in (PERSONAL, SECRETS) for name, held in held_by.items()}
HOW = ("", "__exact", "__startswith", "__iregex", "__gte", "__lt", "__isnull", "__in")
# Shown to every operator, unmasked, in the list itself.
SHOWN = {
    "accounts.User": {"email", "name"}, "accounts.Sender": {"name"}, "importing.Import": {"file_name"},
    "orders.Order": {"name"}, "orders.BookingAttempt": {"error"}, "orders.Label": {"problem"},
    "tracking.TrackingEvent": {"description"},
}  # fmt: skip
PAGES = sorted(admin.site._registry.items(), key=lambda page: page[0]._meta.label)


def _paths(model: type[Model], steps: int = 2, via: str = "") -> set[str]:
    """Yield the personal and secret columns of a model and of the models it links to."""
    own = {via + column for column in HELD.get(model._meta.label, ())}
    if steps:
        for field in model._meta.get_fields():
            if field.is_relation and field.related_model:
                own |= _paths(apps.get_model(field.related_model._meta.label), steps - 1, f"{via}{field.name}__")
    return own


@pytest.mark.parametrize(("model", "page"), PAGES, ids=[model._meta.label for model, _ in PAGES])
def test_no_list_is_filtered_by_a_personal_or_secret_column(model: type[Model], page: Any) -> None:
    paths = _paths(model)
    if not isinstance(page, ReadOnlyAdmin):
        assert not HELD.get(model._meta.label)
    names = {getattr(one, "parameter_name", "") for one in page.list_filter}  # our own filter, named like a column
    allowed = {path + how for path in paths for how in HOW if page.lookup_allowed(path + how, "a", None)}
    assert allowed - _shown(model) - names == set()


def _shown(model: type[Model]) -> set[str]:
    return SHOWN.get(model._meta.label, set())


@pytest.mark.parametrize(("model", "page"), PAGES, ids=[model._meta.label for model, _ in PAGES])
def test_no_list_is_sorted_or_filtered_by_a_masked_column(model: type[Model], page: Any, rf: RequestFactory) -> None:
    held = HELD.get(model._meta.label, set()) - _shown(model)
    sortable = {
        getattr(getattr(page, name), "admin_order_field", None) if hasattr(page, name) else name
        for name in map(str, page.list_display)
    }
    assert sortable & held == set()
    assert not page.date_hierarchy
    assert not page.autocomplete_fields
    assert not page.raw_id_fields


@pytest.fixture
def order(quill: Sender, alice: User) -> Any:
    return factories.order(quill, alice, status="booked", receiver_email="reader@example.net")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        "orders/order/?receiver_email__startswith=re",
        "orders/order/?receiver_line1__iregex=^5 H",
        "orders/order/?pickup__email__startswith=a",
        "orders/order/?quote__details__receiver__email__startswith=re",
        "tracking/webhookdelivery/?body__regex=a",
        "orders/bookingattempt/?order__receiver_email=reader@example.net",
    ],
)
def test_the_url_of_such_a_filter_is_refused(order: Any, sam: User, query: str) -> None:
    client = Client()
    client.force_login(sam, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert client.get(f"/admin/{query}").status_code == 400


@pytest.mark.django_db
def test_the_lists_own_filters_and_links_still_work(order: Any, sam: User) -> None:
    client = Client()
    client.force_login(sam, backend="allauth.account.auth_backends.AuthenticationBackend")
    for query in (
        "orders/order/?status__exact=booked&needs=unconfirmed",
        f"orders/carriercall/?order__id__exact={order.pk}",
        "billing/charge/?report__id__exact=1&owner=nobody",
        "tracking/trackingevent/?set_aside__isempty=1",
        "tracking/trackingevent/?clock=ahead&account=1",
        "orders/carriercall/?order__isempty=1",
        "accounts/audit/?at__gte=2026-11-01+00%3A00%3A00%2B00%3A00&action=invited",
    ):
        assert client.get(f"/admin/{query}").status_code == 200, query
