"""B6 to B9: every page by the Tab key, with each stop visible and each target big enough for a finger."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open

pytestmark = pytest.mark.xdist_group("gallery")  # a second portal that has the gallery

DAILY = ["today", "parcels", "new_parcel", "quotes", "parcel", "cancel not_sending", "print_queue", "settings"]
STOPS = 400  # more than any page has: a page with more stops than this traps the focus
# What has the focus: its position among all elements, whether it is visible, and whether its ring is.
STOP = """async () => {
    const it = document.activeElement;
    if (!it || it === document.body || it.matches("html")) return null;
    if (it.matches("iframe")) await new Promise(done => setTimeout(done, 200)); // its ring is put on by a script
    const box = it.getBoundingClientRect();
    const rings = [it, it.closest("label") ?? it].map(one => getComputedStyle(one)); // a price's ring is its label's
    const seen = (x, y) => {
        const hit = document.elementFromPoint(x, y);
        return hit && (it.contains(hit) || hit.closest("label")?.control === it);
    };
    const across = [.1, .5, .9].map(part => box.left + box.width * part);
    const down = [.1, .5, .9].map(part => box.top + box.height * part);
    return {
        place: [...document.querySelectorAll("*")].indexOf(it),
        name: it.outerHTML.slice(0, 90),
        hidden: !across.some(x => down.some(y => seen(x, y))),
        ringless: rings.every(ring => ring.outlineStyle === "none" || parseFloat(ring.outlineWidth) < 2),
    };
}"""
# How many visible controls there are, without radios, whose group is one stop.
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input:not([type=hidden], [type=radio]), select")]
    .filter(it => it.checkVisibility({visibilityProperty: true}) && it.tabIndex >= 0).length"""
# Every visible control: its size together with its label, and whether it is a link in a sentence.
TARGETS = """() => {
    const box = it => it.getBoundingClientRect();
    const shown = it => it.checkVisibility({visibilityProperty: true}) && !it.closest(".unseen, [aria-hidden=true]")
        && box(it).width > 1 && box(it).right > 0;
    const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=option]";
    const small = it => {
        const boxes = [it, ...(it.labels || [])].map(box);
        if (boxes.some(one => one.width >= 24 && one.height >= 24)) return false;
        const words = one => one.textContent.replace(/\\s+/g, " ").trim();
        const inSentence = getComputedStyle(it).display === "inline" && words(it.parentElement) !== words(it);
        return !(it.matches("a") && inSentence && it.closest("p, li, dd"));
    };
    const low = it => it.matches("button, .btn, select, textarea, input:not([type=radio], [type=checkbox])")
        && box(it).height < (innerWidth < 1024 ? 44 : 36); // as --tap of the look has it
    const all = [...document.querySelectorAll(controls)].filter(shown);
    const size = it => `${Math.round(box(it).width)}×${Math.round(box(it).height)}`;
    const told = (it, what) => `${what} ${size(it)} ${it.outerHTML.slice(0, 90)}`;
    return [...all.filter(small).map(it => told(it, "small")), ...all.filter(low).map(it => told(it, "low"))];
}"""
# Find a style that shows things in a different order from the Tab key's.
REORDERED = """() => [...document.querySelectorAll("main *, header *, footer *")].filter(it => {
    const style = getComputedStyle(it);
    if (it.matches(".nav li")) return false; // the tab bar has New in its middle: five places, in any order the same
    return style.order !== "0" || style.flexDirection.endsWith("reverse") || it.tabIndex > 0;
}).map(it => `out of order ${it.outerHTML.slice(0, 90)}`)"""


def stops(page: Page) -> Iterator[dict[str, Any]]:
    """Return each element the Tab key visits, from the first to the last."""
    first = None
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(STOP)
        if found is None or (first is not None and found["place"] <= first):
            return  # once round: a page that sets the focus itself starts there
        first = found["place"] if first is None else first
        yield found
    yield {"place": -1, "name": "the page", "hidden": False, "ringless": False}


