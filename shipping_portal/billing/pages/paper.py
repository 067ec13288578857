"""Write a week's statement as a PDF for an accountant: sums with their tax, then line by line.

Receivers aren't named: an accountant has the reference and the sender's own order number.
"""

import datetime as dt
import io
from collections.abc import Container, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.html import escape

from shipping_portal.accounts.formatting import local_date, local_word, money, money_in
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import Charge
from shipping_portal.billing.pages import lines, statements
from shipping_portal.billing.pages.line_reasons import count_of_kind, kind_name, line_reason
from shipping_portal.billing.pages.taxes import line_tax

TAXED = 5_000  # lines; finding the tax of more would take too long for a page
SUM_WIDTHS = (230, 95, 95)  # points
LINE_WIDTHS = (56, 74, 88, 176, 48, 68)
LINE_HEADS = ("Date", "Kind", "Reference", "Why", "Tax", "Amount")
NO_TAX = "–"
ASIAN = "STSong-Light"  # not embedded: each PDF reader has a font for it
SOURCE_OF_TAX = (
    "Tax is what the carrier stated when it booked. Its reports state none for adjustments, refunds"
    " and credits, so those show a dash."
)
NONE_STATED = "The carrier stated no tax for these lines."
TOO_MANY = "This week has too many lines to add up their tax here. The CSV has it line by line."


@dataclass(frozen=True)
class Heading:
    """Whose statement it is and whether it is final, as printed above the sums."""

    sender: Sender
    week: dt.date
    is_final: bool
    pending: list[dict[str, Any]]
    today: dt.date


def statement_pdf(heading: Heading, statement: statements.Statement) -> bytes:
    """Return the PDF of a whole week, with every sum and at most `statements.ON_PAPER` lines."""
    # Imported here: the library takes 18 MB, and most processes never write a PDF.
    from reportlab.lib.pagesizes import A4, LETTER  # noqa: PLC0415
    from reportlab.platypus import SimpleDocTemplate  # noqa: PLC0415

    name = statements.week_name(heading.week)
    paper = LETTER if local_word("paper", heading.sender.country) == "Letter" else A4
    content = io.BytesIO()
    document = SimpleDocTemplate(
        content,
        pagesize=paper,
        leftMargin=40,
        rightMargin=40,
        topMargin=44,
        bottomMargin=52,
        title=f"Statement {name}",
        author=settings.BRAND_NAME,
        lang="en",
    )

    def draw_footer(canvas: Any, document: Any) -> None:
        canvas.setFont(_fonts()[0], 8)
        canvas.drawString(40, 30, f"Statement {name}, account {heading.sender.number}")
        canvas.drawRightString(paper[0] - 40, 30, f"Page {document.page}")

    parts = [*_head(heading, name), *_sum_tables(statement), *_lines(heading.sender, statement)]
    document.build(parts, onFirstPage=draw_footer, onLaterPages=draw_footer)
    return content.getvalue()


def _head(heading: Heading, name: str) -> Iterator[Any]:
    words = statements.week_words(heading.week, heading.sender, names_year=True)
    yield _paragraph(settings.BRAND_NAME, 10)
    yield _paragraph(f"Statement {name}", 20, is_bold=True)
    yield _paragraph(f"{words}, for {heading.sender.name}, account {heading.sender.number}", 10)
    state = (
        "Final." if heading.is_final else "This week isn't final yet. More charges may be added."
    )
    yield _paragraph(f"{state} Made on {heading.today:%-d %B %Y}. Not a tax invoice.", 10)
    for row in heading.pending:
        yield _paragraph(
            f"{money_in(row['amount'], row['currency'])} of refunds is pending: the carrier hasn't"
            " decided, so it still counts as spent.",
            10,
        )


def _sum_tables(statement: statements.Statement) -> Iterator[Any]:
    """Yield a table of sums for each currency, and a sentence about the tax."""
    has_too_many = sum(row["count"] for row in statement.groups) > TAXED
    taxes = {} if has_too_many else _taxes(statement)
    for balance in statement.balances:
        groups = [row for row in statement.groups if row["currency"] == balance.currency]
        found = [taxes.get((row["kind"], balance.currency)) for row in groups]
        rows = [
            (
                count_of_kind(row["kind"], row["count"]),
                _tax(tax, balance.currency),
                money(row["amount"], balance.currency),
            )
            for row, tax in zip(groups, found, strict=True)
        ]
        known = [tax for tax in found if tax is not None]
        tax_in_all = _tax(sum(known, Decimal()) if known else None, balance.currency)
        total = ("Total", tax_in_all, money_in(balance.net, balance.currency))
        yield from _table([("", "Tax in it", "Amount"), *rows, total], SUM_WIDTHS, has_total=True)
    yield _paragraph(TOO_MANY if has_too_many else SOURCE_OF_TAX if taxes else NONE_STATED, 8)


