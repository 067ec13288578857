"""A row's own pickup day: taken where it can only be one day on offer. Any other text makes the row wait."""

import datetime as dt
import re
from collections.abc import Iterator

from django.utils import timezone

from orders.booking import booking_rules
from shipping_portal.accounts.address.text import normalise
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.importing import columns, shops, unread
from shipping_portal.importing.headings import plain
from shipping_portal.importing.models import ImportRow

SPREADSHEETS_DAY_0 = dt.date(1899, 12, 30)
NUMBERS = re.compile(r"([0-9]{1,4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,4})(?:[T ][0-9:.+Z]{1,20})?", re.ASCII)
SERIAL = re.compile(r"[45][0-9]{4}(?:\.0)?", re.ASCII)
NAMED = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*+", re.IGNORECASE | re.ASCII)


def of_row(row: ImportRow, address: PickupAddress) -> tuple[dt.date | None, dict[str, list[str]]]:
    """Return the day that this row asks for, and what is wrong with it, by its column.

    None and nothing where the row names none, or its sender said that the column doesn't matter.
    """
    text, place = columns.cell(row, row.file, columns.PICKUP_DAY).strip(), row.file.columns.get(columns.PICKUP_DAY, -1)
    passed = row.corrected.get(unread.SEEN) or (
        place >= 0 and plain(row.file.header[place]) in row.file.constants.get(columns.NO_MATTER, ())
    )
    if normalise(text) in shops.NOTHING or passed:
        return None, {}
    days = booking_rules.pickup_days(row.file.sender, address.party(), timezone.now())
    found = {day for day in readings(text, row.file.sender.country) if day in days}
    if len(found) == 1:
        return found.pop(), {}
    why = "could be more than one pickup day" if found else "isn't a pickup day on offer"
    return None, {f"{unread.KEY}{place}": [f"“{text[:60]}” {why}. Choose the day when you book, or skip the row."]}


def readings(text: str, country: str) -> Iterator[dt.date]:
    """Yield the days that this may be: as a spreadsheet counts them, in numbers, or by the month's name.

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
    words = " ".join(word for word in re.findall(r"[A-Za-z]+|[0-9]+", text) if not WEEKDAY.fullmatch(word))
    for form in NAMED:
        try:
            yield dt.datetime.strptime(words, form).date()  # noqa: DTZ007 (a day of the sender's calendar)
        except ValueError:
            continue


def _day(year: int, month: int, day: int) -> Iterator[dt.date]:
    try:
        yield dt.date(year, month, day)
    except ValueError:
        return
