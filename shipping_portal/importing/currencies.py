"""Read a file's amounts. The currency is from the cell, the column's name or its own column."""

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from orders.drafting.form_fields import PLAIN_NUMBER
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing import headings

CENT = Decimal("0.01")
CODES = re.compile(
    "AED|ARS|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|FJD|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|"
    "SAR|SEK|SGD|THB|TRY|TWD|USD|VND|ZAR"
)
SIGNS = {
    "US$": "USD",
    "AU$": "AUD",
    "A$": "AUD",
    "CA$": "CAD",
    "C$": "CAD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
}
NAMES = {
    "us dollar": "USD",
    "australian dollar": "AUD",
    "canadian dollar": "CAD",
    "new zealand dollar": "NZD",
    "euro": "EUR",
    "pound sterling": "GBP",
    "british pound": "GBP",
}
AMOUNT = re.compile(r"([^0-9.,+-]*)([0-9][0-9.,]*)\s*([^0-9]*)", re.ASCII)
UNSURE = re.compile(r"^(.+) of one or of (.+)$")  # the price of one piece, or of several
# The price of several: it makes no whole cents, or their number is unclear.
OF_MANY = re.compile(r"^(.+) for (.+)$")


def currency_of(text: str) -> str:
    """Return a currency's code by its code, sign or name.

    Other words are returned unchanged; "" and "$" give "".
    """
    sign = "".join(text.upper().split())
    bare = sign.replace("$", "") if len(sign) > 2 else sign
    known = SIGNS.get(sign) or next((code for code in (sign, bare) if CODES.fullmatch(code)), "")
    return (
        known
        or NAMES.get(normalise_name(text).removesuffix("s"), "")
        or ("" if sign == "$" else sign)
    )


def read(text: str) -> tuple[str, str]:
    """Return the amount and its currency, or "" for none: `US $45.00` is 45.00 and USD."""
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        return text, ""
    before, number, after = found.groups()
    code = currency_of(before) or currency_of(after)
    is_a_currency = not code or any(sign.isalpha() or sign in SIGNS for sign in code)
    return (number, code) if is_a_currency else (text, "")


def currency_in_name(name: str) -> str:
    """Return the currency in a column's name: “Price (USD)”, or "" for none."""
    return next(
        (word.upper() for word in normalise_name(name).split() if CODES.fullmatch(word.upper())), ""
    )


def name_without_currency(name: str) -> str:
    """Return a column's normalised name without the currency in it."""
    return " ".join(
        word for word in headings.plain(name).split() if not CODES.fullmatch(word.upper())
    )


def bare_amount(text: str) -> str:
    """Return an ambiguous price's amount as in the file; other text unchanged."""
    unsure = UNSURE.fullmatch(text)
    return unsure[1] if unsure else text


def is_unsure(text: str) -> bool:
    """Return whether a price may not be that of one piece."""
    return bool(UNSURE.fullmatch(text) or OF_MANY.fullmatch(text))


def is_times(total: str, number: str, times: str) -> bool:
    """Return whether this many at this price add up to the total."""
    is_number = all(
        PLAIN_NUMBER.fullmatch(text) and len(text) < 12 for text in (total, number, times)
    )
    return is_number and Decimal(total) == Decimal(number) * Decimal(times)


def of_one(text: str, times: str) -> str:
    """Return the price of one piece; if that is unclear, mark it as the price of many."""
    number, currency = read(text)
    if times in ("", "0", "1") or not PLAIN_NUMBER.fullmatch(number):
        return text
    if re.fullmatch("[1-9][0-9]{0,3}", times, re.ASCII):
        one = Decimal(number) / Decimal(times)
        if one == one.quantize(CENT):
            return f"{currency} {one:.2f}".strip()
    return f"{text} for {times}"


def converted(text: str, own: str, rates: Mapping[str, str]) -> str:
    """Return an amount in our currency.

    It is unchanged, converted at its currency's rate, or otherwise marked with its code.
    """
    number, currency = read(text)
    if currency in ("", own):
        return number if currency else text
    if currency in rates and PLAIN_NUMBER.fullmatch(number):
        return f"{(Decimal(number) * Decimal(rates[currency])).quantize(CENT, ROUND_HALF_UP)}"
    return f"{currency} {number}"
