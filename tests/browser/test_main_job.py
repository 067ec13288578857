"""The whole main job in a real browser: quote, book, print, watch it travel, open the tools, cancel another."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import book, fill_parcel, label_files, open_label_files, reload_until, see_prices, sha256


@pytest.mark.smoke
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_sender_books_prints_and_watches_a_parcel(stack: Stack, log_in: Open, javascript: bool) -> None:
    page = log_in("sender", javascript=javascript, width=1280 if javascript else 360)
    fill_parcel(page)
    see_prices(page)
    expect(page.get_by_text("service", exact=False).first).to_be_attached()
    reference = book(page)
    assert reference in [line["reference"] for line in stack.carrier.ledger("booked")]
    label_is_the_carriers_own(stack, page, reference)
    stack.carrier.settings(speed=12.0)  # once it's collected there is nothing to print
    expect_scans(page, reference, javascript=javascript)
    open_tools(page)
    stack.carrier.settings(speed=0.0)


def label_is_the_carriers_own(stack: Stack, page: Page, reference: str) -> None:
    """Check that the PDF the portal serves has the sha256 of the carrier's file."""
    link = page.locator("main").get_by_role("link", name=re.compile("^Print")).first
    for _ in range(30):
        if link.count():
            break
        page.wait_for_timeout(500)
        page.reload()
    answer = page.request.get(link.get_attribute("href") or "")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.body().startswith(b"%PDF-")
    assert sha256(answer.body()) in {sha256(path.read_bytes()) for path in label_files(stack, reference)}


def expect_scans(page: Page, reference: str, *, javascript: bool) -> None:
    """Expect at least four scans by webhook, ending with Delivered, within seconds at twelve times the demo's speed."""
    badge = page.locator(".head .badge", has_text="Delivered")
    for _ in range(90):
        if badge.is_visible():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(badge).to_be_visible()
    assert page.locator(".time li").count() >= 4


def open_tools(page: Page) -> None:
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Change delivery or pickup").click()
    link = page.locator("main a[rel~=noreferrer]")
    expect(link).to_have_count(1)
    assert "token=" in (link.get_attribute("href") or "")


def test_an_opened_section_of_a_parcels_page_stays_open_when_news_comes(stack: Stack, log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_name="Open Folds")
    see_prices(page)
    book(page)
    reload_until(page, "Mark printed")
    fold = open_label_files(page)
    news = page.locator(".head .badge").inner_text()
    stack.carrier.settings(speed=12.0)
    expect(page.locator(".head .badge")).not_to_have_text(news, timeout=30_000)
    stack.carrier.settings(speed=0.0)
    expect(fold).to_have_attribute("open", "")


def test_a_second_parcel_is_cancelled(stack: Stack, log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_name="Cancel Me", customer_reference="SIM-NONE cancelled")
    see_prices(page)
    reference = book(page)
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Cancel parcel").click()
    page.get_by_role("button", name=re.compile("Cancel parcel")).click()
    for _ in range(40):
        if page.get_by_text("Cancelled", exact=True).count():
            break
        page.wait_for_timeout(500)
        page.reload()
    assert [line for line in stack.carrier.ledger("cancelled") if line["reference"] == reference]
    assert page.locator("main").get_by_role("link", name=re.compile("^Print")).count() == 0


def test_the_pages_of_one_parcel_are_accessible_and_fit(log_in: Open) -> None:
    page = log_in("sender", width=320)
    page.goto("/parcels/new/")
    page.get_by_role("button", name="See prices").last.click()
    expect(page.locator("#parcel-form [aria-invalid=true]").first).to_be_focused()
    assert faults(page) == []
    fill_parcel(page)
    see_prices(page)
    assert faults(page) == []
    book(page)
    assert faults(page) == []
    page.get_by_label("More actions").click()
    assert faults(page) == []
    page.get_by_role("link", name="Cancel parcel").click()
    assert faults(page) == []


def faults(page: Page) -> list[str]:
    """Return what axe finds in either theme, and whether the page is wider than its window."""
    found = ["scrolls sideways"] if has_sideways_scroll(page) else []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.evaluate("document.getAnimations().forEach(change => change.finish())")  # colours are still changing
        found += violations(page)
    return found
