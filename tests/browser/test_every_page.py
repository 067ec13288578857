"""Every page, in every state people see it in, is accessible, fits its width, has a title and logs no error.

With SCREENSHOTS=folder each page is also saved as a picture (`./dev screenshots`).
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Response

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations, widest

SHOTS = os.environ.get("SCREENSHOTS", "")
# This is Django admin's own markup for inlines; we add nothing to it.
DJANGO_ADMINS = frozenset({"empty-table-header"})
LOOKS = [(width, theme) for width in (320, 360, 768, 1280) for theme in ("light", "dark")]
# Before a merge each page is checked in one look, one that shows it at its narrowest or fullest.
LANDING = {
    "typical": (360, "light"),
    "empty": (320, "dark"),
    "many": (1280, "dark"),
    "public": (320, "light"),
    "operator": (1280, "light"),
    "onlooker": (360, "dark"),
}
# The typical room takes as long as all others, so another worker visits it, in its own portal.
GROUPS = {room: pytest.mark.xdist_group("typical" if room == "typical" else "every page") for room in LANDING}
ROOMS = [
    *(pytest.param(room, [look], id=room, marks=GROUPS[room]) for room, look in LANDING.items()),
    *(
        pytest.param(room, LOOKS, id=f"{room} in every look", marks=[GROUPS[room], pytest.mark.nightly])
        for room in LANDING
    ),
]
FILL = """([address, fields]) => { const form = document.querySelector(".rail .me form");
    fields.forEach(([name, value]) => form.append(Object.assign(document.createElement("input"), {name, value})));
    form.action = address; form.submit(); }"""
FILLED = """() => { const probe = document.body.appendChild(document.createElement("i"));
    probe.style.background = "var(--act)"; const fill = getComputedStyle(probe).backgroundColor; probe.remove();
    const filled = form => [...form.elements].filter(it => getComputedStyle(it).backgroundColor === fill);
    return [...document.forms].map(filled).filter(its => its.length > 1).map(its => its.map(it => it.value)); }"""
# Find text squeezed to one letter per line because its neighbour takes all the room.
SQUEEZED = """() => [...document.querySelectorAll("main :is(td, th, dd, dt, p, a, span)")].filter(it => {
    const { width, height } = it.getBoundingClientRect();
    return width && width < 40 && height > 70 && it.innerText.trim().length > 5 && !it.closest("thead");
    }).map(it => it.innerText)"""
# Find controls that are hidden by themselves, as on a phone by a class that is meant for words.
HIDDEN = """() => [...document.querySelectorAll("main :is(input:not([type=hidden]), select, textarea)")].filter(it =>
    !it.hidden && getComputedStyle(it).display === "none" && getComputedStyle(it.parentElement).display !== "none"
    ).map(it => it.name)"""
# What a page is built of: each element with its parent, classes and attributes, and the order of its headings.
SHAPE = """() => {
    const named = /\\b(column|field|model|app)-\\S+/g;  // after a model or a column: they look alike
    const look = it => it ? `${it.localName}.${(it.getAttribute("class") || "").replace(named, "")}` : "";
    const kind = it => [look(it.parentElement), look(it), it.getAttribute("role"), it.getAttribute("type"),
        ...it.getAttributeNames()].join(" ");
    const headings = [...document.querySelectorAll("h1, h2, h3, h4")].map(it => it.localName);
    return [...[...document.querySelectorAll("body *")].map(kind), ...headings.map((it, at) => it + headings[at + 1])];
}"""
FOOTER = ["Help", "Contact us", "Accessibility", "Dangerous goods", "Terms"]


@pytest.fixture(scope="session")
def seen_by_axe() -> set[str]:
    """The kinds of elements on the pages that axe has checked so far."""
    return set()


@pytest.mark.parametrize(("room", "looks"), ROOMS)
def test_every_page_is_accessible_and_fits(
    gallery: Any, open_browser: Open, stack: Stack, seen_by_axe: set[str], room: str, looks: list[tuple[int, str]]
) -> None:
    page, staff = open_browser(), room == "operator"
    if gallery[room]["cookie"]:
        cookie = {"name": "session", "value": gallery[room]["cookie"], "url": stack.url}
        page.context.add_cookies([cookie])
    faults, titles = [], Counter()
    for name, address in gallery[room]["pages"].items():
        answer = _open(page, address)
        assert answer is not None
        if answer.status not in {200, 404}:
            faults.append(f"{name}: {answer.status} at {address}")
        if room == "typical" and " " not in name:  # states of one kind of page may share theirs
            titles[page.title()] += 1
        for width, theme in looks:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme)
            page.evaluate("document.getAnimations().forEach(change => change.finish())")  # colours are still changing
            # By day axe, which takes most of the time, checks only pages with something that no earlier page had, in
            # any room. At night it checks every page.
            shape = set(page.evaluate(SHAPE)) if len(looks) == 1 else set()
            is_known = bool(shape) and shape <= seen_by_axe
            found = [] if is_known else violations(page, but=DJANGO_ADMINS if staff else frozenset())
            seen_by_axe |= shape
            faults += [f"{name} {width} {theme}: {fault}" for fault in [*found, *_faults(page, staff=staff)]]
            _keep(page, f"{room}-{name}-{width}-{theme}")
    # No two pages of one day have the same title, so that tabs and a history show which is which.
    faults += [f"{times} pages are titled {title!r}" for title, times in titles.items() if times > 1]
    assert not faults, "\n".join(faults)


def _open(page: Page, address: Any) -> Response | None:
    """Go to an address; or send a form there, using the log-out form in the admin's side bar."""
    if isinstance(address, str):
        return page.goto(address)
    page.goto("/admin/more/")
    with page.expect_navigation() as found:
        page.evaluate(FILL, address)
    return found.value


def _faults(page: Page, *, staff: bool) -> Iterator[str]:
    if has_sideways_scroll(page):
        yield f"scrolls sideways{widest(page)}"
    if squeezed := page.evaluate(SQUEEZED):
        yield f"squeezes {squeezed}"
    if not staff and (hidden := page.evaluate(HIDDEN)):
        yield f"hides {hidden}"
    if staff and (filled := page.evaluate(FILLED)):
        yield f"has more than one filled button in a form: {filled}"
    if not staff:
        yield from _frame(page)


def _frame(page: Page) -> Iterator[str]:
    """T2 and B10: a title, one heading, a language, a link that skips the header, and the same help in the footer."""
    title = page.title()
    if not re.fullmatch(r"\S.* · Shipping Portal", title):
        yield f"is titled {title!r}"
    counts = {part: page.locator(part).count() for part in ("h1", "html[lang]", "a.skip[href='#main']", "main")}
    if "/follow/" in page.url:  # a receiver's page has no menu to skip, and its own help
        counts.pop("a.skip[href='#main']")
    yield from (f"has {count} {part}" for part, count in counts.items() if count != 1)
    if "/follow/" in page.url:
        return
    footer = page.locator("footer.foot a").all_inner_texts()
    if footer != FOOTER:
        yield f"has the footer {footer}"


def _keep(page: Page, name: str) -> None:
    if SHOTS:
        file = Path(SHOTS) / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.png"
        page.screenshot(path=file, full_page=True, animations="disabled")
