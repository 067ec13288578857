"""The labels of a receiver's address change with the chosen country, at once and for screen readers too."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.parcel_form import paste
from tests.pages.place_words import ASKED, LABELS, PLACE

ROW = """
from tests import factories
from shipping_portal.accounts.models import User
by = User.objects.get(email={email!r})
row = factories.import_row(by.membership.sender, by)
print(f"/imports/{{row.file.uuid}}/rows/{{row.pk}}/")
"""
TO_CHOOSE = [country for country in LABELS if country != "ZZ"]


def names(page: Page) -> tuple[str, ...]:
    """Return what a screen reader calls the parts of the address, reduced to the country's own words."""
    read = "control => control.labels[0].textContent"
    said = (str(page.locator(f"[name={name}]").evaluate(read)) for name in PLACE)
    return tuple(re.sub(r"\(optional\)", "", text).strip() for text in said)


@pytest.mark.parametrize("where", ["/parcels/new/", "/addresses/new/", "row"])
def test_labels_and_hint_follow_the_country_chosen_by_hand(stack: Stack, log_in: Open, where: str) -> None:
    page = log_in("sender")
    has_hint = where != "row"
    if not has_hint:
        code = ROW.format(email=stack.people["sender"]["email"])
        where = stack.shell(code).split()[-1]
    page.goto(where)
    page.locator("main details").evaluate_all("all => all.forEach(it => { it.open = true; })")
    assert names(page) == LABELS["AU"]
    for country in [*TO_CHOOSE[1:], "AU"]:
        page.locator("[name=receiver_country]").select_option(country)
        assert names(page) == LABELS[country]
        for name, label in zip(PLACE, LABELS[country], strict=True):
            expect(page.locator(f"[name={name}]")).to_have_accessible_name(re.compile(rf"^{label}( \(optional\))?$"))
        if has_hint:
            expect(page.locator("#id_receiver_line1_helptext")).to_contain_text(ASKED[country][2])


def test_the_phone_is_optional_only_where_no_country_asks_for_it(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/")
    for country, name in (("AU", "Phone (optional)"), ("NZ", "Phone"), ("AU", "Phone (optional)")):
        page.locator("[name=receiver_country]").select_option(country)
        expect(page.locator("[name=receiver_phone]")).to_have_accessible_name(name)


def test_a_pasted_address_renames_the_labels(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/parcels/new/#smart")
    expect(page.locator("#smart")).to_be_focused()
    paste(page, "Claire Roy\n4 Sample Street\nOttawa ON K1P 5M7\nCanada")
    expect(page.get_by_label("Postal code", exact=True)).to_have_value("K1P 5M7")
    assert names(page) == LABELS["CA"]


CODES = {"US": "90210", "AU": "3163 ", "CA": "K1P 5M7"}
WIDTHS = (360, 400, 480, 520, 600, 768, 1024, 1280)
CLIPPED = """control => { const [whole, seen] = [control.scrollWidth, control.clientWidth];
    return whole > seen ? `${innerWidth} px: ${whole} of ${control.value} in ${seen}` : ""; }"""


@pytest.mark.parametrize("where", ["/parcels/new/", "/addresses/new/", "row", "/settings/pickup-addresses/new/"])
def test_a_postcode_is_fully_visible_at_every_width(stack: Stack, log_in: Open, where: str) -> None:
    page = log_in("sender")
    page.goto(where if where != "row" else stack.shell(ROW.format(email=stack.people["sender"]["email"])).split()[-1])
    page.locator("main details").evaluate_all("all => all.forEach(it => { it.open = true; })")
    control, country = page.locator("[name$=postcode]:not([type=hidden])"), page.locator("select[name$=country]")
    clipped = []
    for code in CODES if country.count() else ["AU"]:
        if country.count():
            country.select_option(code)
        control.fill(CODES[code])
        for width in WIDTHS[:1] if code == "CA" else WIDTHS:  # the longest, at the narrowest width
            page.set_viewport_size({"width": width, "height": 900})
            clipped.append(control.evaluate(CLIPPED))
    assert [found for found in clipped if found] == []
