"""Draw this carrier's labels in A4, Letter and 4 by 6 inches, once per order, and store them."""

import os
from pathlib import Path

from shipping_portal.sandbox import code128
from shipping_portal.sandbox.asking import METRIC, Party
from shipping_portal.sandbox.contract import PARTY, Contract
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig
from shipping_portal.sandbox.pdf import Page
from shipping_portal.sandbox.places import COUNTRIES, country_code

PAGES = {"a4": (595.28, 841.89), "letter": (612.0, 792.0), "cropped": (288.0, 432.0)}
LABEL_WIDTH, LABEL_HEIGHT, MARGIN = 288.0, 432.0, 16.0
MODULE, BAR_HEIGHT = 1.35, 62.0


def label_file(parcel: Parcel, size: str, contract: Contract, folder: Path) -> bytes:
    """Return a size's PDF: the same bytes as the first time."""
    path = folder / f"{parcel.order_id}-{size}.pdf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}-{id(parcel)}")
        part.write_bytes(draw(parcel, size, contract))
        part.replace(path)
    return path.read_bytes()


def draw(parcel: Parcel, size: str, contract: Contract) -> bytes:
    """Return the label of ``parcel`` on a page of ``size``. Equal parcels give equal bytes."""
    page = Page(*PAGES[size])
    left, bottom = 0.0, page.height - LABEL_HEIGHT
    if size != "cropped":
        left, bottom = 36.0, bottom - 36.0
        _fold_line(page, left, bottom)
    _draw_label(page, left + MARGIN, bottom, parcel, contract)
    return page.file(f"Label {parcel.reference}")


def _fold_line(page: Page, left: float, bottom: float) -> None:
    for step in range(24):
        page.bar(left + step * 22, bottom - 12, 12, 0.5)
    page.text(
        left,
        bottom - 28,
        9,
        "Cut or fold here, then fix the upper part to the largest side of the parcel.",
    )


def _draw_label(page: Page, x: float, bottom: float, parcel: Parcel, contract: Contract) -> None:
    top, width = bottom + LABEL_HEIGHT - 30, LABEL_WIDTH - 2 * MARGIN
    page.text(x, top, 15, parcel.quote["name"], bold=True)
    page.text(x, top - 15, 9, f"{parcel.quote['code']}   {_measures(parcel, contract)}")
    page.bar(x, top - 22, width, 1)
    below = _draw_party(page, x, top - 36, "From", _party(parcel, "sender", contract), 8.5)
    page.bar(x, below, width, 1)
    below = _draw_party(page, x, below - 14, "To", _party(parcel, "receiver", contract), 11)
    page.bar(x, below, width, 1)
    page.text(
        x,
        below - 13,
        8,
        f"Your reference: {dig(parcel.body, contract['customer_reference']) or '-'}",
    )
    if parcel.pickup_date:
        page.text(x, below - 24, 8, f"Pickup on {parcel.pickup_date}")
    _draw_barcode(page, x, bottom + 34, parcel.reference)
    page.text(x, bottom + 16, 14, parcel.reference, bold=True)


def _draw_party(page: Page, x: float, y: float, title: str, party: Party, size: float) -> float:
    country = COUNTRIES.get(country_code(party.country), party.country)
    town = f"{party.suburb.upper()} {party.state} {party.postcode}"
    lines = [
        party.name,
        party.company,
        party.line1,
        party.line2,
        town,
        country,
        party.phone,
        party.instructions,
    ]
    page.text(x, y, 7, title)
    longest = int(LABEL_WIDTH / size / 0.6)  # what fits the width in Helvetica, unless in capitals
    for line in filter(None, lines):
        y -= size + 2
        page.text(x, y, size, line[:longest], bold=line in (party.name, town))
    return y - 7


def _draw_barcode(page: Page, x: float, y: float, reference: str) -> None:
    pattern, place = code128.modules(reference), 0
    while place < len(pattern):
        end = place
        while end < len(pattern) and pattern[end] == pattern[place]:
            end += 1
        if pattern[place] == "1":
            page.bar(x + place * MODULE, y, (end - place) * MODULE, BAR_HEIGHT)
        place = end


def _party(parcel: Parcel, side: str, contract: Contract) -> Party:
    return Party(
        **{part: str(dig(parcel.body, contract[f"{side}_{part}"]) or "") for part in PARTY}
    )


def _measures(parcel: Parcel, contract: Contract) -> str:
    value = {
        key: dig(parcel.body, contract[key]) for key in ("weight", "length", "width", "height")
    }
    units = [dig(parcel.body, contract[key], metric) for key, metric in METRIC.items()]
    return (
        f"{value['weight']} {units[0]}   {value['length']} x {value['width']} x {value['height']}"
        f" {units[1]}"
    )
