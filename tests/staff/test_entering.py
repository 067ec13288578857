"""Who gets to the admin: operators with a second factor, and nobody else."""

import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from shipping_portal.accounts.models import Membership, Sender, User
from tests import factories

Visit = Callable[[User], Client]


def test_an_operator_with_a_second_factor_sees_what_needs_attention(staff: Client) -> None:
    page = staff.get("/admin/")
    assert page.status_code == 200
    assert "Someone's on the phone?" in page.content.decode()


def test_a_visitor_is_sent_to_the_portals_own_login_and_back(client: Client, db: None) -> None:
    answer = client.get("/admin/orders/order/")
    assert answer.status_code == 302
    assert answer["Location"] == f"{reverse('account_login')}?next=/admin/orders/order/"


def test_the_admins_login_page_is_the_portals(client: Client, db: None) -> None:
    answer = client.get("/admin/login/?next=/admin/orders/order/")
    assert answer["Location"] == f"{reverse('account_login')}?next=/admin/orders/order/"


def test_a_sender_cannot_see_the_admin(visit: Visit, alice: User) -> None:
    answer = visit(alice).get("/admin/orders/order/", follow=True)
    assert answer.status_code == 404


def test_an_operator_without_a_second_factor_sets_one_up_first(visit: Visit, db: None) -> None:
    new = factories.user("new@portal.example", is_staff=True, is_superuser=True)
    answer = visit(new).get("/admin/login/")
    assert answer["Location"] == reverse("mfa_activate_totp")


def test_a_deactivated_operator_is_logged_out_at_the_next_request(staff: Client, sam: User) -> None:
    User.objects.filter(pk=sam.pk).update(is_active=False)
    assert staff.get("/admin/").status_code == 302


def test_a_read_only_operator_sees_no_actions(visit: Visit, alice: User) -> None:
    reader = factories.user("reader@portal.example", is_staff=True)
    factories.second_factor(reader)
    group = Group.objects.create(name="Of no table")
    group.permissions.add(Permission.objects.get(codename="view_sender"))
    reader.groups.add(group)
    sender = Membership.objects.get(user=alice).sender
    browser = visit(reader)
    page = browser.get(reverse("admin:accounts_sender_change", args=[sender.pk]))
    assert page.status_code == 200
    suspend = reverse("admin:accounts_sender_act", args=[sender.pk, "suspend"])
    assert suspend not in page.content.decode()
    assert browser.get(suspend).status_code == 403
    assert browser.get(reverse("admin:orders_order_changelist")).status_code == 403


def test_an_operator_in_no_group_does_not_even_see_the_counts(visit: Visit, db: None) -> None:
    nobody = factories.user("nobody@portal.example", is_staff=True)
    factories.second_factor(nobody)
    answer = visit(nobody).get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "Needs attention" not in answer.content.decode()


@pytest.mark.parametrize("library", ["mfa/authenticator", "account/emailaddress", "auth/group"])
def test_no_library_adds_a_page_to_the_admin(staff: Client, library: str) -> None:
    assert staff.get(f"/admin/{library}/").status_code == 404


def test_every_time_in_the_admin_has_one_format_with_its_zone(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", created_at=dt.datetime(2026, 11, 22, 20, 5, tzinfo=dt.UTC))
    for page in ("changelist", "change"):
        args = [order.pk] if page == "change" else []
        shown = staff.get(reverse(f"admin:orders_order_{page}", args=args)).content.decode()
        assert "22 Nov 2026, 20:05 UTC" in shown, page
        assert not re.search(r"[ap]\.m\.", shown), page


@pytest.mark.parametrize(
    ("typed", "key"), [("A-1007", 7), (" a-1007 ", 7), ("1007", None), ("A-10²7", None), ("A-", None)]
)
def test_a_sender_is_found_by_the_number_it_quotes(typed: str, key: int | None) -> None:
    assert Sender.pk_of(typed) == key
    assert key is None or Sender(pk=key).number == typed.strip().upper()
