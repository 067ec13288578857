"""A token is shown once, so it must be visible on a phone and on a wide screen."""

import time

import pytest
from playwright.sync_api import Route, expect

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


def test_a_second_click_or_a_reload_makes_no_second_token(log_in: Open, stack: Stack) -> None:
    page = log_in("sender")
    posts: list[str] = []

    def slowly(route: Route) -> None:
        if route.request.method == "POST":
            posts.append(route.request.url)
            time.sleep(0.5)
        route.continue_()

    page.goto("/settings/api-tokens/")
    page.get_by_label("Name").fill("Twice")
    page.get_by_label("See parcels and where they are").check()
    page.get_by_role("button", name="Make the token").click()
    page.fill("[name=password]", stack.people["sender"]["password"])
    page.route("**/*", slowly)
    page.get_by_role("button", name="Go on").evaluate("it => { it.click(); setTimeout(() => it.click(), 200); }")
    expect(page.locator("input[readonly]")).to_be_visible()
    page.unroute_all()
    page.reload()
    expect(page.locator("input[readonly]")).to_have_count(0)
    expect(page.locator("section:has(#tokens-title) h3").filter(has_text="Twice")).to_have_count(1)
    assert len(posts) == 1