def faults(page: Page) -> Iterator[str]:
    place = 0
    visited = list(stops(page))
    if len(visited) < min(5, page.evaluate(CONTROLS)):  # a receiver's page may have no control at all
        yield f"B6: only {len(visited)} stops"
    for stop in visited:
        if stop["hidden"]:
            yield f"B6: hidden {stop['name']}"
        if stop["ringless"]:
            yield f"B7: no ring {stop['name']}"
        if stop["place"] < place:
            yield f"B9: goes back to {stop['name']}"
        place = stop["place"]
    yield from (f"B8: {fault}" for fault in page.evaluate(TARGETS))
    yield from (f"B9: {fault}" for fault in page.evaluate(REORDERED))


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("room", "which"),
    [
        pytest.param("typical", DAILY, id="pages of every day"),
        pytest.param("public", ["login"], id="before logging in"),
        pytest.param("typical", None, id="every page", marks=pytest.mark.nightly),
        pytest.param("public", None, id="every open page", marks=pytest.mark.nightly),
    ],
)
def test_b6_b7_b8_b9_tab_visits_every_page_in_order_with_a_visible_focus(
    gallery: Any, walk_in: Open, room: str, which: list[str] | None, width: int
) -> None:
    page = walk_in(room, width=width)
    pages = gallery[room]["pages"]
    found = []
    for name in which or pages:
        page.goto(pages[name].partition("#")[0])  # from the top: the Tab key would start at the fragment
        if page.locator("iframe").count():  # a browser's viewer takes the focus for a moment when its file arrives
            page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement?.blur()")
        found += [f"{name}: {fault}" for fault in faults(page)]
    assert not found, "\n".join(found)


def test_b9_escape_closes_suggestions_and_keeps_the_focus(walk_in: Open) -> None:
    page = walk_in()
    page.goto("/parcels/new/")
    for name, typed in (("#smart", "noor"), ("[name=receiver_suburb]", "hob")):
        box = page.locator(name)
        box.press_sequentially(typed)
        options = page.locator("[role=listbox] [role=option]")
        expect(options.first).to_be_visible()
        page.keyboard.press("Escape")
        expect(options).to_have_count(0)
        expect(box).to_be_focused()
        expect(box).to_have_value(typed)


def test_a_question_mark_lists_the_keys_but_not_while_somebody_types(walk_in: Open) -> None:
    page = walk_in()
    page.goto("/parcels/new/")
    page.locator("#smart").press_sequentially("where?")
    expect(page.locator("#smart")).to_have_value("where?")
    page.goto("/parcels/")
    page.keyboard.press("?")
    expect(page).to_have_url(re.compile("/settings/keyboard/$"))
    for key in ("N", "/", "P", "C", "Ctrl", "Enter", "Space", "S", "R"):
        expect(page.locator(".keys kbd", has_text=re.compile(f"^{key}$")).first).to_be_visible()


def test_a_menu_closes_on_escape_beside_it_and_once_something_is_chosen(walk_in: Open) -> None:
    page = walk_in()
    page.goto("/parcels/")
    menu = page.locator("details.columns")
    for close in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("heading", level=1).click(),
        lambda: menu.get_by_role("button", name="Show these").click(),
    ):
        menu.locator("summary").click()
        menu.get_by_role("checkbox").first.focus()
        expect(menu).to_have_attribute("open", "")
        close()
        expect(menu).not_to_have_attribute("open", "")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    menu.get_by_role("checkbox").first.focus()
    page.keyboard.press("Escape")
    expect(menu.locator("summary")).to_be_focused()


def test_a_password_can_be_shown_and_is_hidden_again_when_sent(open_browser: Open) -> None:
    page = open_browser()
    page.goto("/accounts/login/")
    password = page.get_by_label("Password", exact=True)
    password.fill("what I typed")
    page.get_by_role("button", name="Show password").click()
    expect(password).to_have_attribute("type", "text")
    page.locator("form:has(#id_login)").evaluate(
        "form => form.addEventListener('submit', (event) => event.preventDefault())"
    )
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(password).to_have_attribute("type", "password")
    expect(page.get_by_role("button", name="Show password")).to_be_visible()


def test_without_javascript_there_is_no_button_to_show_a_password(open_browser: Open) -> None:
    page = open_browser(javascript=False)
    page.goto("/accounts/login/")
    expect(page.locator("form:has(#id_login)").get_by_role("button")).to_have_text(["Log in"])
