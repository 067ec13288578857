"""R14: a printed page has its content only: no menu, button or signed link, and it says it's not a label."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open

pytestmark = pytest.mark.xdist_group("every page")  # in the portal that has the gallery

ADDRESSES = [
    "parcel",
    "parcel booked in_transit",
    "tracking_page",
    "today",
    "parcels",
    "billing",
    "statement",
    "parcel charged",
]
PAPER = {"statement": "Statement – not a tax invoice. This is not a shipping label."}
# Return what would be printed: its text, its links, and anything a style adds to a link.
ON_PAPER = """() => {
    const shown = css => [...document.querySelectorAll(css)].filter(it => it.checkVisibility());
    return {
        words: document.body.innerText,
        rows: shown("tbody tr").length,
        controls: shown("nav, button, a.button, input, select").map(it => it.outerHTML),
        frames: shown("iframe, .demo").length,
        links: shown("a[href]").map(it => it.href),
        added: [...document.querySelectorAll("a[href]")].map(it => getComputedStyle(it, "::after").content)
            .filter(text => text.includes("attr") || text.includes("http")),
    };
}"""


@pytest.fixture
def paper(walk_in: Open) -> Page:
    page = walk_in()
    page.emulate_media(media="print")
    return page


@pytest.mark.parametrize("name", ADDRESSES)
def test_r14_a_printed_page_has_no_controls_and_no_signed_link(gallery: Any, paper: Page, name: str) -> None:
    paper.goto(gallery["typical"]["pages"][name])
    printed = paper.evaluate(ON_PAPER)
    assert printed["controls"] == []
    assert printed["frames"] == 0
    assert printed["rows"] > 10 or name != "parcels"
    assert [link for link in printed["links"] if "token=" in link] == []
    assert printed["added"] == []
    assert "token=" not in printed["words"]
    said = PAPER.get(name, "Parcel summary – this is not a shipping label")
    expect(paper.get_by_text(said)).to_be_visible()
    assert paper.pdf().startswith(b"%PDF-")
