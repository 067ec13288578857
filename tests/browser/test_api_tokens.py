"""A token is shown once, so it must be visible on a phone and on a wide screen."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, violations


@pytest.mark.parametrize("width", [360, 1280])
def test_a_new_token_is_visible_and_lets_a_program_in(log_in: Open, stack: Stack, width: int) -> None:
    page = log_in("sender", width=width)
    page.goto("/settings/api-tokens/")
    page.get_by_label("Name").fill(f"Shop {width}")
    page.get_by_label("See parcels and where they are").check()
    page.get_by_role("button", name="Make the token").click()
    page.fill("[name=password]", stack.people["sender"]["password"])
    page.get_by_role("button", name="Go on").click()
    shown = page.locator("input[readonly]")
    expect(shown).to_be_visible()
    assert violations(page) == []
    headers = {"Authorization": f"Bearer {shown.input_value()}"}
    assert page.request.get("/api/v1/parcels", headers=headers).status == 200
