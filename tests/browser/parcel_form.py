"""Fill in and book the New parcel page in a browser."""

import re

from playwright.sync_api import Page, expect

from tests.browser.walking import BOOKED, start_counting

PASTED = "Rosa Lindqvist\n9 Sample Street\nHobart TAS 7000\nrosa.lindqvist@example.net"


def start(page: Page) -> None:
    """Open the form from any page with one key."""
    page.goto("/parcels/")
    start_counting(page)
    page.keyboard.press("n")
    expect(page.locator("#smart")).to_be_focused()
    page.wait_for_load_state("domcontentloaded")  # the box appears before its script listens


def paste(page: Page, text: str) -> None:
    """Put the text on the clipboard and press Ctrl+V."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+v")


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
    page.get_by_label("Options for Mug box").click()
    page.get_by_role("button", name=re.compile("^Make default.*Mug box")).click()


def book_by_keys(page: Page) -> None:
    """Press Ctrl+Enter, then wait until the label can be printed."""
    expect(page.locator("#prices .book button")).to_contain_text("Book ")
    page.keyboard.press("Control+Enter")
    expect(page).to_have_title(BOOKED, timeout=30_000)
    expect(page.get_by_role("link", name=re.compile("^Print")).first).to_be_visible(timeout=30_000)
