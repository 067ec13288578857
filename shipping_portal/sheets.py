"""Stream rows as CSV for spreadsheets; cells are never formulas, whatever people typed."""

import csv
import itertools
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.http import StreamingHttpResponse

BYTE_ORDER_MARK = "\ufeff"  # without this Excel doesn't read it as UTF-8
AT_ONCE = 200  # lines at a time: each piece is a write to the network
STARTS_A_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are fullwidth


def safe_cell(value: object) -> str:
    """Return the value as text, with an apostrophe before anything a spreadsheet would calculate.

    Numbers stay numbers.
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(STARTS_A_FORMULA) else value
    if value is None:
        return ""
    text = str(value)
    return (
        f"'{text}"
        if text.startswith(STARTS_A_FORMULA) and not isinstance(value, int | Decimal)
        else text
    )


class _Line:
    """A file for csv to write to, which returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    has_mark: bool = True,
    delimiter: str = ",",
) -> Iterator[str]:
    """Yield the lines of a table, its headings first. Everything is quoted.

    `has_mark` is for Excel. With tabs as `delimiter`, quotes are used only where needed: most
    readers of such files don't know them.
    """
    writer = csv.writer(
        _Line(),
        quoting=csv.QUOTE_MINIMAL if delimiter == "\t" else csv.QUOTE_ALL,
        delimiter=delimiter,
    )
    yield (BYTE_ORDER_MARK if has_mark else "") + writer.writerow(map(safe_cell, heads))
    for row in rows:
        yield writer.writerow(map(safe_cell, row))


def stream_sheet(
    name: str, heads: Sequence[str], rows: Iterable[Sequence[object]], **form: Any
) -> StreamingHttpResponse:
    """Return a download of `name`, written while the rows are read; `form` is as in csv_lines."""

    def pieces() -> Iterator[str]:
        lines = csv_lines(heads, rows, **form)
        yield next(lines)  # before the first row is read
        while some := "".join(itertools.islice(lines, AT_ONCE)):
            yield some

    response = StreamingHttpResponse(pieces(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
