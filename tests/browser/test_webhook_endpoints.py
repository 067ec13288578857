"""A webhook's secret is shown once, so it must be visible on a phone and on a wide screen."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, violations


@pytest.mark.parametrize("width", [320, 1280])
def test_a_new_endpoints_secret_is_visible_and_its_page_works(log_in: Open, stack: Stack, width: int) -> None:
    page = log_in("sender", width=width)
    page.goto("/settings/webhooks/")
    page.get_by_label("Address").fill(f"https://shop.example/a-long-address-of-hooks-for-parcels/{width}")
    page.get_by_label("Labels: ready to print").check()
    page.get_by_role("button", name="Add the endpoint").click()
    page.fill("[name=password]", stack.people["sender"]["password"])
    page.get_by_role("button", name="Go on").click()
    shown = page.locator("input[readonly]")
    expect(shown).to_be_visible()
    first = shown.input_value()
    assert first.startswith("whsec_")
    assert violations(page) == []
    page.get_by_role("link", name=f"parcels/{width}").click()
    page.get_by_role("button", name="Send a test event").click()
    expect(page.get_by_role("heading", name="test.sent")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="New secret").click()
    again = page.locator("input[readonly]")
    expect(again).to_be_visible()
    assert again.input_value().startswith("whsec_")
    assert again.input_value() != first
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
