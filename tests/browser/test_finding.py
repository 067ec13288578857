"""A caller asks where their parcel is: two clicks from the admin's first page, whatever they know about it."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Stack, has_sideways_scroll, violations
from tests.browser.walking import DJANGOS_OWN

REFERENCE = "SCALLED001"


@pytest.fixture
def parcel(stack: Stack) -> None:
    """A parcel of the demo's sender to Wilhelmina Ostrander, last scanned in Coburg, and another sender's parcel."""
    code = f"""
from orders.models import Order
from shipping_portal.accounts.models import Membership
from tests import factories
member = Membership.objects.filter(user__email={stack.people["sender"]["email"]!r}).get()
if not Order.objects.filter(carrier_reference={REFERENCE!r}).exists():
    for name, reference in (("Wilhelmina Ostrander", {REFERENCE!r}), ("Wilhelm Oster", "SCALLED002")):
        called = dict(receiver_name=name, receiver_phone="0491 571 266", customer_reference=f"WEB-{{reference}}")
        order = factories.order(member.sender, member.user, status="booked", carrier_reference=reference, **called)
        Order.objects.filter(pk=order.pk).update(search=f"{{order.search_text()}} {{reference.lower()}}")
        factories.event(factories.parcel(order), suburb="Coburg", description="Arrived at the depot")
"""
    stack.shell(code)


def say(staff: Page, what: str) -> None:
    staff.goto("/admin/")
    staff.get_by_role("searchbox").click()
    staff.keyboard.type(what)
    with staff.expect_navigation():
        staff.keyboard.press("Enter")


@pytest.mark.usefixtures("parcel")
def test_where_a_parcel_is_takes_two_clicks(staff: Page, clicks: list[str]) -> None:
    staff.goto("/admin/")
    # One field searches for whatever the caller says.
    expect(staff.get_by_role("main").get_by_role("searchbox").or_(staff.get_by_role("textbox"))).to_have_count(1)
    for said in ("ostrander wilhelmina", "+61491571266 wilhelmina"):
        clicks.clear()
        say(staff, said)
        staff.get_by_role("table").first.get_by_role("link", name=REFERENCE).click()
        expect(staff.get_by_role("region", name="Tracking")).to_contain_text("Coburg")
        assert len(clicks) == 2, (said, clicks)


@pytest.mark.usefixtures("parcel")
def test_a_whole_reference_or_number_takes_one_click(staff: Page, clicks: list[str]) -> None:
    for said in (REFERENCE.lower(), f"web-{REFERENCE}"):
        clicks.clear()
        say(staff, said)
        expect(staff.get_by_role("region", name="Tracking")).to_contain_text("Coburg")
        assert len(clicks) == 1, (said, clicks)


@pytest.mark.usefixtures("parcel")
def test_the_calling_sender_is_suspended_in_three_clicks(staff: Page, clicks: list[str]) -> None:
    say(staff, "A-1001")
    staff.get_by_role("link", name="Suspend", exact=True).first.click()
    expect(staff.get_by_role("button", name="Suspend")).to_be_visible()
    assert len(clicks) == 2, clicks  # the third click is that button, which test_suspending.py presses


@pytest.mark.usefixtures("parcel")
@pytest.mark.parametrize("width", [360, 1280])
def test_search_results_are_accessible_and_fit(staff: Page, width: int) -> None:
    staff.set_viewport_size({"width": width, "height": 900})
    for said in ("wilhelm", "marlow", "A-9999"):
        say(staff, said)
        assert violations(staff, but=DJANGOS_OWN) == [], said
        assert not has_sideways_scroll(staff), said
