"""The size guard in a real browser: beside the form with the script, on the prices page without; nothing typed is
lost.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import TO_HOBART, see_prices

MEASURED = """
from decimal import Decimal
from shipping_portal.accounts.models import User
from tests import factories
person = User.objects.get(email={email!r})
sender = person.membership.sender
if not sender.sizes.filter(name="Guarded").exists():
    sides = dict(length=Decimal(41), width=Decimal(21), height=Decimal(11))
    size = factories.size(sender, name="Guarded", weight=Decimal(1), position=9, **sides)
    for number in range(5):
        order = factories.order(
            sender, person, status="booked", size=size, weight_kg=Decimal(1), due_at=None, progress="delivered",
            carrier_reference=f"SGUARD{{number}}X",
        )
        factories.charge(order)
        if number % 2 == 0:
            factories.charge(order, "under-declared", "4.13", measured_kg=Decimal("1.3"))
"""
SAID = "Last 3 of 5 “Guarded” parcels were measured at 1.3 kg. You're declaring 1 kg"


@pytest.fixture(autouse=True)
def _measured(stack: Stack) -> None:
    stack.shell(MEASURED.format(email=stack.people["sender"]["email"]))


def filled(page: Page, name: str) -> None:
    page.goto("/parcels/new/")
    for field in ("weight_kg", "length_cm", "width_cm", "height_cm"):
        page.locator(f"[name={field}]").fill("")  # another size may be the default, and stays filled in
    page.get_by_role("radio", name=re.compile("^Guarded")).check()
    typed = {key: value for key, value in TO_HOBART.items() if not key.endswith(("_kg", "_cm"))}
    for field, value in {**typed, "receiver_name": name, "customer_reference": "GUARD-7"}.items():
        control = page.locator(f"[name={field}]")
        if control.evaluate("it => it.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)


def test_one_click_puts_the_measured_weight_into_the_form_and_updates_prices(log_in: Open) -> None:
    page = log_in("sender", width=360)
    filled(page, "Greta Guard")
    notice = page.locator("#size-guard")
    expect(notice).to_contain_text(SAID)
    page.set_viewport_size({"width": 360, "height": 4000})  # no field is behind the Book bar
    assert violations(page) == []
    assert not has_sideways_scroll(page)
    page.set_viewport_size({"width": 360, "height": 900})
    notice.get_by_role("button", name="Use 1.3 kg").click()
    weight = page.locator("[name=weight_kg]")
    expect(weight).to_have_value("1.3")
    expect(weight).to_be_focused()
    expect(page.get_by_role("radio", name=re.compile("^Guarded"))).not_to_be_checked()
    expect(notice).to_have_count(0)
    expect(page.locator("#prices form button")).to_contain_text("Book ")
    expect(page.locator("[name=customer_reference]")).to_have_value("GUARD-7")


def test_kept_weights_are_not_mentioned_again_in_this_form(log_in: Open) -> None:
    page = log_in("sender")
    filled(page, "Greta Keeps")
    notice = page.locator("#size-guard")
    notice.get_by_role("button", name="Keep 1 kg").click()
    expect(notice).to_have_count(0)
    expect(page.locator("#prices form button")).to_be_focused()
    with page.expect_response(lambda reply: reply.request.method == "POST"):
        page.locator("[name=receiver_name]").fill("Greta Keeps On")
    expect(page.locator("#prices form button")).to_contain_text("Book ")
    expect(notice).to_have_count(0)
    see_prices(page)
    expect(notice).to_have_count(0)


def test_without_javascript_both_buttons_work_on_the_prices_page(log_in: Open) -> None:
    page = log_in("sender", javascript=False, width=360)
    for press, weight in (("Use 1.3 kg", "1.3 kg"), ("Keep 1 kg", "1 kg")):
        filled(page, "Greta Plain")
        see_prices(page)
        expect(page.locator("#size-guard")).to_contain_text(SAID)
        assert not has_sideways_scroll(page)
        page.locator("#size-guard").get_by_text(press).click()
        expect(page.locator("#size-guard")).to_have_count(0)
        expect(page.locator("main")).to_contain_text(f"{weight}, 41 × 21 × 11 cm")
        page.get_by_role("link", name="Edit").first.click()
        expect(page.locator("[name=customer_reference]")).to_have_value("GUARD-7")
