"""The operator's admin in a real browser, under the strict CSP. test_every_page.py checks every page in every look."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Open, Stack, violations
from tests.browser.walking import DJANGOS_OWN


@pytest.fixture
def staff(log_in: Open) -> Page:
    """The admin's first page."""
    return log_in("operator")


def unclear_order(stack: Stack) -> int:
    """An order of the demo's sender whose only attempt got no answer, and a scan that may belong to it."""
    code = """
from tests import factories
from shipping_portal.accounts.models import Membership
from tests.staff.cases import unclear
member = Membership.objects.first()
order = unclear(member.sender, member.user)
parcel = factories.parcel(last_scan_at=order.created_at)
factories.event(parcel, postcode=order.receiver_postcode)
print(order.pk)
"""
    return int(stack.shell(code).split()[-1])


@pytest.mark.nightly  # test_every_page.py checks each kind in the operator's room before every merge
def test_every_kind_of_page_is_clean(staff: Page, stack: Stack) -> None:
    case = unclear_order(stack)
    found = {}
    for address in (
        "/admin/",
        "/admin/orders/order/?needs=unconfirmed",
        f"/admin/orders/order/{case}/change/",
        f"/admin/orders/order/{case}/resolve/",
        "/admin/accounts/sender/",
        "/admin/accounts/sender/1/change/",
        "/admin/accounts/sender/1/acts/suspend/",
        "/admin/accounts/localitylist/import/",
        "/admin/tracking/webhookdelivery/",
        "/admin/listener/",
    ):
        staff.goto(address)
        found[address] = violations(staff, but=DJANGOS_OWN)
    assert {address: list_ for address, list_ in found.items() if list_} == {}
