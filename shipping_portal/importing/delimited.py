"""Read lines of text with commas, tabs, semicolons or bars between the cells.

Lines that can't be read become rows to fix.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from shipping_portal.importing import shops

Lines = Iterator[tuple[int, list[str]]]  # each with its number

LONGEST_CELL = 2000
LONGEST_HEADER = 20_000
LONGEST_LINE = 50_000  # the longest line that is read without its quotation marks
MOST_BAD = 50  # unreadable lines; with more, it isn't a table
AMAZON = "Amazon"
DELIMITERS = (",", "\t", ";", "|")
MOST_ABOVE = 10  # lines searched for the names of the columns
# Blank lines count too. Each takes some ten microseconds, because Python allocates and frees memory
# for it.
MOST_LINES = 40_000
TOO_MANY_LINES = (
    f"This file has more than {MOST_LINES:,} lines. Copy the rows to a new file and upload that."
)


class UnreadableFile(Exception):
    """Raised when the file can't be imported. The sentence says why, and what to do."""


def find_delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter, and the text without the line that names it in some spreadsheets."""
    named = re.match(r"sep=([,;\t|])\r?\n", text, re.IGNORECASE)
    if named:
        return named[1], text[named.end() :]
    bare = re.sub(r'"(?:[^"]|"")*"', "x", text[:LONGEST_HEADER])
    top = [Counter(line) for line in bare.splitlines() if line.strip()][:MOST_ABOVE]
    seen = next((signs for signs in top if any(signs[sign] for sign in DELIMITERS)), Counter[str]())
    return max(DELIMITERS, key=lambda sign: seen[sign]), text


def has_quotes(text: str) -> bool:
    """Return whether quotation marks around cells mean anything in this tab-separated file.

    Spreadsheets write them. Amazon and others don't: in their files a title may begin with a mark
    and not end with one. So they count only if the whole file can be read with them, and no cell
    then contains a tab and a line end.
    """
    if (
        '"' not in text
        or shops.find_shop(text[:LONGEST_HEADER].partition("\n")[0].rstrip("\r").split("\t"))
        == AMAZON
    ):
        return False
    try:
        cells = chain.from_iterable(
            csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
        )
        return not any("\t" in cell and ("\n" in cell or "\r" in cell) for cell in cells)
    except csv.Error:
        return False


def read_unquoted(text: str) -> Lines:
    """Yield the number and cells of each line that isn't empty; tabs separate the cells."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if line.strip():
            yield number, line.rstrip("\n").split("\t")


def read_lines(text: str, delimiter: str, notes: dict[str, Any]) -> Lines:
    """Yield the number and cells of each line that isn't empty.

    Blank lines count, as in spreadsheets.

    An unreadable line becomes a row to fix, with the text between its delimiters, and a note.
    """
    source = io.StringIO(text, newline="")
    number = bad = width = 0
    while True:
        begins = source.tell()
        reader = csv.reader(
            _line_by_line(source), delimiter=delimiter, strict=True, skipinitialspace=True
        )
        try:
            for line in reader:
                ends = source.tell()
                if _are_rows(text[begins:ends].splitlines(), delimiter, width) and _has_joined(
                    line, delimiter
                ):
                    raise csv.Error("two lines in one")
                number, begins = number + 1, ends
                if number > MOST_LINES:
                    raise UnreadableFile(TOO_MANY_LINES)
                width = width or len(line)
                if any(map(str.strip, line)):
                    yield number, line
            return
        except csv.Error as error:
            number, bad = number + 1, bad + 1
            source.seek(begins)
            written = source.readline()
            if bad > MOST_BAD or len(written) > LONGEST_LINE or number == 1:
                raise UnreadableFile(_why_unreadable(error, number)) from error
            notes.setdefault("bad_rows", []).append(number)
            yield number, written.rstrip("\r\n").split(delimiter)


def _has_joined(line: list[str], delimiter: str) -> bool:
    """Return whether a quoted cell has a delimiter and a line end, which may join two rows."""
    return any(delimiter in cell and len(cell.splitlines()) > 1 for cell in line)


def _are_rows(written: list[str], delimiter: str, width: int) -> bool:
    """Return whether each line has the header's number of cells without its quotation marks."""
    return len(written) > 1 and all(one.count(delimiter) == width - 1 for one in written)


def _line_by_line(source: io.StringIO) -> Iterator[str]:
    """Yield a text's lines while tracking the position, which iterating over it doesn't."""
    while line := source.readline():
        yield line


def _why_unreadable(error: csv.Error, number: int) -> str:
    if "field limit" in str(error):
        return f"A cell near line {number} has more than {LONGEST_CELL:,} characters."
    return (
        f"The quotation marks near line {number} don't pair up, so it is unclear where a cell "
        "ends. Put the line right and upload the file again."
    )
