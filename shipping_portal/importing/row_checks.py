"""What is looked at in a row besides the form's own rules: its shape, what its shop says, what a spreadsheet lost."""

import re

from orders import choosing, offers
from orders.contents_form import ROWS
from orders.entry import Entry
from orders.forms import ParcelForm
from orders.models import Quote
from shipping_portal.accounts import places
from shipping_portal.importing import columns, items, shops
from shipping_portal.importing.models import ImportRow

SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.IGNORECASE | re.ASCII)


def left_out_by_shop(row: ImportRow) -> str:
    """Why its shop would not send it, unless somebody took it all the same."""
    cells = [one.cells for one in (row, *row.lines.all())]
    return "" if row.corrected.get(shops.STATUS) else shops.why_left_out(row.file.header, cells)


def odd_shape(row: ImportRow) -> str:
    """A cell too many or too few moves all others: not guessed, unless somebody has looked at the row."""
    wanted = len(row.file.header)
    extra = [cell for cell in row.cells[wanted:] if cell.strip()]
    is_seen = row.corrected.keys() - {shops.STATUS}
    if is_seen or not (extra or len(row.cells) < wanted):
        return ""
    return f"This row has {len(row.cells)} cells; the first line has {wanted}. Check each value, then save the row."


def beyond_the_form(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """What is to be fixed, by the form's fields, though it may pass as typed."""
    return _shortened(form) | _of_customs(row, form)


def _shortened(form: ParcelForm) -> dict[str, list[str]]:
    """Spreadsheets write long numbers as 6.14E+10: what stood there is lost, though it may pass as text."""
    texts = {name: str(form.data.get(name, "")) for name in form.fields}
    said = "A spreadsheet shortened this number. Write it in full."
    return {name: [said] for name, text in texts.items() if SHORTENED.fullmatch(text.strip())}


def _of_customs(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """What only a file leaves open: a value without a quantity, and more items than the form has."""
    if not form.is_abroad:
        return {}
    found = {
        name: ["Enter how many, 1 or more."] for name in items.uncounted(form.data) if name in form.fields
    }
    if items.TOO_MANY in form.data and not any(name.startswith("item_") for name in row.corrected):
        found["item_1_description"] = [
            f"This order has more than {ROWS} items. Write them as {ROWS} or fewer."
        ]
    return found


def unmangled(form: ParcelForm) -> list[list[str]]:
    """Spreadsheets drop leading zeros: `800` in Darwin was 0800."""
    wide = {"AU": 4, "US": 5}
    country, code = form.cleaned_data.get("receiver_country", ""), str(form.data.get("receiver_postcode", ""))
    if not code.isdigit() or len(code) >= wide.get(country, 0):
        return []
    pair = places.check_pair(country, form.data.get("receiver_suburb", ""), code.zfill(wide[country]))
    return [[pair.place.suburb, pair.place.state, pair.place.postcode]] if pair.place else []


def second_look(row: ImportRow, entry: Entry, quote: Quote) -> dict[str, list[str]]:
    """What may be booked as it is, and is told before, by our field."""
    weight = columns.form_name(columns.WEIGHT, row.file.sender.country)
    unmet = choosing.unmet(quote.products, row.file.sender.service_rule)
    texts = {"": offers.warnings(entry) + unmet} | _lost_letters(entry)
    if not columns.are_of_one_item(row.file) and (told := items.of_weights(columns.lines(row, row.file))):
        texts[weight] = [told]
    # Whoever saved the row has seen what stands at its fields.
    return {name: said for name, said in texts.items() if said and name not in row.corrected}


def _lost_letters(entry: Entry) -> dict[str, list[str]]:
    """Question marks where an export could not write the letters of a name."""
    said = {
        f"receiver_{part}": getattr(entry.receiver, part) for part in ("name", "company", "line1", "line2")
    }
    return {
        name: [f"Letters were lost here: “{text}”. Put it right, or save the row as it is."]
        for name, text in said.items()
        if "?" in text
    }
