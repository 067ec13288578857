"""Reports in a real browser: charts that fit any width, with distinct colours and a text alternative."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from shipping_portal.brand import contrast_ratio
from tests.browser.conftest import Open, has_sideways_scroll, violations

pytestmark = pytest.mark.xdist_group("gallery")  # a second portal that has the gallery

SHOTS = os.environ.get("SCREENSHOTS", "")
LOOKS = [(width, theme) for width in (320, 360, 1280) for theme in ("light", "dark")]
OUTSIDE = """() => [...document.querySelectorAll(".chart svg rect, .chart svg text")].filter(it => {
    if (!it.checkVisibility()) return false;
    const shape = it.getBoundingClientRect(), card = it.closest(".card").getBoundingClientRect();
    return shape.left < card.left || shape.right > card.right;
}).map(it => it.outerHTML)"""
SMALL = """() => [...document.querySelectorAll(".report *")]
    .filter(it => it.checkVisibility() && parseFloat(getComputedStyle(it).fontSize) < 13).map(it => it.outerHTML)"""

COLOURS = """() => {
    const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
    const hex = colour => {
        pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
        return "#" + [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3)
            .map(part => part.toString(16).padStart(2, "0")).join("");
    };
    const keys = [...document.querySelector(".key").querySelectorAll("rect:not(.soft)")];
    const fills = keys.map(it => hex(getComputedStyle(it).fill));
    return [fills, hex(getComputedStyle(document.querySelector(".report")).backgroundColor)];
}"""


@pytest.mark.parametrize("room", ["typical", "empty"])
@pytest.mark.parametrize("name", ["reports", "refunds"])
@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(320, "light"), (1280, "dark")], id="two looks"),
        pytest.param(LOOKS, id="every look", marks=pytest.mark.nightly),
    ],
)
def test_reports_are_accessible_and_fit_in_both_themes(
    walk_in: Open, gallery: Any, room: str, name: str, looks: list[tuple[int, str]]
) -> None:
    page, faults = walk_in(room), []
    page.goto(gallery[room]["pages"][name])
    for summary in page.locator("main summary").all():
        summary.click()
    for width, theme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        faults += [f"{width} {theme}: {fault}" for fault in violations(page)]
        if has_sideways_scroll(page):
            faults.append(f"{width} {theme} scrolls sideways")
        faults += [f"{width} {theme} outside: {shape}" for shape in page.evaluate(OUTSIDE)]
        faults += [f"{width} {theme} small: {text}" for text in page.evaluate(SMALL)]
        _keep(page, f"{room}-{name}-{width}-{theme}")
    assert faults == []


def test_each_colour_of_the_spend_chart_is_named_and_visible_in_both_themes(walk_in: Open, gallery: Any) -> None:
    page = walk_in("typical")
    page.goto(gallery["typical"]["pages"]["reports"])
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        fills, ground = page.evaluate(COLOURS)
        assert len(fills) == len(set(fills)) >= 2
        assert all(page.locator(".key li:has(rect)").all_inner_texts())
        for fill in fills:
            assert contrast_ratio(fill, ground) >= 3, (theme, fill)


def test_a_period_is_chosen_by_a_link_and_kept_in_the_address(walk_in: Open, gallery: Any) -> None:
    page = walk_in("typical")
    page.goto(gallery["typical"]["pages"]["reports"])
    page.get_by_role("link", name="Year", exact=True).click()
    assert page.url.endswith("/reports/?weeks=52")
    assert page.get_by_role("link", name="Year", exact=True).get_attribute("aria-current") == "true"


def _keep(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True, animations="disabled")
