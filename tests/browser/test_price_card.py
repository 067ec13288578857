"""A price card of a service with a long name, as when two carriers' prices are side by side."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from playwright.sync_api import Browser

OFFER = SimpleNamespace(
    key="X@2", name="USPS Ground Advantage", carrier="Second Post", total="9.36", currency="USD", is_cheapest=True,
    first_mile="drop-off", is_dropped_off=True,
)  # fmt: skip
# The icon, and the lines of the name: [left, top, right, bottom] each.
MEASURED = """() => {
    const box = it => [it.left, it.top, it.right, it.bottom];
    const what = document.querySelector(".what"), range = document.createRange();
    range.selectNodeContents(what.lastChild);
    return [box(what.querySelector("svg").getBoundingClientRect()), ...[...range.getClientRects()].map(box)];
}"""


@pytest.mark.parametrize(("width", "most"), [(300, 2), (380, 2)])
def test_a_long_name_fits_beside_its_icon_in_few_lines(chromium: Browser, width: int, most: int) -> None:
    """The card is as wide as on a phone of 360 pixels, and beside the form on a screen of 1,280."""
    sheets = "".join(Path(str(finders.find(name))).read_text() for name in ("look.css", "portal.css"))
    card = render_to_string("orders/_price_card.html", {"offer": OFFER, "page": {}, "chosen": ""})
    page = chromium.new_page(viewport={"width": 360 if width == 300 else 1280, "height": 600})
    page.set_content(f"<style>{sheets}</style><div class='prices' id='at'>{card}</div>")
    page.evaluate("width => document.getElementById('at').setAttribute('style', `width:${width}px`)", width)
    icon, *lines = measured(page)
    page.close()
    assert 1 <= len(lines) <= most
    assert icon[2] <= min(left for left, *_ in lines)
    assert lines[0][1] - 3 <= icon[1] < icon[3] <= lines[0][3] + 3, "it is at the first line"


def measured(page: Any) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(MEASURED)
    return found
