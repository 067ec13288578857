"""Amounts in a file: the currency that a cell, its column's name or a column of currencies states."""

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from orders.drafting.form_fields import PLAIN_NUMBER
from shipping_portal.accounts.address.text import normalise
from shipping_portal.importing import headings

CENT = Decimal("0.01")
CODES = re.compile(
    "AED|ARS|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|FJD|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|"
    "SAR|SEK|SGD|THB|TRY|TWD|USD|VND|ZAR"
)
SIGNS = {
    "US$": "USD", "AU$": "AUD", "A$": "AUD", "CA$": "CAD", "C$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD",
    "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW",
}  # fmt: skip
NAMES = {
    "us dollar": "USD", "australian dollar": "AUD", "canadian dollar": "CAD", "new zealand dollar": "NZD",
    "euro": "EUR", "pound sterling": "GBP", "british pound": "GBP",
}  # fmt: skip
AMOUNT = re.compile(r"([^0-9.,+-]*)([0-9][0-9.,]*)\s*([^0-9]*)", re.ASCII)
UNSURE = re.compile(r"^(.+) of one or of ([0-9]+)$")  # the price of a piece, or of so many
OF_MANY = re.compile(r"^(.+) for ([0-9]+)$")  # the price of so many that no whole cents are one's


def currency_of(text: str) -> str:
    """Return the code of a currency by its code, its sign or its name; another word stays, "" and "$" are none."""
    sign = "".join(text.upper().split())
    bare = sign.replace("$", "") if len(sign) > 2 else sign
    known = SIGNS.get(sign) or next((code for code in (sign, bare) if CODES.fullmatch(code)), "")
    return known or NAMES.get(normalise(text).removesuffix("s"), "") or ("" if sign == "$" else sign)


def read(text: str) -> tuple[str, str]:
    """Return the amount and the currency beside it, "" where it has none: `US $45.00` is 45.00 and USD."""
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        return text, ""
    before, number, after = found.groups()
    return number, currency_of(before) or currency_of(after)


def stated(name: str) -> str:
    """Return the currency that a column's name states: “Price (USD)”; "" for none."""
    return next((word.upper() for word in normalise(name).split() if CODES.fullmatch(word.upper())), "")


def bare(name: str) -> str:
    """Return a column's name, normalised, without the currency that it states."""
    return " ".join(word for word in headings.plain(name).split() if not CODES.fullmatch(word.upper()))


def bare_amount(text: str) -> str:
    """Return the amount of a price that may be of one piece or of several, as the file has it; other text as it is."""
    unsure = UNSURE.fullmatch(text)
    return unsure[1] if unsure else text


def is_times(total: str, number: str, times: str) -> bool:
    """Return whether so many at this price come to the total."""
    is_number = all(PLAIN_NUMBER.fullmatch(text) and len(text) < 12 for text in (total, number, times))
    return is_number and Decimal(total) == Decimal(number) * Decimal(times)


def of_one(text: str, times: str) -> str:
    """Return the price of one of so many; where it is no whole cents, that it is the price of many."""
    number, currency = read(text)
    if times == "1" or not (PLAIN_NUMBER.fullmatch(number) and re.fullmatch("[1-9][0-9]{0,3}", times, re.ASCII)):
        return text
    one = Decimal(number) / Decimal(times)
    return f"{currency} {one:.2f}".strip() if one == one.quantize(CENT) else f"{text} for {times}"


def converted(text: str, own: str, rates: Mapping[str, str]) -> str:
    """Return an amount in our own currency: as it is, or at the rate typed for its currency; else with its code."""
    number, currency = read(text)
    if currency in ("", own):
        return number if currency else text
    if currency in rates and PLAIN_NUMBER.fullmatch(number):
        return f"{(Decimal(number) * Decimal(rates[currency])).quantize(CENT, ROUND_HALF_UP)}"
    return f"{currency} {number}"
