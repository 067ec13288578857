"""Several parcels in an order, in a real browser: one click for each further parcel."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Open, has_sideways_scroll, violations
from tests.browser.walking import TO_HOBART


def test_a_second_parcel_is_one_click_more(log_in: Open) -> None:
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
    expect(page.locator("#together-title")).to_be_visible(timeout=20000)
    expect(page.locator("body")).to_contain_text(re.compile("2 of 2 are booked|being booked"))
    assert violations(page) == []
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert not has_sideways_scroll(page)
