"""Check a row that was read.

Each check returns what has to be fixed by form field, or nothing.
"""

import re
from collections.abc import Callable

from orders.drafting.contents_form import CURRENCY, ROWS
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import AUTHORITY, SIGNATURE
from orders.models import Quote
from orders.quoting import choosing, offers
from shipping_portal.accounts.address.addresses import LINE_ADVISED
from shipping_portal.importing import (
    columns,
    currencies,
    encodings,
    items,
    reading,
    row_values,
    unread,
)
from shipping_portal.importing.read_row import Problems, ReadRow

SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.IGNORECASE | re.ASCII)
MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
A_DAY = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?: 00:00(?::00)?)?|\d\d?-{MONTH}(?:-\d{{2,4}})?|{MONTH}-\d\d?", re.I | re.A
)
# A lost letter; one of another code page, such as £ukasz; one for a web address, an email, JSON.
LOST = re.compile(
    r"\?|[£¤¿](?=[^\W\d_])|[^\W\d_][£¤¿]|%[C-F][0-9A-F]%[89AB]|=[C-F][0-9A-F]=[89AB]|\\u0[0-9a-f]{3}"
)
LINES = ("receiver_line1", "receiver_line2")


def find_problems(read: ReadRow) -> Problems:
    """Return everything to fix: what the form rejects, then what each check finds."""
    refused = read.form.errors.items()
    found = {
        "" if name == "__all__" else name: [str(text) for text in texts] for name, texts in refused
    }
    for check in CHECKS:
        found |= check(read)
    return found | read.day_problems


def _find_numbers_that_a_spreadsheet_changed(read: ReadRow) -> Problems:
    """Find long numbers that a spreadsheet wrote as 6.14E+10.

    The original digits are lost, although the text may pass other checks.
    """
    message = "A spreadsheet shortened this number. Write it in full."
    texts = read.texts
    found = {name: [message] for name, text in texts.items() if SHORTENED.fullmatch(text.strip())}
    message = "A spreadsheet turned this into a date. Write the number as it was, such as 6/7."
    return found | {name: [message] for name in LINES if A_DAY.fullmatch(texts[name].strip())}


def _find_gaps_for_customs(read: ReadRow) -> Problems:
    """Return problems that only files have: a value without a quantity, and too many items."""
    if not read.form.needs_customs:
        return {}
    uncounted = items.uncounted(read.form.data)
    found = {name: ["Enter how many, 1 or more."] for name in uncounted if name in read.form.fields}
    if items.TOO_MANY in read.form.data and not any(
        name.startswith("item_") for name in read.corrected
    ):
        text = f"This order has more than {ROWS} items. Write them as {ROWS} or fewer."
        found["item_1_description"] = [text]
    return found


def _find_unclear_amounts(read: ReadRow) -> Problems:
    """Return amounts in another currency, or for more than one piece."""
    own, found = CURRENCY[read.file.sender.country], Problems()
    for name, text in read.texts.items():
        if not row_values.is_amount(name):
            continue
        if many := currencies.OF_MANY.fullmatch(text):
            found[name] = [f"{many[1]} is the price of {many[2]} together. Write the value of one."]
        elif unsure := currencies.UNSURE.fullmatch(text):
            one_or_all = f"{unsure[1]} may be the price of one or of all {unsure[2]}."
            found[name] = [f"{one_or_all} Write the value of one."]
        elif (code := currencies.read(text)[1]) and code != own:
            found[name] = [
                f"This is in {code}. Write it in {own}, or enter a rate for the whole file."
            ]
    return found


def _find_unclear_lines(read: ReadRow) -> Problems:
    """Return questions about three address lines: where the street is, and if they fit on two."""
    first, second, third = (read.cell(f"receiver_line{number}") for number in (1, 2, 3))
    if not third or not read.corrected.keys().isdisjoint(LINES):
        return {}
    if not any(map(str.isdigit, first)) and any(map(str.isdigit, third)):
        text = f"The street may be in the third line: “{third}”. Put it first, or save the row."
        return {"receiver_line1": [text]}
    if (length := len(", ".join(filter(None, (second, third))))) > LINE_ADVISED:
        text = f"Lines 2 and 3 have {length} characters together; {LINE_ADVISED} fit on the label."
        return {"receiver_line2": [text]}
    return {}


def _find_two_terms(read: ReadRow) -> Problems:
    """Return the problem if two columns ask for both delivery terms together."""
    fields = ("delivery_choice", "receiver_instructions")
    name = next(one for one in fields if one in read.form.fields)
    if name in read.corrected or not all(
        row_values.is_yes(read.cell(column)) for column in row_values.YES_OR_NO
    ):
        return {}
    return {name: [f"Your file says yes to {AUTHORITY} and to {SIGNATURE}. Choose one."]}


def _find_misread_cells(read: ReadRow) -> Problems:
    """Return cells that a spreadsheet couldn't compute, and wrongly decoded letters."""
    found = {}
    for row in read.rows:
        for name, place in read.file.columns.items():
            text = row.cell(place).strip()
            field = "receiver_name" if name == columns.LAST_NAME else name
            control = columns.form_name(field, read.file.sender.country)
            if control in read.corrected:
                continue
            where = control if control in read.form.fields else ""
            if text not in reading.NOTHING and reading.NOT_COMPUTED.search(text):
                found[where] = [
                    f"Your sheet couldn't compute this: “{text}”. Write what belongs here."
                ]
            elif (meant := encodings.decoded_back(text)) != text:
                found[where] = [
                    f"Letters were read wrongly here: “{text}” may be “{meant}”. Write it as it is."
                ]
    return found


def _find_unread_cells(read: ReadRow) -> Problems:
    """Return cells that no field reads. The row waits until its sender says they don't matter."""
    if read.corrected.get(unread.SEEN):
        return {}
    return unread.find_unread(
        read.rows, read.file, read.form.data, for_customs=read.form.needs_customs
    )


# If two checks find something for a field, the later one wins.
CHECKS: tuple[Callable[[ReadRow], Problems], ...] = (
    _find_numbers_that_a_spreadsheet_changed,
    _find_gaps_for_customs,
    _find_unclear_amounts,
    _find_unclear_lines,
    _find_two_terms,
    _find_misread_cells,
    _find_unread_cells,
)


def find_doubts(read: ReadRow, details: ParcelDetails, quote: Quote) -> Problems:
    """Return by our field what may be booked as it is but has to be shown first.

    The person who saved the row has seen the notes next to its fields.
    """
    weight = columns.form_name(columns.WEIGHT, read.file.sender.country)
    unmet = choosing.unmet_rule(quote.products, read.file.sender.service_rule)
    found = {name: [text] for name, text in read.form.left_out.items()}
    found |= {"": offers.quote_warnings(details) + unmet} | _find_lost_letters(details)
    if not items.are_weights_of_one(read.file) and (problem := items.of_weights(read.lines)):
        found[weight] = [problem]
    return {name: texts for name, texts in found.items() if texts and name not in read.corrected}


def _find_lost_letters(details: ParcelDetails) -> Problems:
    """Find signs where an export could not write a name's letters, or wrote another code's."""
    parts = ("name", "company", "line1", "line2")
    values = {f"receiver_{part}": getattr(details.receiver, part) for part in parts}
    return {
        name: [f"Letters were lost here: “{text}”. Put it right, or save the row as it is."]
        for name, text in values.items()
        if LOST.search(text)
    }
