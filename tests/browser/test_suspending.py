"""The operator stops a sender's bookings: three clicks and a reason, shown to the sender at once, in the audit log."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, violations
from tests.browser.walking import DJANGOS_OWN

TEXT = "We wrote to you about the terms."
REASON = "they answered and agreed to the terms"
OFF = "Booking is off for this account since"


@pytest.fixture
def staff(staff: Page, stack: Stack) -> Iterator[Page]:
    """The admin's first page, with clicks counted. Bookings are on again afterwards."""
    yield staff
    code = "from shipping_portal.accounts.models import Sender; Sender.objects.update(suspended_at=None, suspension='')"
    stack.shell(code)


def test_a_sender_is_suspended_in_three_clicks_and_a_reason_and_reinstated_in_three(
    staff: Page, clicks: list[str], log_in: Open
) -> None:
    sender = log_in("sender")
    staff.get_by_role("link", name="Senders", exact=True).first.click()
    staff.locator("#searchbar").press_sequentially("Marlow")
    staff.keyboard.press("Enter")
    row = staff.locator("#result_list tr", has_text="Marlow Candles")
    row.get_by_role("link", name="Suspend", exact=True).click()
    staff.get_by_label("Category").press("T")
    staff.get_by_label("Message to the sender").fill(TEXT)
    staff.get_by_label("Internal note").fill("second time this year")
    staff.get_by_role("button", name="Suspend").click()
    expect(staff.get_by_text("Suspend: done for Marlow Candles.")).to_be_visible()
    assert len(clicks) == 3, clicks

    sender.goto("/parcels/")
    expect(sender.get_by_text(OFF)).to_be_visible()
    expect(sender.get_by_text(f"Reason: terms. {TEXT}")).to_be_visible()
    expect(sender.get_by_text("second time")).to_have_count(0)
    sender.goto("/parcels/new/")
    expect(sender.get_by_role("heading", level=1)).to_have_text("Booking is off for this account")

    clicks.clear()
    staff.goto("/admin/")
    staff.get_by_role("link", name="Senders", exact=True).first.click()
    staff.locator("#result_list").get_by_role("link", name="Reinstate").click()
    staff.get_by_label("Reason").fill(REASON)
    staff.get_by_role("button", name="Reinstate").click()
    expect(staff.get_by_text("Reinstate: done for Marlow Candles.")).to_be_visible()
    assert len(clicks) == 3, clicks
    sender.goto("/parcels/new/")
    expect(sender.get_by_role("button", name="See prices").last).to_be_visible()
    expect(sender.get_by_text(OFF)).to_have_count(0)


def test_both_are_in_the_audit_log_which_can_be_searched_and_downloaded(staff: Page) -> None:
    for act, label, text in (("suspend", "Message to the sender", TEXT), ("reinstate", "Reason", REASON)):
        staff.goto(f"/admin/accounts/sender/1/acts/{act}/")
        staff.get_by_label(label).fill(text)
        staff.get_by_role("button", name=act.title()).click()
        expect(staff.get_by_text(f"{act.title()}: done for")).to_be_visible()
    staff.goto("/admin/accounts/audit/?q=sender+1")
    for action, reason in (("sender suspended", TEXT), ("sender reinstated", REASON)):
        row = staff.get_by_role("row").filter(has_text=action).first
        expect(row).to_contain_text("operator@demo.example")
        expect(row).to_contain_text(reason)
    assert violations(staff, but=DJANGOS_OWN) == []
    with staff.expect_download() as download:
        staff.get_by_role("link", name="Export as CSV").click()
    text = download.value.path().read_text("utf-8-sig")
    assert '"sender reinstated","sender 1"' in text
    assert REASON in text


def test_the_pages_an_action_starts_from_are_accessible(staff: Page, stack: Stack) -> None:
    code = "from tests import factories; print(factories.user('new@portal.example').pk)"
    person = stack.shell(code).split()[-1]
    for address in (
        "/admin/accounts/sender/",
        f"/admin/accounts/user/{person}/change/",
        f"/admin/accounts/user/{person}/acts/groups/",
        "/admin/accounts/localityalias/add/",
        "/admin/accounts/localitylist/",
    ):
        staff.goto(address)
        assert violations(staff, but=DJANGOS_OWN) == [], address
