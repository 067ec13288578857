"""Saved views: an operator's own named filters, as links above the list."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from shipping_portal.accounts.models import User
from shipping_portal.staff import saved_views
from shipping_portal.staff.models import DeskView
from tests import factories

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
ORDERS = "/admin/orders/order/"
SAVE = reverse("admin:view_save", args=["orders_order"])
STUCK = "needs=cancel-stuck&status__exact=cancelling"


def kept() -> list[tuple[str, str]]:
    return [*DeskView.objects.order_by("pk").values_list("name", "query")]


def test_the_current_filters_are_saved_and_listed_above_the_list(staff: Client) -> None:
    form = staff.get(f"{ORDERS}?{STUCK}").context["views"]()["form"]
    page = staff.post(SAVE, {"name": "Stuck, VIP", "query": form["query"].value()}, follow=True)
    assert page.redirect_chain == [(f"{ORDERS}?{STUCK}", 302)]
    html = re.sub(r"\s+(?=[<>])|(?<=>)\s+", "", staff.get(ORDERS).content.decode())
    assert f'<a href="?{STUCK.replace("&", "&amp;")}">Stuck, VIP</a>' in html
    assert "Stuck, VIP" not in staff.get("/admin/billing/charge/").content.decode()


def test_a_name_saved_again_has_the_new_filters(staff: Client) -> None:
    for query in ("case=mine", "case=nobody"):
        staff.post(SAVE, {"name": "Cases", "query": query})
    assert kept() == [("Cases", "case=nobody")]


def test_only_a_lists_filters_are_saved_and_never_the_search_text(staff: Client) -> None:
    staff.post(SAVE, {"name": "All", "query": f"q=Noor+Tamsin&p=3&e=1&next=//evil.example&{STUCK}&sender=A-1001"})
    assert kept() == [("All", f"{STUCK}&sender=A-1001")]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"name": ""}, "required"),
        ({"name": "x" * 61}, "60"),
        ({"name": "noor@example.org"}, "Don&#x27;t use email addresses or links"),
        ({"query": "q=Noor"}, "Filter the list first"),
        ({"query": f"needs={'x' * 400}"}, "Filter the list first"),
    ],
)
def test_an_invalid_view_is_refused_with_a_reason_and_nothing_typed_is_lost(
    staff: Client, typed: dict[str, str], said: str
) -> None:
    answers = {"name": "Mine", "query": STUCK} | typed
    page = staff.post(SAVE, answers)
    assert said in str(page.context["form"].errors)
    assert page.context["form"]["name"].value() == answers["name"]
    assert kept() == []


def test_a_list_has_a_limited_number_of_views(staff: Client) -> None:
    for number in range(saved_views.MOST + 1):
        page = staff.post(SAVE, {"name": f"View {number}", "query": STUCK})
    assert "Delete one first" in str(page.context["form"].errors)
    assert len(kept()) == saved_views.MOST
    assert staff.post(SAVE, {"name": "View 3", "query": "case=mine"}).status_code == 302  # replaced


def test_only_its_owner_sees_and_deletes_a_view(staff: Client, visit: Visit) -> None:
    staff.post(SAVE, {"name": "Stuck", "query": STUCK})
    delete = reverse("admin:view_delete", args=[DeskView.objects.get().pk])
    other = factories.user("ida@portal.example", is_staff=True, is_superuser=True)
    factories.second_factor(other)
    browser = visit(other)
    assert "Stuck</a>" not in browser.get(ORDERS).content.decode()
    assert browser.post(delete).status_code == 404
    assert staff.get(delete).status_code == 405
    assert staff.post(delete).status_code == 302
    assert kept() == []


def test_nothing_is_saved_for_a_list_that_the_operator_does_not_see(operator: Callable[[str], Client]) -> None:
    for name in ("accounts_user", "no_such"):
        page = operator("Billing").post(reverse("admin:view_save", args=[name]), {"name": "A", "query": "is_active=1"})
        assert page.status_code == 404
    assert operator("Read-only").post(SAVE, {"name": "Mine", "query": "case=mine"}).status_code == 302
