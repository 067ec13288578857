"""New parcel shows a mistake when you leave its field, never while you type; a login that expires loses nothing."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, enter, violations
from tests.browser.parcel_form import PASTED, paste
from tests.browser.walking import fill_parcel

BACK = {"visibilitychange": "document", "focus": "window"}
ROLE = """
from shipping_portal.accounts.models import Membership
mine = Membership.objects.filter(user__email={email!r})
print(mine.get().role)
mine.update(role={role!r})
"""


def test_an_error_shows_on_leaving_the_field_and_disappears_once_corrected(log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_name="Ada Blur")
    weight = page.locator("[name=weight_kg]")
    weight.fill("1,4")
    page.wait_for_timeout(1500)
    expect(page.locator("#id_weight_kg_error")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(page.locator("#id_weight_kg_error")).to_have_text("Use a dot: 1.4.")
    expect(weight).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#prices")).to_contain_text("Check the weight. Use a dot: 1.4.")
    assert violations(page) == []
    page.get_by_role("link", name="Go to weight").click()
    expect(weight).to_be_focused()
    weight.fill("1.4")
    expect(page.locator("#id_weight_kg_error")).to_have_count(0)
    expect(page.locator("#prices .book button")).to_be_visible()


def test_reloading_after_enter_on_a_form_with_a_mistake_sends_nothing_again(log_in: Open) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_email="foo")
    before = page.evaluate("history.length")
    page.locator("[name=receiver_email]").press("Enter")
    expect(page.locator("#id_receiver_email_error")).to_contain_text("Enter a full email address")
    assert page.evaluate("history.length") == before


@pytest.mark.parametrize("back", ["visibilitychange", "focus", "input"])
def test_a_login_that_expires_while_typing_is_renewed_in_another_tab_or_window(
    log_in: Open, stack: Stack, back: str
) -> None:
    page = log_in("sender")
    fill_parcel(page, receiver_name="Ada Stays", weight_kg="")
    page.context.clear_cookies()
    page.locator("[name=weight_kg]").fill("2.4")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Log in on a new page")
    expect(link).to_be_visible()
    expect(page.locator("#saved")).to_have_text("Not saved: log in first.")
    with page.context.expect_page() as opened:
        link.click()
    enter(opened.value, stack.people["sender"])
    opened.value.close()
    if back == "input":  # a window beside this one, which never was hidden
        page.locator("[name=weight_kg]").fill("2.5")
    else:
        page.evaluate(f"{BACK[back]}.dispatchEvent(new Event('{back}'))")
    expect(page.locator("#prices .book button")).to_be_visible()
    expect(page.locator("[name=receiver_name]")).to_have_value("Ada Stays")


def test_a_role_that_was_taken_while_typing_is_named_as_the_reason(log_in: Open, stack: Stack) -> None:
    page, email = log_in("sender"), stack.people["sender"]["email"]
    fill_parcel(page, receiver_name="Ada Stays", weight_kg="")
    before = stack.shell(ROLE.format(email=email, role="bookkeeper")).split()[-1]
    try:
        page.locator("[name=weight_kg]").fill("2.4")
        page.keyboard.press("Tab")
        expect(page.locator("#saved")).to_contain_text(
            "Not saved. What you changed may have been removed, or your role"
        )
        expect(page.locator("#prices")).to_contain_text("or your role changed, since you opened the page. Nothing was")
        expect(page.locator("#prices")).not_to_contain_text("didn't answer")
    finally:
        stack.shell(ROLE.format(email=email, role=before))
    expect(page.locator("[name=receiver_name]")).to_have_value("Ada Stays")


def test_a_new_name_in_the_one_box_becomes_the_name_on_leaving_it(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/#smart")
    expect(page.locator("#smart")).to_be_focused()
    page.keyboard.type("Zelda Unmatched")
    page.keyboard.press("Tab")
    expect(page.locator("[name=receiver_name]")).to_have_value("Zelda Unmatched")
    expect(page.locator("#smart")).to_have_value("")


def test_the_price_card_names_what_is_missing_while_somebody_types(log_in: Open) -> None:
    page = log_in("sender")
    card = page.locator("#prices")
    fill_parcel(page, receiver_name="Ada Names", description="")
    expect(card.get_by_role("link", name="Add what's inside to book")).to_be_visible()
    assert violations(page) == []
    page.locator("[name=receiver_email]").fill("")
    expect(card).to_contain_text("Add the email to see prices.")
    page.locator("[name=receiver_email]").press_sequentially("ada@")
    expect(card).to_contain_text("Check the email to see prices.")
    expect(page.locator("#id_receiver_email_error")).to_have_count(0)
    page.locator("[name=receiver_email]").press_sequentially("example.net")
    page.locator("[name=description]").fill("Mugs")
    expect(page.locator("#prices .book button")).to_contain_text("Book ")


NO_DEFAULT = """
from shipping_portal.accounts.models import Sender, User
from tests import factories
sender = User.objects.get(email={email!r}).membership.sender
sender.sizes.exists() or factories.size(sender, name="Paste box")
print(sender.default_size_id or "")
Sender.objects.filter(pk=sender.pk).update(default_size={size})
"""


def test_after_a_paste_the_focus_goes_to_the_sizes_if_none_is_the_default(log_in: Open, stack: Stack) -> None:
    email = stack.people["sender"]["email"]
    before = stack.shell(NO_DEFAULT.format(email=email, size=None)).split()
    page = log_in("sender")
    page.goto("/parcels/new/#smart")
    paste(page, PASTED)
    expect(page.locator("[name=size][value='']")).to_be_focused()
    if before:
        stack.shell(NO_DEFAULT.format(email=email, size=before[-1]))
