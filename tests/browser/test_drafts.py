"""A half-typed parcel in a real browser: saved automatically, or by a button without the script; gone once booked."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.parcel_form import PASTED, paste
from tests.browser.walking import TO_HOBART, book, fill_parcel, see_prices
from tests.processes.portal import until

SAVED = re.compile(r"Draft saved \d+:\d\d [ap]m")


def half_type(page: Page, name: str) -> None:
    page.goto("/parcels/new/")
    page.locator("[name=receiver_name]").fill(name)
    page.locator("[name=receiver_line1]").fill("4 Sample Street")


def drafts_of(page: Page, name: str) -> int:
    page.goto("/parcels/?view=drafts")
    return going_on(page, name).count()


def going_on(page: Page, name: str) -> Locator:
    return page.locator("li", has_text=name).get_by_role("link", name="Continue")


def finish(page: Page, name: str) -> None:
    for control, value in (TO_HOBART | {"receiver_name": name}).items():
        if control != "receiver_country":
            page.locator(f"[name={control}]").fill(value)


def test_a_form_saves_itself_after_two_seconds_and_survives_a_reload(log_in: Open) -> None:
    page = log_in("sender")
    half_type(page, "Ida Reload")
    expect(page.locator("#saved")).to_have_text(SAVED, timeout=4000)
    assert "/parcels/drafts/" in page.url
    page.reload()
    expect(page.locator("[name=receiver_line1]")).to_have_value("4 Sample Street")
    assert violations(page) == []
    assert drafts_of(page, "Ida Reload") == 1
    assert violations(page) == []


def test_a_form_left_at_once_is_saved_too(log_in: Open) -> None:
    page = log_in("sender")
    half_type(page, "Ida Leaves")
    page.get_by_role("link", name="Today").click()
    expect(page).to_have_url(re.compile("/today/$"))
    until(lambda: drafts_of(page, "Ida Leaves") == 1, seconds=10, what="the draft is listed")


FILL = """
from django.utils import timezone
from orders.drafting import drafts
from orders.models import Draft
from shipping_portal.accounts.models import User
user = User.objects.get(email={email!r})
values = {{"receiver_name": "Ida Filler"}}
known = dict(sender=user.membership.sender, made_by=user, values=values, updated_at=timezone.now())
Draft.objects.bulk_create(Draft(**known) for _ in range(drafts.MOST))
"""
EMPTY = "from orders.models import Draft; Draft.objects.filter(values__receiver_name='Ida Filler').delete()"


def test_leaving_asks_only_when_a_paste_could_not_be_saved(log_in: Open, stack: Stack) -> None:
    page = log_in("sender")
    stack.shell(FILL.format(email=stack.people["sender"]["email"]))
    page.goto("/parcels/new/#smart")
    paste(page, PASTED.replace("Rosa", "Ida"))
    expect(page.locator("#saved")).to_contain_text("50 drafts", timeout=5000)
    questions = []
    page.on("dialog", lambda dialog: (questions.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="Today").click(no_wait_after=True)
    until(lambda: questions or page.wait_for_timeout(200), seconds=10, what="the browser asks")
    assert questions == ["beforeunload"]
    expect(page.locator("[name=receiver_line1]")).to_have_value("9 Sample Street")
    stack.manage("shell", "-c", EMPTY)
    page.locator("[name=description]").fill("Mugs")
    expect(page.locator("#saved")).to_have_text(SAVED, timeout=5000)
    page.get_by_role("link", name="Today").click()
    expect(page).to_have_url(re.compile("/today/$"))


@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_without_prices_one_click_saves_the_draft_and_asks_for_an_email(
    log_in: Open, stack: Stack, javascript: bool
) -> None:
    page = log_in("sender", javascript=javascript, width=320)
    stack.carrier.trouble("quote", "503", count=999)  # a form filled in slowly asks many times
    # Each test waits for prices of a different parcel: prices of the same parcel are shared.
    fill_parcel(page, weight_kg="3.7" if javascript else "3.8")
    if not javascript:
        page.get_by_role("button", name="See prices").last.click()
    tell = page.get_by_role("button", name="Save draft and email me when there are prices")
    expect(tell).to_be_visible(timeout=15_000)
    assert not has_sideways_scroll(page)
    if javascript:
        assert violations(page) == []
    tell.click()
    expect(page.get_by_text("We'll email you when the carrier gives prices again.")).to_be_visible()


def test_an_untouched_form_saves_nothing(log_in: Open) -> None:
    page = log_in("sender")
    before = drafts_of(page, "No receiver yet")
    page.goto("/parcels/new/")
    page.wait_for_timeout(2500)
    assert drafts_of(page, "No receiver yet") == before


def test_booking_from_the_form_deletes_its_draft_even_while_it_is_being_saved(log_in: Open) -> None:
    page = log_in("sender")
    half_type(page, "Ida Books")
    expect(page.locator("#saved")).to_have_text(SAVED, timeout=4000)
    finish(page, "Ida Books")
    expect(page.locator("#prices .book button")).to_contain_text("Book ")
    page.wait_for_timeout(1600)  # the second save starts around now
    page.keyboard.press("Control+Enter")
    expect(page).to_have_title(re.compile("^S[A-Z0-9]{5,} to "), timeout=30_000)
    assert drafts_of(page, "Ida Books") == 0


@pytest.mark.parametrize("width", [320, 1280])
def test_without_a_script_the_button_saves_it_and_booking_deletes_it(log_in: Open, width: int) -> None:
    page = log_in("sender", javascript=False, width=width)
    name = f"Ida Plain {width}"
    half_type(page, name)
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("status").get_by_text(SAVED)).to_be_visible()
    assert drafts_of(page, name) == 1
    assert not has_sideways_scroll(page)
    going_on(page, name).click()
    finish(page, name)
    see_prices(page)
    book(page)
    assert drafts_of(page, name) == 0
