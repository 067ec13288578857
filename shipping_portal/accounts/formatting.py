"""Format words, units, money and days as a country writes them, usually the sender's country.

They are plain functions, independent of templates.
"""

import datetime as dt
from decimal import Decimal
from typing import Any

from django.utils import timezone

from shipping_portal.carrier.writing import KILOGRAMS
from shipping_portal.db.keyset import MOST_COUNTED

ELSEWHERE = ""  # for any country without its own word
WORDS = {
    "suburb": {"AU": "suburb", "GB": "town or city", ELSEWHERE: "city"},
    "state": {
        "AU": "state",
        "CA": "province",
        "GB": "county",
        "US": "state",
        ELSEWHERE: "state or province",
    },
    "postcode": {"CA": "postal code", "US": "ZIP code", ELSEWHERE: "postcode"},
    "parcel": {"US": "package", ELSEWHERE: "parcel"},
    "parcels": {"US": "packages", ELSEWHERE: "parcels"},
    "mass": {"US": "lb", ELSEWHERE: "kg"},
    "length": {"US": "in", ELSEWHERE: "cm"},
    "paper": {"CA": "Letter", "US": "Letter", ELSEWHERE: "A4"},
    "suburbs": {"AU": "suburbs", ELSEWHERE: "cities"},
}
PLACE = ("suburb", "state", "postcode")
DEFAULT_COUNTRY = "AU"
DOLLARS = {"AUD", "CAD", "USD", ""}


def local_word(word: str, country: str) -> str:
    """Return a country's own word: `say("postcode", "US")` is `ZIP code`.

    An initial capital is kept.
    """
    term = WORDS[word.lower()].get(country, WORDS[word.lower()][ELSEWHERE])
    return term[0].upper() + term[1:] if word[0].isupper() else term


def money(amount: Any, currency: str = "") -> str:
    """Format `8.95` as $8.95. Only three currencies have the dollar sign; others show a code."""
    amount, currency = getattr(amount, "amount", amount), getattr(amount, "currency", currency)
    if amount is None or amount == "":
        return ""
    value = Decimal(str(amount))
    minus = "−" if value < 0 else ""
    sign = "$" if currency.upper() in DOLLARS else f"{currency.upper()} "
    return f"{minus}{sign}{abs(value):,.2f}"


def money_in(amount: Any, currency: str = "") -> str:
    """Format `8.95` as $8.95 AUD, for totals."""
    currency = getattr(amount, "currency", currency)
    shown = money(amount, currency)
    return f"{shown} {currency}" if shown.lstrip("−").startswith("$") and currency else shown


def plain(number: Any) -> str:
    """Return a number without trailing zeros: `2.400` is 2.4."""
    shown = f"{number:f}" if isinstance(number, Decimal) else str(number)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def weight_words(kg: Decimal | None, sender: Any) -> str:
    """Format a weight in the unit of the sender's country."""
    if kg is None:
        return ""
    if sender.country == "US":
        return f"{plain(round(kg / KILOGRAMS['lb'], 2))} lb"
    return f"{plain(kg)} kg"


def up_to_thousand(count: int) -> str:
    """Format a number over a thousand as `1,000+`, because counting stops there."""
    return f"{count:,}" if count <= MOST_COUNTED else f"{MOST_COUNTED:,}+"


def local_date(value: dt.datetime | dt.date | None, sender: Any) -> str:
    """Format `Tue 25 Nov` in the sender's zone, `Tue, Nov 25` in the US.

    The year is added unless it is this year.
    """
    if value is None:
        return ""
    day = value.astimezone(_zone(sender)) if isinstance(value, dt.datetime) else value
    month = (
        f"{day:%a}, {day:%b} {day.day}"
        if _country(sender) == "US"
        else f"{day:%a} {day.day} {day:%b}"
    )
    is_this_year = day.year == timezone.now().astimezone(_zone(sender)).year
    return month if is_this_year else f"{month}{',' if _country(sender) == 'US' else ''} {day.year}"


def local_time(value: dt.datetime | None, sender: Any) -> str:
    """Format `2:35 pm` in the sender's zone."""
    if value is None:
        return ""
    at = value.astimezone(_zone(sender))
    return f"{at.hour % 12 or 12}:{at:%M} {'am' if at.hour < 12 else 'pm'}"


def local_moment(value: dt.datetime | None, sender: Any) -> str:
    """Format `Tue 25 Nov, 2:35 pm` in the sender's zone."""
    return f"{local_date(value, sender)}, {local_time(value, sender)}" if value else ""


def _zone(sender: Any) -> dt.tzinfo:
    return sender.tzinfo if sender else dt.UTC


def _country(sender: Any) -> str:
    return str(getattr(sender, "country", DEFAULT_COUNTRY))
