"""With a reason, an operator sees a sender's own pages for half an hour. What stays closed is in
tests/test_access.py.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.login import seeing_as
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.accounts.models.audit import subject_of
from tests import factories
from tests.pages.typed import text
from tests.staff.conftest import REASON

pytestmark = pytest.mark.django_db
TODAY = reverse("today")


def look(browser: Client, sender: Sender) -> Any:
    return browser.post(reverse("admin:accounts_sender_see_as", args=[sender.pk]), {"reason": REASON})


@pytest.fixture
def looking(staff: Client, quill: Sender) -> Client:
    """Sam's browser, looking at Quill's pages."""
    assert look(staff, quill).status_code == 302
    return staff


@pytest.mark.parametrize("url", ["/parcels/{order.uuid}/", "/parcels/{order.carrier_reference}/"])
def test_another_senders_pages_do_not_exist(url: str, looking: Client, bob: User) -> None:
    theirs = factories.order(bob.membership.sender, bob, status="booked")
    assert looking.get(url.format(order=theirs)).status_code == 404
    assert str(theirs) not in looking.get("/parcels/?open=1").content.decode()


def test_the_pages_are_the_senders_and_the_audit_log_names_the_operator(
    looking: Client, quill: Sender, alice: User, sam: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    assert order.carrier_reference in text(looking.get("/parcels/"))
    page = text(looking.get(f"/parcels/{order.uuid}/"))
    assert f"You see this as {quill.name} ({quill.number}) does." in page
    row = Audit.objects.get(action="seen as the sender")
    assert (row.actor, row.sender, row.subject, row.reason) == (sam, quill, subject_of(quill), REASON)


def test_viewing_needs_a_reason(staff: Client, quill: Sender) -> None:
    page = staff.post(reverse("admin:accounts_sender_see_as", args=[quill.pk]), {"reason": ""})
    assert page.context["form"].errors["reason"]
    assert staff.get(TODAY).status_code == 404
    assert not Audit.objects.exists()


def test_operators_who_may_not_reveal_personal_data_see_it_masked(
    operator: Callable[[str], Client], quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    for group, is_shown in ((permissions.SUPPORT, True), (permissions.BILLING, False)):
        browser = operator(group)
        look(browser, quill)
        for url in (f"/parcels/{order.uuid}/", "/parcels/"):
            page = browser.get(url)
            assert page.status_code == 200
            assert (order.receiver_name in page.content.decode()) == is_shown, (group, url)


def test_stop_ends_viewing_and_leads_back(looking: Client, quill: Sender) -> None:
    back = looking.post(reverse("admin:accounts_sender_stop_seeing"))
    assert back["Location"] == reverse("admin:accounts_sender_change", args=[quill.pk])
    assert looking.get(TODAY).status_code == 404
    assert Audit.objects.latest("pk").action == "no longer seen as the sender"
    assert looking.post(reverse("admin:accounts_sender_stop_seeing")).status_code == 302


def _lose_the_group(sam: User) -> None:
    sam.groups.clear()


def _lose_the_permission(sam: User) -> None:
    sam.groups.set(Group.objects.filter(name=permissions.READ_ONLY))


def _lose_the_second_factor(sam: User) -> None:
    sam.authenticator_set.all().delete()


@pytest.mark.parametrize("change", [_lose_the_group, _lose_the_permission, _lose_the_second_factor])
def test_viewing_ends_with_the_permission(
    change: Callable[[User], None], operator: Callable[[str], Client], quill: Sender
) -> None:
    browser = operator(permissions.SUPPORT)
    look(browser, quill)
    assert browser.get(TODAY).status_code == 200
    change(User.objects.get(is_staff=True))
    assert browser.get(TODAY).status_code == 404


def test_viewing_ends_after_half_an_hour_at_log_out_and_when_idle(looking: Client, quill: Sender) -> None:
    now = timezone.now()
    with time_machine.travel(now + seeing_as.TERM - dt.timedelta(minutes=1)):
        assert looking.get(TODAY).status_code == 200
    with time_machine.travel(now + seeing_as.TERM + dt.timedelta(seconds=1)):
        assert looking.get(TODAY).status_code == 404
    look(looking, quill)
    with time_machine.travel(now + dt.timedelta(hours=2)):
        assert looking.get(TODAY)["Location"].startswith("/accounts/login/")
        assert seeing_as.KEY not in looking.session
    looking.force_login(User.objects.get(is_staff=True))
    look(looking, quill)
    looking.post(reverse("account_logout"))
    assert looking.get(TODAY)["Location"].startswith("/accounts/login/")


def test_the_admin_still_works_meanwhile(looking: Client, quill: Sender) -> None:
    assert looking.get("/admin/").status_code == 200
    assert looking.get(reverse("admin:accounts_sender_change", args=[quill.pk])).status_code == 200
