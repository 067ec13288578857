"""README's "What to try in three minutes", word for word, in a demo that `./dev run` started."""

import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import violations
from tests.browser.parcel_form import book_by_keys, paste, start
from tests.browser.walking import counted
from tests.processes.demo import Demo, ready
from tests.processes.portal import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.full]
SECTION = re.search(r"## What to try in three minutes\n(.*?)\n## ", (ROOT / "README.md").read_text(), re.S)
README = " ".join(SECTION[1].split()) if SECTION else ""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Demo(tmp_path_factory.mktemp("three-minutes")).started() as process:
        yield ready(process)


@pytest.fixture
def page(chromium: Browser, demo: str) -> Iterator[Page]:
    with chromium.new_context(base_url=demo, timezone_id="Australia/Melbourne") as context:
        yield context.new_page()


def press(page: Page, name: str) -> None:
    """Press a button that README names, word for word."""
    assert f"**{name}**" in README, name
    page.get_by_role("button", name=name, exact=True).click()


def in_the_bar(page: Page, name: str) -> None:
    page.locator("details.demo summary").click()
    press(page, name)


def book(page: Page, to: str = "") -> str:
    """Book README's parcel, or one to somebody else, with README's keys; return the address of its page."""
    found = re.search(r"Copy `([^`]+)`", README)
    assert found
    start(page)
    paste(page, to or found[1])
    book_by_keys(page)
    return page.url


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs everything")
def test_the_tests_of_a_file_stay_in_one_process_and_share_its_demo(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@test_three_minutes")  # by which pytest-xdist keeps them so


def test_the_three_minutes(page: Page, demo: str) -> None:
    page.goto("/")
    press(page, "Log in as Mia, a sender")
    expect(page).to_have_url(re.compile("/today/"))

    assert "in three keys" in README
    first = book(page)
    assert counted(page) == {"keys": 3, "clicks": 0}
    expect(page.get_by_role("link", name=re.compile("^Print")).first).to_be_visible()
    assert page.request.get(first.rstrip("/") + "/cancel/").ok  # Mia still has it

    in_the_bar(page, "Drop off")
    expect(page.get_by_text(re.compile(r"^You dropped off \d+\."))).to_be_visible()
    page.goto(first)
    expect(page.get_by_text("Dropped off").first).to_be_visible()
    in_the_bar(page, "Driver misses")
    expect(page.get_by_text("No driver came for")).to_be_visible()
    in_the_bar(page, "Driver comes")
    expect(page.get_by_text("The driver picked up")).to_be_visible()
    in_the_bar(page, "Lose the reply")
    book(
        page, "Priya Nair, 9/21 Koornang Rd, Carnegie VIC 3163, priya.nair@example.net"
    )  # another one: it would ask about a duplicate
    expect(page.locator(".head .ref")).to_contain_text(re.compile("S[2-9A-Z]{7}"))

    in_the_bar(page, "Bill the week")
    expect(page.get_by_text("taken in and posted")).to_be_visible()
    for address in ("/billing/", "/reports/"):
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
    page.goto("/billing/")
    expect(page.get_by_text(re.compile("size charge", re.I)).first).to_be_visible()


def test_somebody_signs_up_and_reads_the_email(page: Page) -> None:
    assert "`/demo/mail/`" in README
    email = f"noa.{uuid.uuid4().hex[:6]}@wicks.example"
    page.goto("/accounts/signup/")
    for name, value in {"name": "Noa Wick", "business": "Wicks", "email": email,
                        "password1": "candle-harbour-violin"}.items():  # fmt: skip
        page.locator(f"[name={name}]").fill(value)
    page.get_by_role("radio", name="Australia").check()
    page.get_by_role("checkbox", name=re.compile("dangerous goods")).check()
    page.get_by_role("button", name="Create account").click()
    page.goto("/demo/mail/")
    page.get_by_role("link", name=re.compile("confirm-email")).first.click()
    page.get_by_role("button", name="Yes, verify it").click()
    expect(page.locator("h1")).to_be_visible()


def test_the_operator_resolves_what_is_waiting(page: Page, demo: str) -> None:
    page.goto("/")
    assert violations(page) == []
    press(page, "Log in as Omar, an operator")
    assert violations(page) == []
    code = page.locator("main p strong").inner_text()
    page.locator("main input[name=code]").fill(code)
    page.get_by_role("button", name="Log in", exact=True).click()
    for title in ("Booking outcome unknown", "Disputed charges", "Unmapped charge terms",
                  "Accounts waiting for approval"):  # fmt: skip
        expect(page.get_by_role("link", name=title, exact=True)).to_be_visible()
    page.get_by_role("link", name="Booking outcome unknown", exact=True).click()
    page.get_by_role("link", name=re.compile("^Resolve order")).click()
    reference = page.get_by_label("Carrier's reference").input_value()
    resolve = page.url
    assert "**Carrier's dashboard**" in README
    page.locator("details.demo summary").click()
    page.get_by_role("link", name="Carrier's dashboard").click()
    order_id = page.locator("tr").filter(has_text=reference).locator("td").nth(1).inner_text()
    page.goto(resolve)
    page.get_by_label("Carrier's order ID").fill(order_id)
    page.locator("[name=adopt-reason]").fill("The carrier's dashboard shows our key.")
    page.get_by_role("button", name="Adopt reference").click()
    expect(page.get_by_text("Booked under the carrier's reference.")).to_be_visible()


def test_the_demo_logins_are_what_readme_says() -> None:
    from shipping_portal.accounts import demo as people  # noqa: PLC0415

    for word in (people.SENDER_EMAIL, people.SENDER_PASSWORD, people.OPERATOR_EMAIL, people.OPERATOR_PASSWORD):
        assert f"`{word}`" in README
    assert Path(ROOT / "README.md").exists()
