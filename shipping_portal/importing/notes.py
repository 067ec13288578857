"""Report how a file was read: what was left out or blanked, and what may be wrong.

The notes hold positions and numbers, but no text from the file:
hidden_rows     numbers of the rows hidden in the workbook
hidden_columns  positions of the hidden columns
other_sheets    how many more sheets aren't empty: only the first of them is read
bad_rows        numbers of the lines with unbalanced quotation marks
blanks          how many cells held only words such as NULL or N/A; blank_words lists these
letters         rows and positions of letters that could be read differently
decoded_back    whether the file was UTF-8 that had been decoded with a Windows code page
"""

from collections.abc import Iterator
from typing import Any

from shipping_portal.importing.models import Import, ImportRow

HIDDEN = "Hidden in your workbook."
BAD_LINE = "The quotation marks of this line don't pair up. Check each value, then save the row."


def of(file: Import) -> dict[str, Any]:
    return file.notes or {}


def is_hidden(row: ImportRow) -> bool:
    return row.number in of(row.file).get("hidden_rows", ())


def is_bad(row: ImportRow) -> bool:
    return row.number in of(row.file).get("bad_rows", ())


def is_a_guess(file: Import) -> bool:
    """Return whether a file's letters may be wrong: they are shown before anything is checked."""
    return "letters" in of(file) and file.encoding not in ("cp1252", "utf-8", "utf-8-sig", "utf-16")


def reading_notes(file: Import) -> Iterator[str]:
    """Yield remarks about the whole file; remarks about its rows are separate."""
    noted, used = of(file), set(file.columns.values())
    if names := [
        file.header[at]
        for at in noted.get("hidden_columns", ())
        if at in used and at < len(file.header)
    ]:
        yield f"Hidden in your workbook, and used: {', '.join(names)}."
    if count := noted.get("other_sheets"):
        more = "Another one isn't" if count == 1 else f"{count:,} more aren't"
        yield (
            "Only the first sheet of your workbook with anything in it was read."
            f" {more} empty: if orders are there, upload them as a file of their own."
        )
    if count := noted.get("blanks"):
        words = ", ".join(f"“{word}”" for word in noted["blank_words"])
        yield f"{count:,} cell{'s say' if count > 1 else ' says'} only {words}: read as blank."
    if letters := _letters(file):
        shown = ", ".join(f"“{text}”" for text in letters)
        why = (
            "Letters of this file had been read wrongly before, so we put them back"
            if noted.get("decoded_back")
            else f"This file doesn't say how its letters are written; we read {file.read_as}"
        )
        yield f"{why}: {shown}. If that is wrong, save the file as “CSV UTF-8” and upload it again."


def _letters(file: Import) -> list[str]:
    """Return the first cells with letters that could be read differently."""
    places = of(file).get("letters", [])
    rows = {
        row.number: row.cells
        for row in file.rows.filter(number__in=[number for number, _ in places])
    }
    found = (rows[number][at] for number, at in places if number in rows and at < len(rows[number]))
    return [text[:60] for text in found if text]
