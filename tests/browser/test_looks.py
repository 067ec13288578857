"""B2, B17: every page still works with bigger letters, wider spacing, forced colours and reduced motion."""

from typing import Any

import pytest

from tests.browser.conftest import Open, has_sideways_scroll, widest

pytestmark = pytest.mark.xdist_group("every page")  # in the portal that has the gallery

DAILY = ["today", "parcels", "new_parcel", "quotes", "parcel", "print_queue", "settings", "team", "reports", "refunds"]
# WCAG 1.4.12, as a user's own style sheet would do it.
SPACED = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`
        * { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; }
        p { margin-bottom: 2em !important; }`);
    document.adoptedStyleSheets = [sheet];
}"""
BIGGER = "() => { document.documentElement.style.fontSize = '200%'; }"
CUT = """() => [...document.querySelectorAll("main a, main button, main label, main h1, main h2, main td, main p")]
    .filter(it => it.checkVisibility() && getComputedStyle(it).overflow === "hidden"
        && !it.closest(".unseen, .dense .hint")
        && (it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight + 1))
    .map(it => it.outerHTML.slice(0, 90))"""
PLAIN = """() => {
    const style = it => getComputedStyle(it);
    const bare = [...document.querySelectorAll("main button, main .btn, .chip, .note")].filter(it =>
        it.checkVisibility() && !it.matches(".link, .unseen") && parseFloat(style(it).borderTopWidth) < 1);
    const moving = [...document.querySelectorAll("*")].filter(it => style(it).transitionDuration
        .split(",").some(time => parseFloat(time) > 0.001) || style(it).animationName !== "none");
    return [...bare.map(it => `no border ${it.outerHTML.slice(0, 90)}`),
        ...moving.map(it => `moves ${it.outerHTML.slice(0, 90)}`),
        ...document.getAnimations().map(() => "an animation")];
}"""
PAGES = [
    pytest.param("typical", DAILY, id="pages of every day"),
    pytest.param("public", None, id="before logging in"),
    pytest.param("typical", None, id="every page", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("room", "which"), PAGES)
def test_b2_pages_fit_with_letters_twice_as_big_and_with_wide_spacing(
    gallery: Any, walk_in: Open, room: str, which: list[str] | None
) -> None:
    page = walk_in(room)
    found = []
    for name in which or gallery[room]["pages"]:
        page.goto(gallery[room]["pages"][name])
        for width, how, script in ((640, "twice as big", BIGGER), (320, "spaced", SPACED)):
            page.evaluate("() => { document.documentElement.style.fontSize = ''; }")
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(script)
            if has_sideways_scroll(page):
                found.append(f"{name} {how}: scrolls sideways{widest(page)}")
            found += [f"{name} {how}: cut off {cut}" for cut in page.evaluate(CUT)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("room", "which"), PAGES)
def test_b2_pages_fit_a_phone_with_letters_twice_as_big(
    gallery: Any, walk_in: Open, room: str, which: list[str] | None
) -> None:
    page = walk_in(room, width=360)
    sizes = {"fontSizes": {"standard": 32, "fixed": 26}}
    page.context.new_cdp_session(page).send("Page.setFontSizes", sizes)
    found = []
    for name in which or gallery[room]["pages"]:
        page.goto(gallery[room]["pages"][name])
        assert page.evaluate("matchMedia('(max-width: 12rem)').matches")
        found += [f"{name}{widest(page)}"] if has_sideways_scroll(page) else []
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("room", "which"), PAGES)
def test_b17_pages_keep_their_edges_in_forced_colours_and_nothing_moves(
    gallery: Any, walk_in: Open, room: str, which: list[str] | None
) -> None:
    page = walk_in(room)
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    found = []
    for name in which or gallery[room]["pages"]:
        page.goto(gallery[room]["pages"][name])
        found += [f"{name}: {fault}" for fault in page.evaluate(PLAIN)]
    assert not found, "\n".join(found)
