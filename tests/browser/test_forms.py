"""B11 to B14: what a form says when it is sent empty, when it stays silent, and what it keeps."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.walking import TO_HOBART, fill_parcel

pytestmark = pytest.mark.xdist_group("every page")  # in the portal that has the gallery

# Every form of a page that has a text field or radios, by its position among the page's forms.
ASKING = """() => [...document.forms].flatMap((form, place) =>
    form.method === "post" && form.id !== "bulk" && form.closest("main")
    && form.querySelector("input:not([type=hidden], [type=checkbox], [type=file]), textarea") ? [place] : [])"""
EMPTY = """place => {
    const form = document.forms[place];
    for (const it of form.elements) {
        if (it.matches("[type=radio]")) it.checked = false;
        else if (it.matches("input:not([type=hidden], [type=checkbox], [type=submit]), textarea")) it.value = "";
    }
    const button = [...form.querySelectorAll("button:not([type=button])")].find(it => it.checkVisibility());
    // A script answers a parcel's form where it is (test_new_parcel_mistakes); here the server does.
    if (form.matches("#parcel-form")) form.submit(); else form.requestSubmit(button);
}"""
SEEN = """() => {
    const words = (css) => [...document.querySelectorAll(css)].map(it => it.textContent.trim());
    const summary = document.querySelector(".error-summary");
    const links = [...document.querySelectorAll(".error-summary a")];
    return {
        title: document.title, summary: words(".error-summary li"), inline: words(".errorlist li"),
        nowhere: links.filter(it => !document.getElementById(it.hash.slice(1))).map(it => it.hash),
        focused: Boolean(summary) && document.activeElement === summary,
    };
}"""

# Forms that can be sent empty, and an import's rows: each row of that grid says what it lacks.
ELSEWHERE = {"quotes", "draft", "match_columns", "check_import", "import_row", "styleguide"}


def complaints(page: Page) -> list[str]:
    """List how an empty form's reply differs from the rule: "Error:" first, a focused summary, the same words at each
    field.
    """
    seen = page.evaluate(SEEN)
    if not seen["summary"] and not seen["inline"]:
        return []
    faults = [] if seen["title"].startswith("Error: ") else [f"is titled {seen['title']!r}"]
    faults += [] if seen["focused"] else ["has no focused summary"]
    if sorted(seen["summary"]) != sorted(seen["inline"]):
        faults.append(f"sums up {seen['summary']} but says {seen['inline']}")
    faults += [f"says {words!r}" for words in seen["inline"] if words == "This field is required."]
    return faults + [f"leads to {target}, which is nowhere" for target in seen["nowhere"]]


@pytest.mark.parametrize(
    ("room", "which"),
    [
        pytest.param("typical", ["new_parcel", "pickup_address", "watched", "add_size"], id="every day"),
        pytest.param("public", None, id="before logging in"),
        pytest.param("typical", None, id="every form", marks=pytest.mark.nightly),
    ],
)
def test_b13_an_empty_form_says_what_is_missing_first_and_at_each_field(
    gallery: Any, walk_in: Open, room: str, which: list[str] | None
) -> None:
    page = walk_in(room)
    pages = gallery[room]["pages"]
    found, asked = [], 0
    for name in which or [name for name in pages if name.split()[0] not in ELSEWHERE]:
        page.goto(pages[name])
        for place in page.evaluate(ASKING):
            page.goto(pages[name])
            with page.expect_navigation():
                page.evaluate(EMPTY, place)
            asked += bool(page.locator(".errorlist").count())
            found += [f"{name}: {fault}" for fault in complaints(page)]
    assert not found, "\n".join(found)
    assert asked >= (len(which) if which else 3)


def paste(page: Page, box: str, text: str) -> None:
    """Paste with the usual keys, from the real clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(box).press("Control+v")


def test_b11_password_and_code_can_be_pasted_and_filled_in_by_a_password_manager(
    open_browser: Open, stack: Stack
) -> None:
    page = open_browser()
    page.goto("/accounts/login/")
    person = stack.people["operator"]
    kinds = {"login": "email", "password": "current-password"}
    for name, kind in kinds.items():
        box = f"#id_{name}"  # the demo offers its users in separate forms
        assert kind in str(page.locator(box).get_attribute("autocomplete")).split()
        paste(page, box, person["email" if name == "login" else name])
    page.locator("#id_password").press("Enter")
    code = page.locator("[name=code]")
    expect(code).to_have_attribute("autocomplete", "one-time-code")
    expect(code).to_have_attribute("inputmode", "numeric")
    paste(page, "[name=code]", "123 456")
    expect(code).to_have_value("123 456")
    page.goto("/accounts/signup/")
    expect(page.locator("[name=password1]")).to_have_attribute("autocomplete", "new-password")


@pytest.mark.parametrize("is_draft", [False, True], ids=["typed at once", "kept as a draft meanwhile"])
def test_b12_a_form_with_errors_keeps_every_value(walk_in: Open, is_draft: bool) -> None:
    page = walk_in()
    fill_parcel(page, receiver_email="", weight_kg="")
    if is_draft:
        expect(page).to_have_url(re.compile("/parcels/drafts/"))
    page.get_by_role("button", name="See prices").last.click()
    expect(page.locator("[name=receiver_email]")).to_be_focused()
    expect(page.locator("#id_weight_kg_error")).to_have_text("Enter the weight.")
    for name, value in TO_HOBART.items():
        kept = "" if name in {"receiver_email", "weight_kg"} else value
        assert page.locator(f"[name={name}]").input_value().casefold() == kept.casefold(), name


def test_b12_known_values_are_filled_in_when_a_parcel_is_corrected(walk_in: Open, gallery: Any) -> None:
    page = walk_in()
    page.goto(f"{gallery['typical']['pages']['parcel']}replace/")
    for name, value in {"receiver_name": "Noor Tamsin", "receiver_line1": "4 Sample Street",
                        "receiver_postcode": "7000", "description": "Boxed ceramic mugs"}.items():  # fmt: skip
        expect(page.locator(f"[name={name}]")).to_have_value(value)


def test_b14_no_error_shows_while_somebody_types(walk_in: Open) -> None:
    page = walk_in()
    page.goto("/parcels/new/")
    for name in ("receiver_email", "receiver_postcode", "weight_kg"):
        box = page.locator(f"[name={name}]")
        for key in "4x@":
            box.press(key)
            assert page.locator(".errorlist, .error-summary, [aria-invalid=true]").count() == 0
        box.fill("")


def test_b15_single_keys_work_do_nothing_in_fields_and_can_be_turned_off(walk_in: Open) -> None:
    page = walk_in()
    page.goto("/parcels/")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("n/jx")
    expect(page.locator("#search")).to_have_value("n/jx")
    page.goto("/parcels/")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("/parcels/new/#smart$"))
    set_keys(page, on=False)
    try:
        page.goto("/parcels/")
        for key in "/njx":
            page.keyboard.press(key)
        expect(page.locator("body")).to_be_focused()
        expect(page).to_have_url(re.compile("/parcels/$"))
    finally:
        set_keys(page, on=True)


def set_keys(page: Page, *, on: bool) -> None:
    page.goto("/settings/keyboard/")
    page.get_by_role("checkbox").set_checked(on)
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()
