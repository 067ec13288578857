"""Book a parcel without the mouse, to a new and to a known receiver, until its label is ready. Each key is counted."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.parcel_form import PASTED, book_by_keys, paste, save_default_size, start
from tests.browser.walking import BOOKED, counted, fill_parcel
from tests.processes.portal import until

pytestmark = pytest.mark.xdist_group("gallery")  # a second portal that has the gallery
KNOWN = """
from tests import factories
from shipping_portal.accounts.models import User
sender = User.objects.get(email={email!r}).membership.sender
factories.saved_receiver(sender, name="Greta Lindqvist", email="greta@example.net")
"""


@pytest.mark.smoke
def test_j1_from_the_clipboard_to_the_label_in_three_keys_and_no_click(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    start(page)
    paste(page, PASTED)
    expect(page.locator("[name=receiver_line1]")).to_have_value("9 Sample Street")
    book_by_keys(page)
    assert counted(page) == {"keys": 3, "clicks": 0}


def test_text_pasted_before_the_script_loads_is_filled_in_too(log_in: Open) -> None:
    page, held = log_in("sender"), []
    page.route("**/new-parcel*.js", lambda route: held.append(route))
    page.goto("/parcels/new/", wait_until="commit")
    long = "Ida Early, Early and Daughters Candle Works, Unit 12, 9 Sample Street, Hobart TAS 7000, " + "ida" * 12
    page.locator("#smart").fill(f"{long}@example.net")
    until(lambda: held or page.wait_for_timeout(50), seconds=20, what="the script is asked for")
    held[0].continue_()
    expect(page.locator("[name=receiver_postcode]")).to_have_value("7000")
    expect(page.locator("[name=receiver_name]")).to_have_value("Ida Early")
    expect(page.locator("[name=receiver_email]")).to_have_value("ida" * 12 + "@example.net")
    expect(page.locator("#smart")).to_have_value("")


def test_pasted_text_restored_by_the_browser_changes_no_typed_address(log_in: Open) -> None:
    page, held = log_in("sender"), []
    page.route("**/new-parcel*.js", lambda route: held.append(route))
    page.goto("/parcels/new/", wait_until="commit")
    page.locator("[name=receiver_line1]").fill("7 Typed Street")
    page.locator("#smart").fill("Ida Early, 9 Sample Street, Hobart TAS 7000")
    until(lambda: held or page.wait_for_timeout(50), seconds=20, what="the script is asked for")
    with page.expect_event("domcontentloaded"):
        held[0].continue_()
    page.wait_for_timeout(500)
    expect(page.locator("[name=receiver_line1]")).to_have_value("7 Typed Street")


def test_an_address_typed_into_the_one_box_is_filled_in_by_enter(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/")
    page.locator("#smart").fill("Ida Typed, 9 Sample Street, Hobart TAS 7000")
    page.keyboard.press("Enter")
    expect(page.locator("[name=receiver_line1]")).to_have_value("9 Sample Street")
    expect(page.locator("[name=receiver_postcode]")).to_have_value("7000")


def test_j1_a_paste_without_an_email_leads_to_that_one_field(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    start(page)
    paste(page, "Ida Nomail\n9 Sample Street\nHobart TAS 7000")
    expect(page.locator("[name=receiver_email]")).to_be_focused()
    page.keyboard.type("ida@example.net")
    book_by_keys(page)
    assert counted(page) == {"keys": 3 + len("ida@example.net"), "clicks": 0}


def test_j2_a_known_receiver_to_the_label_in_six_keys_and_no_click(stack: Stack, log_in: Open) -> None:
    stack.shell(KNOWN.format(email=stack.people["sender"]["email"]))
    page = log_in("sender")
    save_default_size(page)
    start(page)
    page.keyboard.type("gre")
    expect(page.get_by_role("option").first).to_contain_text("Greta Lindqvist")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("[name=receiver_email]")).to_have_value("greta@example.net")
    book_by_keys(page)
    assert counted(page) == {"keys": 6, "clicks": 0}


def test_booking_the_same_again_takes_one_more_click(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    for _ in range(2):
        page.goto("/parcels/new/#smart")
        paste(page, PASTED.replace("Rosa Lindqvist", "Twice Tamsin"))
        button = page.locator("#prices .book button")
        expect(button).to_contain_text("Book ")
        page.keyboard.press("Control+Enter")
        if page.locator("#duplicate").count():
            break
        expect(page).to_have_title(BOOKED, timeout=30_000)
    expect(page.locator("#duplicate")).to_contain_text("to Twice Tamsin")
    expect(button).to_have_text("Book another one")
    assert violations(page) == []
    page.keyboard.press("Control+Enter")
    expect(page).to_have_title(BOOKED, timeout=30_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_form_with_its_prices_is_accessible_and_fits_a_small_phone(log_in: Open, theme: str) -> None:
    page = log_in("sender", theme=theme, width=320)
    fill_parcel(page)
    expect(page.locator("#prices .book button")).to_contain_text("Book ")
    assert violations(page) == []
    assert not has_sideways_scroll(page)


def test_contents_are_asked_for_where_customs_ask_within_a_country(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/")
    contents, state = page.locator("#contents"), page.locator("[name=receiver_state]")
    expect(contents).to_be_hidden()
    contents.evaluate("contents => contents.dataset.states = 'tas|tasmania|'")
    for typed, is_open in (("TAS", True), ("VIC", False), ("Tasmania", True), ("", False)):
        state.fill(typed)
        state.blur()
        expect(contents).to_be_visible()  # other spellings of a state are the server's to read
        expect(contents).to_have_js_property("open", is_open)


def test_a_shortcut_key_typed_into_a_field_is_a_letter(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/")
    page.locator("#search").press("n")
    expect(page.locator("#search")).to_have_value("n")


@pytest.mark.parametrize(
    ("page_of", "prefix"), [("/settings/pickup-addresses/new/", ""), ("/addresses/new/", "receiver_")]
)
def test_places_are_suggested_while_an_address_is_typed_and_fill_its_three_fields(
    walk_in: Open, page_of: str, prefix: str
) -> None:
    page = walk_in()
    page.goto(page_of)
    box = page.locator(f"[name={prefix}suburb]")
    box.press_sequentially("hob")
    option = page.locator("datalist option").first
    expect(option).to_have_attribute("value", "Hobart TAS 7000")
    box.fill("Hobart TAS 7000")
    expect(box).to_have_value("Hobart")
    expect(page.locator(f"[name={prefix}state]")).to_have_value("TAS")
    expect(page.locator(f"[name={prefix}postcode]")).to_have_value("7000")
