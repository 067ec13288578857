"""What a sender does in every walk, from an empty form to a sentence on the page; and the carrier's ledger."""

import hashlib
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Stack
from tests.processes.portal import until

TO_HOBART = {
    "receiver_country": "AU",
    "receiver_name": "Priya Nair",
    "receiver_line1": "4 Sample Street",
    "receiver_suburb": "Hobart",
    "receiver_state": "TAS",
    "receiver_postcode": "7000",
    "receiver_email": "priya.nair@example.net",
    "receiver_phone": "0491 570 156",
    "description": "Boxed ceramic mugs",
    "weight_kg": "2.4",
    "length_cm": "32",
    "width_cm": "24",
    "height_cm": "11",
}
TO_PORTLAND = {
    "receiver_country": "US",
    "receiver_name": "Avery Lund",
    "receiver_line1": "500 Placeholder Ave",
    "receiver_suburb": "Portland",
    "receiver_state": "OR",
    "receiver_postcode": "97205",
    "receiver_phone": "+1 503 226 0142",
    "description": "Cotton shirts",
    "item_1_description": "Cotton t-shirt, knitted",
    "item_1_value": "28.00",
    "item_1_quantity": "2",
    "item_1_origin": "BD",
    "item_1_hs_code": "6109.10.0012",
    "contents_type": "Merchandise",
}
BOOKED = re.compile(r"^S[A-Z0-9]{5,} to ")  # the title of a booked parcel's page


COUNT = """if (window === top) {
    sessionStorage.keys = sessionStorage.keys || 0;
    sessionStorage.clicks = sessionStorage.clicks || 0;
    window.addEventListener("keydown", ({ key }) => {
        if (!["Control", "Meta", "Shift"].includes(key)) sessionStorage.keys = Number(sessionStorage.keys) + 1;
    }, true);
    window.addEventListener("pointerdown", () => { sessionStorage.clicks = Number(sessionStorage.clicks) + 1; }, true);
}"""


def start_counting(page: Page) -> None:
    """Count every key and click from here on, over all pages; Ctrl+V is one key."""
    page.evaluate("sessionStorage.clear()")
    page.evaluate(f"() => {{ {COUNT} }}")
    page.add_init_script(COUNT)


def counted(page: Page) -> dict[str, int]:
    return {name: int(page.evaluate(f"sessionStorage.{name}")) for name in ("keys", "clicks")}


def fill_parcel(page: Page, **changes: str) -> None:
    """Type the New parcel form as a sender does; open a closed section when a field is inside it."""
    page.goto("/parcels/new/")
    for name, value in (TO_HOBART | changes).items():
        control = page.locator(f"[name={name}]")
        for fold in page.locator("details:not([open])", has=control).all():
            fold.locator("> summary").click()
        if control.evaluate("control => control.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)


def see_prices(page: Page) -> None:
    """Open the page of prices: the second step without a script, a link in the prices column with one."""
    if page.locator("#smart").is_visible():
        page.get_by_role("link", name="Price details").click()
    else:
        page.get_by_role("button", name="See prices").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Prices for")


def book(page: Page, service: str = "Standard Pickup") -> str:
    """Press Book and wait until the carrier's reference is on the page. Confirm a duplicate."""
    page.get_by_role("button", name=re.compile(rf"Book {re.escape(service)},|Book parcel")).click()
    another = page.get_by_role("button", name=re.compile("^Book another"))
    expect(another.or_(page.locator("main .journey")).first).to_be_visible(timeout=30_000)
    if another.count():
        another.click()
    expect(page).to_have_title(BOOKED, timeout=30_000)
    return page.title().split()[0]


def reload_until(page: Page, text: str) -> None:
    """Keep reloading, as a sender who waits for news does."""
    found = page.get_by_text(text).first
    until(lambda: page.reload() and found.is_visible(), seconds=20, what=f"the page says {text!r}")


def open_label_files(page: Page) -> Locator:
    """Open the section below the label. By key: a click misses while the frame with the PDF is being laid out."""
    fold = page.locator("details", has_text="Label files, as the carrier made them")
    fold.locator("summary").press("Enter")
    expect(fold).to_have_attribute("open", "")
    return fold


def fact(page: Page, name: str) -> Locator:
    """Return what the parcel's page says next to a word such as Service or Pickup."""
    return page.locator(f"dt:text-is('{name}') + dd")


def price_of(page: Page, name: str) -> Locator:
    """Return an amount in the price breakdown."""
    return page.get_by_role("row", name=re.compile(rf"^{name} \$")).locator("td")


def booking_of(stack: Stack, reference: str) -> Any:
    """Return the parcel from the carrier's ledger: `body` as sent, `quote`, `pickup_date`, `order_id`."""
    [line] = lines_of(stack, "booked", reference)
    return line["parcel"]


def lines_of(stack: Stack, effect: str, reference: str) -> list[dict[str, Any]]:
    return [line for line in stack.carrier.ledger(effect) if line["reference"] == reference]


def label_files(stack: Stack, reference: str) -> list[Path]:
    """The PDFs the carrier keeps for a parcel."""
    return list(stack.carrier.state.rglob(f"{booking_of(stack, reference)['order_id']}-*.pdf"))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


DJANGOS_OWN = frozenset({"empty-table-header"})  # the first cell of its inline tables, which holds nothing


def count_clicks(page: Page) -> list[str]:
    """Count every click from now on, over all pages of this window."""
    clicks: list[str] = []
    page.expose_function("clicked", lambda what: clicks.append(what))
    page.add_init_script(
        "addEventListener('click', event => event.isTrusted && event.detail && clicked('click'), true)"
    )
    page.reload()
    return clicks