def _taxes(statement: statements.Statement) -> dict[tuple[str, str], Decimal]:
    """Return the stated tax by kind and currency."""
    found: dict[tuple[str, str], Decimal] = {}
    priced = statement.whole.filter(kind__in=statements.PRICES).select_related("order")
    for charge in priced.order_by().iterator(chunk_size=500):
        tax = line_tax(charge)
        if tax is not None:
            key = (charge.kind, charge.currency)
            found[key] = found.get(key, Decimal()) + tax
    return found


def _lines(sender: Sender, statement: statements.Statement) -> Iterator[Any]:
    """Yield the lines as a table whose headings are repeated on each page."""
    count = sum(row["count"] for row in statement.groups)
    shown = list(statement.in_order()[: statements.ON_PAPER])
    if count > len(shown):
        yield _paragraph(
            f"These are the first {len(shown)} of {count:,} lines. The sums above are of all lines,"
            " and the CSV lists them.",
            10,
        )
    names_currency = len(statement.balances) > 1
    rows = [_line(line, sender, names_currency=names_currency) for line in shown]
    yield from _table([LINE_HEADS, *rows], LINE_WIDTHS)


def _line(line: Charge, sender: Sender, *, names_currency: bool) -> tuple[Any, ...]:
    own = f"{line.order.customer_reference} {line.order.place_in_order}" if line.order else ""
    return (
        local_date(line.day or line.week, sender),
        _paragraph(kind_name(line.kind)),
        _paragraph(line.reference or NO_TAX, after=own.strip()),
        _paragraph(line_reason(line, sender), after=lines.dispute_state(line, sender)["disputed"]),
        _tax(line_tax(line), line.currency),
        (money_in if names_currency else money)(line.amount, line.currency),
    )


def _tax(amount: Decimal | None, currency: str) -> str:
    return NO_TAX if amount is None else money(amount, currency)


def _table(
    rows: list[tuple[Any, ...]], widths: tuple[int, ...], *, has_total: bool = False
) -> Iterator[Any]:
    from reportlab.lib.colors import HexColor  # noqa: PLC0415
    from reportlab.platypus import LongTable, Spacer  # noqa: PLC0415

    regular, bold = _fonts()
    style: list[tuple[Any, ...]] = [
        ("FONT", (0, 0), (-1, -1), regular, 8.5),
        ("FONT", (0, 0), (-1, 0), bold, 8.5),
        ("ALIGN", (-2, 0), (-1, -1), "RIGHT"),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, HexColor("#c8ccd2")),
        ("LEFTPADDING", (0, 0), (0, -1), 0),
    ]
    if has_total:
        style.append(("FONT", (0, -1), (-1, -1), bold, 8.5))
    yield Spacer(0, 12)
    yield LongTable(rows, colWidths=widths, repeatRows=1, style=style, hAlign="LEFT")
    yield Spacer(0, 8)


def _paragraph(text: str, size: float = 8.5, *, is_bold: bool = False, after: str = "") -> Any:
    """Return a paragraph of plain text, with `after` on a line of its own."""
    from reportlab.lib.styles import ParagraphStyle  # noqa: PLC0415
    from reportlab.platypus import Paragraph  # noqa: PLC0415

    return Paragraph(
        _mark_missing_letters(text) + (f"<br/>{_mark_missing_letters(after)}" if after else ""),
        ParagraphStyle("", fontName=_fonts()[is_bold], fontSize=size, leading=size * 1.3),
    )


def _mark_missing_letters(text: str) -> str:
    """Escape text, and set characters our font lacks in PDF readers' Chinese or Japanese font."""
    regular, _ = _fonts()
    return "".join(
        escape(run) if is_known else f'<font name="{ASIAN}">{escape(run)}</font>'
        for is_known, run in _split_runs(text, _known_characters(regular))
    )


def _split_runs(text: str, known: Container[int]) -> Iterator[tuple[bool, str]]:
    for is_known, letters in groupby(text, key=lambda letter: ord(letter) in known):
        yield is_known, "".join(letters)


def _known_characters(font: str) -> Container[int]:
    from reportlab.pdfbase import pdfmetrics  # noqa: PLC0415

    return pdfmetrics.getFont(font).face.charToGlyph  # type: ignore[attr-defined]


@cache
def _fonts() -> tuple[str, str]:
    """Return the names of the regular and the bold font, loaded once per process."""
    from font_source_sans_pro import font_directory  # noqa: PLC0415
    from reportlab.pdfbase import pdfmetrics  # noqa: PLC0415
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # noqa: PLC0415
    from reportlab.pdfbase.ttfonts import TTFont  # noqa: PLC0415

    names = ("SourceSansPro-Regular", "SourceSansPro-Bold")
    for name in names:
        pdfmetrics.registerFont(TTFont(name, Path(font_directory) / f"{name}.ttf"))
    pdfmetrics.registerFont(UnicodeCIDFont(ASIAN))
    return names
