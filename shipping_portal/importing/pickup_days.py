"""Read a row's own pickup day, if exactly one day on offer fits. Other text makes the row wait."""

import datetime as dt
import re
from collections.abc import Iterator

from django.utils import timezone

from orders.booking import booking_rules
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.importing import columns, unread
from shipping_portal.importing.headings import plain
from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.shop_words import NOTHING

SPREADSHEETS_DAY_0 = dt.date(1899, 12, 30)
NUMBERS = re.compile(
    r"([0-9]{1,4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,4})(?:[T ][0-9:.+Z]{1,20})?", re.ASCII
)
SERIAL = re.compile(r"[45][0-9]{4}(?:\.0)?", re.ASCII)
NAMED = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*+", re.IGNORECASE | re.ASCII)


def read_day(row: ImportRow, address: PickupAddress) -> tuple[dt.date | None, dict[str, list[str]]]:
    """Return the day that this row asks for, and its problems, by column.

    It returns None and no problems if the row has no day, or its sender said that the column
    doesn't matter.
    """
    file, place = row.file, row.file.columns.get(columns.PICKUP_DAY)
    text = row.cell(place).strip()
    if place is None or normalise_name(text) in NOTHING or row.corrected.get(unread.SEEN):
        return None, {}
    meant = {*readings(text, file.sender.country)}
    if plain(file.header[place]) in file.constants.get(columns.NO_MATTER, ()):
        return None, {}
    found = meant.intersection(
        booking_rules.pickup_days(file.sender, address.party(), timezone.now())
    )
    if len(found) == 1:
        return found.pop(), {}
    why = "could be more than one pickup day" if found else "isn't a pickup day on offer"
    text = f"“{text[:60]}” {why}. Choose the day when you book, or skip the row."
    return None, {f"{unread.KEY}{place}": [text]}


def readings(text: str, country: str) -> Iterator[dt.date]:
    """Yield the days that a text may mean: a spreadsheet's number, figures, or a named month.

    Australians write the day first, Americans the month. Canadians write either, so it may be both.
    """
    if SERIAL.fullmatch(text):
        yield SPREADSHEETS_DAY_0 + dt.timedelta(days=int(float(text)))
    if numbers := NUMBERS.fullmatch(text):
        first, middle, last = map(int, numbers.groups())
        day_first, month_first = (last, middle, first), (last, first, middle)
        orders = {"AU": [day_first], "US": [month_first]}.get(country, [day_first, month_first])
        for year, month, day in [(first, middle, last)] if first > 999 else orders:
            yield from _day(year if year > 99 else 2000 + year, month, day)
    words = " ".join(
        word for word in re.findall(r"[A-Za-z]+|[0-9]+", text) if not WEEKDAY.fullmatch(word)
    )
    for form in NAMED:
        try:
            # A day of the sender's calendar has no time zone.
            yield dt.datetime.strptime(words, form).date()  # noqa: DTZ007
        except ValueError:
            continue


def _day(year: int, month: int, day: int) -> Iterator[dt.date]:
    try:
        yield dt.date(year, month, day)
    except ValueError:
        return
