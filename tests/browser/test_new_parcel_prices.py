"""The new-parcel form in a real browser: it refreshes its prices, and what it says while somebody fills it in."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, has_sideways_scroll, violations
from tests.browser.parcel_form import save_default_size
from tests.browser.walking import fill_parcel, see_prices

IS_UNDER_THE_BAR = """() => {
    const bar = document.querySelector("#prices .book");
    const at = document.activeElement.getBoundingClientRect();
    const isInIt = bar.contains(document.activeElement);
    return !isInIt && at.bottom > bar.getBoundingClientRect().top;
}"""
LIFE = 181  # seconds; one more than prices stay valid


def test_measures_changed_by_hand_clear_the_saved_size(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    page.goto("/parcels/new/")
    size, other = page.locator("[name=size]:checked"), page.locator("[name=size][value='']")
    assert size.get_attribute("value")
    own = page.locator("[name=weight_kg]").input_value()
    page.locator("[name=weight_kg]").fill(f"{own}0" if "." in own else f"{own}.0")
    expect(other).not_to_be_checked()
    page.locator("[name=height_cm]").fill("99")
    expect(other).to_be_checked()
    expect(page.locator("[name=weight_kg]")).not_to_have_value("")


def filled(page: Page, **changes: str) -> None:
    fill_parcel(page, **changes)
    expect(page.locator("#prices .book button")).to_contain_text("Book ")


def asks(page: Page) -> list[str]:
    """A list that grows with every request for prices."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    return asked


def test_prices_say_that_they_are_current_but_not_to_a_screen_reader(log_in: Open) -> None:
    page = log_in("sender")
    filled(page, receiver_name="Ada Fresh")
    expect(page.locator("#prices .age")).to_contain_text("Prices are current. They refresh every 3 minutes.")
    assert page.locator("#prices .age").get_attribute("aria-live") == "off"


def test_prices_beside_the_form_are_checked_again_once_and_keep_the_choice(log_in: Open) -> None:
    page = log_in("sender")
    page.clock.install()
    filled(page, receiver_name="Ada Once")
    last = page.locator("#prices [name=product]").last
    last.check()
    page.wait_for_load_state("networkidle")  # the timer of these prices starts once they are in the page
    asked = asks(page)
    page.clock.fast_forward(LIFE * 1000)
    news = page.locator("#prices-news")
    expect(news).to_have_text("Prices checked again: no change.")
    expect(last).to_be_checked()
    assert len(asked) == 1
    expect(page.locator("#prices .book button")).to_contain_text("Book ")
    page.clock.fast_forward(LIFE * 1000)
    expect(news).to_contain_text("These prices are a few minutes old.")
    page.clock.fast_forward(LIFE * 1000)
    assert len(asked) == 1


def test_prices_on_their_own_page_are_checked_again_once_and_keep_the_day(log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_name="Ada Page")
    page.clock.install()
    see_prices(page)
    day = page.locator("[name=pickup_date]").nth(1)
    day.check()
    page.clock.fast_forward(LIFE * 1000)
    expect(page.locator("#prices-news")).to_have_text("Prices checked again: no change.")
    expect(page.locator("[name=pickup_date]").nth(1)).to_be_checked()
    assert violations(page) == []
    page.clock.fast_forward(LIFE * 1000)
    expect(page.locator("[data-old]")).to_be_visible()
    expect(page.locator("#prices-news")).to_contain_text("These prices are over 3 minutes old.")


def test_a_place_off_the_list_is_corrected_by_a_radio_beside_the_form(log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_suburb="Hobarth", receiver_name="Ada Near")
    near = page.locator("#prices .near")
    expect(near).to_contain_text("Not on the carrier's list. Did you mean:")
    assert violations(page) == []
    near.get_by_role("radio", name="Hobart TAS 7000", exact=True).check()
    expect(page.locator("[name=receiver_suburb]")).to_have_value("Hobart")
    expect(page.locator("#prices .book button")).to_contain_text("Book ")


def test_a_place_off_the_list_is_corrected_by_a_radio_without_a_script(log_in: Open) -> None:
    page = log_in("sender", javascript=False, width=320)
    fill_parcel(page, receiver_suburb="Hobarth", receiver_name="Ada Plain")
    page.get_by_role("button", name="See prices").last.click()
    near = page.get_by_role("radio", name="Hobart TAS 7000", exact=True)
    expect(near).to_be_visible()
    assert not has_sideways_scroll(page)
    near.check()
    see_prices(page)


def test_a_battery_asks_its_question_at_once_and_stops_nobody(log_in: Open) -> None:
    page = log_in("sender")
    filled(page, description="Torch", receiver_name="Ada Torch")
    page.locator("[name=description]").fill("Torch, batteries")
    page.keyboard.press("Tab")
    expect(page.locator("#goods")).to_contain_text("You wrote “batteries”. Is it inside its device?")
    expect(page.locator("#prices")).to_contain_text("You wrote “batteries”.")
    expect(page.locator("#prices .book button")).to_contain_text("Book ")
    assert violations(page) == []


def test_form_and_prices_are_side_by_side_from_1024_and_stacked_below(log_in: Open) -> None:
    page = log_in("sender")
    filled(page, receiver_name="Ada Wide")
    places = {}
    for width in (1024, 1023):
        page.set_viewport_size({"width": width, "height": 900})
        form, prices = (page.locator(part).bounding_box() for part in ("#parcel-form", "#prices"))
        assert form
        assert prices
        places[width] = prices["x"] >= form["x"] + form["width"]
        assert not has_sideways_scroll(page)
    assert places == {1024: True, 1023: False}


def test_a_parcel_at_home_with_its_pickup_day_fits_a_screen_of_1280_by_800(log_in: Open) -> None:
    page = log_in("sender")
    page.set_viewport_size({"width": 1280, "height": 800})
    save_default_size(page)
    filled(page, receiver_name="Ada Fits")
    page.get_by_role("radio", name=re.compile("Pickup")).first.check()
    expect(page.get_by_role("group", name="Pickup day")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") == 800


def test_a_drop_off_has_no_pickup_day_on_the_screen(log_in: Open) -> None:
    page = log_in("sender")
    filled(page, receiver_name="Ada Drops")
    page.locator("#prices [data-mile=drop-off]").first.check()
    expect(page.locator("[data-days]")).to_be_hidden()


def test_on_a_phone_price_and_book_stay_visible_and_hide_no_focus(log_in: Open) -> None:
    page = log_in("sender", width=360)
    filled(page, receiver_name="Ada Phone")
    page.evaluate("window.scrollTo(0, 0)")
    bar = page.locator("#prices .book")
    expect(bar.get_by_role("button")).to_be_in_viewport()
    expect(bar).to_contain_text(re.compile(r"\$\d+\.\d\d"))
    assert violations(page) == []
    page.locator("[name=receiver_name]").focus()
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break  # the page has ended
        hidden = page.evaluate(IS_UNDER_THE_BAR)
        assert not hidden, page.evaluate("document.activeElement.outerHTML")
