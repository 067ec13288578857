"""A parcel without the mouse: from the clipboard, and to somebody known. Each key is counted."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, has_sideways_scroll, violations
from tests.browser.walking import fill_parcel

PASTED = "Rosa Lindqvist\n9 Sample Street\nHobart TAS 7000\nrosa.lindqvist@example.net"


def start(page: Page) -> None:
    """From any page, by one key."""
    page.goto("/parcels/")
    page.keyboard.press("n")
    expect(page.locator("#smart")).to_be_focused()


def paste(page: Page, text: str) -> None:
    """Ctrl+V, with the text on the clipboard."""
    page.locator("#smart").evaluate(
        """(input, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }""",
        text,
    )


def save_default_size(page: Page) -> None:
    page.goto("/sizes/")
    if page.get_by_text("Mug box", exact=True).count():
        return
    page.goto("/sizes/new/")
    typed = {"name": "Mug box", "weight": "2.4", "length": "32", "width": "24", "height": "11",
             "description": "Boxed ceramic mugs"}  # fmt: skip
    for name, value in typed.items():
        page.locator(f"[name={name}]").fill(value)
    page.locator("main form button").last.click()
    page.get_by_role("button", name="Make default").first.click()


def book_by_keys(page: Page) -> None:
    expect(page.locator("#prices form button")).to_contain_text("Book ")
    page.keyboard.press("Control+Enter")
    booked = re.compile(r"^S[A-Z0-9]{5,} to ")
    expect(page.get_by_role("heading", level=1)).to_have_text(booked, timeout=30_000)


def test_j1_a_pasted_address_is_booked_by_three_keys(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    start(page)
    paste(page, PASTED)
    expect(page.locator("[name=receiver_line1]")).to_have_value("9 Sample Street")
    book_by_keys(page)


def test_j2_a_known_receiver_is_booked_by_six_keys(log_in: Open) -> None:
    page = log_in("sender")
    save_default_size(page)
    start(page)
    paste(page, PASTED.replace("Rosa", "Greta"))
    book_by_keys(page)
    start(page)
    page.keyboard.type("gre")
    expect(page.get_by_role("option").first).to_contain_text("Greta Lindqvist")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("[name=receiver_email]")).to_have_value("rosa.lindqvist@example.net")
    expect(page.locator("#prices form button")).to_contain_text("Book ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#prices form button")).to_contain_text("Press once more")  # just like the one before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_form_with_its_prices_is_accessible_and_fits_a_small_phone(log_in: Open, theme: str) -> None:
    page = log_in("sender", theme=theme, width=320)
    fill_parcel(page)
    expect(page.locator("#prices form button")).to_contain_text("Book ")
    assert violations(page) == []
    assert not has_sideways_scroll(page)


def test_a_key_typed_into_a_field_is_a_letter(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/")
    page.locator("#search").press("n")
    expect(page.locator("#search")).to_have_value("n")
