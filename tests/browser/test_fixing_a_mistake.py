"""A mistake is corrected with two clicks and the edit. A parcel is cancelled with three clicks."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.walking import book, booking_of, count_clicks, fill_parcel, lines_of, see_prices
from tests.processes.portal import until


def booked(page: Page, **changes: str) -> str:
    fill_parcel(page, customer_reference="SIM-NONE mended", **changes)
    see_prices(page)
    return book(page)


def test_j7_a_wrong_address_is_corrected_in_two_clicks_and_the_edit(stack: Stack, log_in: Open) -> None:
    page = log_in("sender")
    old = booked(page, receiver_line1="4 Sample Stret")
    clicks = count_clicks(page)
    page.get_by_role("link", name="Fix a mistake").click()
    page.locator("[name=receiver_line1]").fill("4 Sample Street")
    page.locator("[name=receiver_line1]").press("Enter")
    expect(page.get_by_text("was 4 Sample Stret")).to_be_visible()
    page.get_by_role("button", name=re.compile(f"Cancel {old} and book again")).first.click()
    expect(page.get_by_text("Fixed.")).to_be_visible(timeout=30_000)
    new = page.locator(".head .ref").inner_text()
    assert len(clicks) == 2
    assert new != old
    assert lines_of(stack, "cancelled", old)
    assert "4 Sample Street" in str(booking_of(stack, new))


def test_j8_a_parcel_is_cancelled_in_three_clicks(stack: Stack, log_in: Open) -> None:
    page = log_in("sender")
    reference = booked(page)
    clicks = count_clicks(page)
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Cancel parcel").click()
    page.get_by_role("button", name=f"Cancel parcel {reference}").click()
    until(lambda: lines_of(stack, "cancelled", reference), seconds=20, what="the carrier cancelled it")
    assert len(clicks) == 3


def test_without_javascript_the_same_clicks_correct_a_mistake(stack: Stack, log_in: Open) -> None:
    page = log_in("sender", javascript=False, width=320)
    old = booked(page, receiver_line1="4 Sample Stret")
    page.get_by_role("link", name="Fix a mistake").click()
    page.locator("[name=receiver_line1]").fill("4 Sample Street")
    page.locator("[name=receiver_line1]").press("Enter")
    page.get_by_role("button", name=re.compile(f"Cancel {old} and book again")).first.click()
    expect(page.get_by_text("Fixed.")).to_be_visible(timeout=30_000)
    assert lines_of(stack, "cancelled", old)
