"""B3, B4: sign up, turn on the second factor, book, print and cancel: 320 px wide, without a script."""

import base64
import hashlib
import hmac
import re
import time
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll
from tests.browser.walking import book, fill_parcel, label_files, lines_of, reload_until, see_prices, sha256
from tests.processes.portal import until

PASSWORD = "candle-harbour-violin"


@pytest.fixture
def email() -> str:
    return f"noa.{uuid.uuid4().hex[:6]}@wicks.example"


def code(secret: str, *, later: int = 0) -> str:
    """Return what an authenticator app shows (RFC 6238), `later` steps of half a minute from now."""
    counter = (int(time.time()) // 30 + later).to_bytes(8, "big")
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06d}"


def press(page: Page, name: str) -> None:
    """Press a button of the page, and check that the next page fits the screen."""
    page.locator("main").get_by_role("button", name=name).first.click()
    page.wait_for_load_state()
    assert not has_sideways_scroll(page), page.url


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        control = page.locator(f"[name={name}]:not([type=hidden])")
        if control.evaluate("it => it.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)


def sign_up(page: Page, stack: Stack, email: str) -> None:
    page.goto("/accounts/signup/")
    fill(page, name="Noa Wick", business="Wicks", email=email, password1=PASSWORD)
    page.get_by_role("radio", name="Australia").check()
    page.get_by_role("checkbox", name=re.compile("dangerous goods")).check()
    press(page, "Create account")
    page.goto(mailed_link(stack, email))
    press(page, "Yes, verify it")


def mailed_link(stack: Stack, email: str) -> str:
    def letters() -> list[str]:
        return [text for path in stack.mail.iterdir() if email in (text := path.read_text())]

    until(lambda: letters(), seconds=20, what="a mail came")
    found = re.search(r"/accounts/confirm-email/[^\s/]+/", letters()[0].replace("=\n", ""))
    assert found
    return found[0]


def log_in(page: Page, email: str) -> None:
    page.goto("/accounts/login/")
    fill(page, login=email, password=PASSWORD)
    press(page, "Log in")


def take_first_steps(page: Page, email: str) -> None:
    page.goto("/settings/pickup-address/")
    fill(page, name="Noa Wick", phone="0491 570 006", line1="12 Example Lane", suburb="Fitzroy", state="VIC",
         postcode="3065")  # fmt: skip
    page.get_by_role("radio", name=email).check()
    press(page, "Save")
    page.goto("/start/")
    expect(page.get_by_role("link", name="Book your first parcel")).to_be_visible()


def guard_by_a_code(page: Page) -> str:
    """Turn the second factor on; return its secret."""
    page.goto("/accounts/2fa/totp/activate/")
    if page.locator("[name=password]").count():
        fill(page, password=PASSWORD)
        page.locator("main form button").first.click()
    secret = page.locator("main .ref").inner_text().strip()
    fill(page, code=code(secret))
    press(page, "Turn it on")
    return secret


def test_b3_b4_from_signing_up_to_cancelling_without_a_script_on_the_smallest_screen(
    stack: Stack, open_browser: Open, email: str
) -> None:
    page = open_browser(javascript=False, width=320)
    sign_up(page, stack, email)
    take_first_steps(page, email)
    secret = guard_by_a_code(page)
    page.locator(".me summary").click()
    page.get_by_role("button", name="Log out").click()
    log_in(page, email)
    fill(page, code=code(secret, later=1))
    press(page, "Log in")
    fill_parcel(page, customer_reference="SIM-NONE")
    see_prices(page)
    assert not has_sideways_scroll(page)
    reference = book(page)
    reload_until(page, "Mark printed")
    label = page.locator("main").get_by_role("link", name=re.compile("^Print")).first.get_attribute("href") or ""
    files = {sha256(path.read_bytes()) for path in label_files(stack, reference)}
    assert sha256(page.request.get(label).body()) in files
    page.locator("summary[aria-label='More actions']").click()
    page.get_by_role("link", name="Cancel parcel").click()
    press(page, f"Cancel parcel {reference}")
    until(lambda: lines_of(stack, "cancelled", reference), seconds=20, what="the carrier cancelled it")
