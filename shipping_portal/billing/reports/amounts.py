"""Read numbers as finance systems write them: `(21.36)`, `$21.36`, `1,021.36`, `21.36-`.

Text with one possible reading is read. Other text, such as `1,021` in a profile without a decimal
sign, raises a question.
"""

import re
from decimal import Decimal

BIGGEST = Decimal(10) ** 12
DASHES: dict[int, str] = dict.fromkeys(
    map(ord, "\N{MINUS SIGN}\N{EN DASH}\N{SMALL HYPHEN-MINUS}\N{FULLWIDTH HYPHEN-MINUS}"), "-"
)
# A file in a Windows code page is decoded byte by byte, so its signs arrive as these bytes.
DASHES |= {0x80: "€", 0x96: "-", 0x97: "-"}
DOLLARS = {"AUD", "CAD", "USD", "NZD", "SGD", "HKD"}
SIGNS = {
    "$": DOLLARS,
    "A$": {"AUD"},
    "AU$": {"AUD"},
    "C$": {"CAD"},
    "CA$": {"CAD"},
    "US$": {"USD"},
    "NZ$": {"NZD"},
    "€": {"EUR"},
    "£": {"GBP"},
    "¥": {"JPY", "CNY"},
}
MARK = r"(?P<unit>[A-Z]{0,2}[$€£¥]|[A-Z]{3})|(?P<side>CR|DR)|(?P<sign>[-+])"
BEFORE = re.compile(rf"({MARK}) ?", re.IGNORECASE)
BEHIND = re.compile(rf" ?({MARK})$", re.IGNORECASE)
# Decimal would also accept "1e2", "1_0" and other scripts' digits. A spreadsheet writes 1.06E+01.
NUMBER = {
    sign: re.compile(
        r"([0-9]++|[1-9][0-9]{0,2}(?P<by>["
        rf" '’{other}])[0-9]{{3}}((?P=by)[0-9]{{3}})*)(?P<part>[{sign}][0-9]*)?"
        rf"|[{sign}][0-9]+|[0-9][{sign}][0-9]+E[+-][0-9]{{2}}"
    )
    for sign, other in ((".", ","), (",", "."))
}
ASKED = "If that is its decimal sign, set it in the account's billing profile."


class UnreadableCell(Exception):
    """Raised with one cell and what is wrong with it."""


def read_amount(text: str, decimal_sign: str, currency: str) -> Decimal:
    """Read an amount of this currency. Raises UnreadableCell."""
    rest, minuses, sides = text.translate(DASHES), 0, ""
    # Accountants write "-" for zero.
    if rest == "-":
        return Decimal(0)
    while re.search("[0-9]", rest):
        if rest[0] == "(" and rest[-1] == ")":
            rest, minuses = rest[1:-1].strip(), minuses + 1
        elif mark := BEFORE.match(rest) or BEHIND.search(rest):
            unit, sides = (mark["unit"] or "").upper(), sides + (mark["side"] or "").upper()
            if unit and currency not in SIGNS.get(unit, {unit}):
                raise UnreadableCell(f"“{text[:40]}” is not in {currency}, as its line is.")
            minuses += mark["sign"] == "-"
            rest = rest[mark.end() :] if mark.start() == 0 else rest[: mark.start()]
        else:
            break
    if minuses + len(sides) // 2 > 1:
        raise UnreadableCell(f"“{text[:40]}” is not a number: its sign is written twice.")
    amount = read_number(rest, decimal_sign, written=text)
    # A cell with scientific format saves 608.53 as 6.09E+02.
    if "E" in rest and int(amount.as_tuple().exponent) > -2:
        raise UnreadableCell(f"“{text[:40]}” was rounded by a spreadsheet.")
    return -amount if minuses or sides == "CR" else amount


def read_number(text: str, decimal_sign: str, *, written: str = "") -> Decimal:
    """Read digits. A comma is a decimal sign only if the profile says so."""
    shown = (written or text)[:40]
    found = NUMBER[decimal_sign or "."].fullmatch(text)
    if not found:
        asked = ASKED if re.search("[0-9][.,][0-9]", text) else ""
        raise UnreadableCell(f"“{shown}” is not a number. {asked}".strip())
    if not decimal_sign and found["by"] == "," and not found["part"] and text.count(",") == 1:
        raise UnreadableCell(
            f"“{shown}” may be {text.replace(',', '')} or {text.replace(',', '.')}. {ASKED}"
        )
    plain = (
        re.sub("[ '’]", "", text).replace("," if decimal_sign != "," else ".", "").replace(",", ".")
    )
    number = Decimal(plain)
    if abs(number) >= BIGGEST:
        raise UnreadableCell(f"“{shown}” is not a number.")
    return number
