"""Several parcels in an order, in a real browser: one click for each further parcel."""

import re
import time

from playwright.sync_api import Route, expect

from tests.browser.conftest import Open, has_sideways_scroll, violations
from tests.browser.walking import TO_HOBART


def test_a_second_parcel_takes_one_more_click(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/")
    for name, value in (TO_HOBART | {"receiver_name": "Ida Several"}).items():
        if name != "receiver_country":
            page.locator(f"[name={name}]").fill(value)
    page.locator("[name=add_parcel]").first.click()
    expect(page.locator("[name=parcels]")).to_have_value("2")
    assert page.locator("[name=parcel_2_weight_kg]").input_value() == page.locator("[name=weight_kg]").input_value()
    expect(page.locator("#prices")).to_contain_text("Price of 2", timeout=15000)
    legend, weight = page.locator("#another legend"), page.locator("#another .field").first
    assert weight.bounding_box()["y"] - legend.evaluate("one => one.getBoundingClientRect().bottom") >= 8
    assert violations(page) == []
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert not has_sideways_scroll(page)
    page.locator(".book .go").click()
    # The page that waits loads itself again until both are booked, then leads to the parcel.
    expect(page.locator("section:has(#together-title)")).to_contain_text("2 of 2 are booked", timeout=20000)
    expect(page).to_have_url(re.compile(r"/parcels/[0-9a-f-]{36}/$"))
    assert violations(page) == []
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert not has_sideways_scroll(page)


def test_the_script_sends_nothing_after_a_button_that_changes_the_form(log_in: Open) -> None:
    page = log_in("sender")
    posts: list[str] = []

    def slowly(route: Route) -> None:
        if route.request.method == "POST":
            posts.append(route.request.post_data or "")
        if "add_parcel" in (route.request.post_data or ""):
            time.sleep(0.4)  # longer than the script waits after a field is left
        route.continue_()

    page.goto("/parcels/new/")
    for name, value in (TO_HOBART | {"receiver_name": "Ida Slow"}).items():
        if name != "receiver_country":
            page.locator(f"[name={name}]").fill(value)
    page.route("**/parcels/**", slowly)
    page.locator("[name=add_parcel]").first.click()
    expect(page.locator("[name=parcels]")).to_have_value("2")
    pressed = next(n for n, body in enumerate(posts) if "add_parcel" in body)
    assert [body for body in posts[pressed + 1 :] if 'name="parcels"\r\n\r\n1' in body] == []


def test_another_parcel_is_not_offered_once_customs_ask_what_is_inside(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/")
    button, why = page.get_by_role("button", name="Another parcel"), page.get_by_text("One at a time: customs ask")
    for country, is_offered in (("AU", True), ("NZ", False), ("AU", True)):
        page.locator("[name=receiver_country]").select_option(country)
        expect(button).to_be_visible(visible=is_offered)
        expect(why).to_be_visible(visible=not is_offered)
