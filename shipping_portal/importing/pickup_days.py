"""A row's own pickup day: read from its column, and taken where the carrier offers it. Any other day makes the row wait."""

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress

from django.utils import timezone

from orders import booking_rules, quoting
from orders.models import Quote
from orders.models.quotes import bookable
from orders.parcel_details import ParcelDetails
from shipping_portal.accounts.text import as_seen, normalise
from shipping_portal.importing import columns, unread
from shipping_portal.importing.models import ImportRow

EVERYWHERE = ("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d %Y", "%B %d %Y")
# Canadians write both ways, so neither is guessed.
BY_COUNTRY: Mapping[str, tuple[str, ...]] = {
    "AU": ("%d/%m/%Y", "%d/%m/%y", "%d.%m.%Y", "%d-%m-%Y"),
    "US": ("%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y"),
}
LONGEST = 30


def read(text: str, country: str) -> dt.date | None:
    """Return the day that a cell says as this country writes days; None for anything else."""
    plain = " ".join(as_seen(text).replace(",", " ").split()).removesuffix(" 00:00:00").removesuffix(" 00:00")
    for form in (*EVERYWHERE, *BY_COUNTRY.get(country, ())) if len(plain) <= LONGEST else ():
        with suppress(ValueError):
            return dt.datetime.strptime(plain, form).date()  # noqa: DTZ007  (a day, no time)
    return None


def of_row(row: ImportRow, quote: Quote) -> tuple[dt.date | None, dict[str, list[str]]]:
    """Return the day of the row's own, None without one; and what is wrong with it, by its column."""
    text = columns.cell(row, row.file, columns.PICKUP_DAY).strip()
    if normalise(text) in unread.NOTHING or _is_of_no_matter(row):
        return None, {}
    day = read(text, row.file.sender.country)
    if day is not None and day in _on_offer(quote):
        return day, {}
    place = row.file.columns[columns.PICKUP_DAY]
    name = row.file.header[place]
    return None, {f"{unread.KEY}{place}": [f"“{name}” says “{text[:60]}”, which is not a pickup day on offer."]}


def _is_of_no_matter(row: ImportRow) -> bool:
    name = normalise(row.file.header[row.file.columns[columns.PICKUP_DAY]])
    return bool(row.corrected.get(unread.SEEN)) or name in row.file.constants.get(columns.NO_MATTER, ())


def _on_offer(quote: Quote) -> list[dt.date]:
    """Return the days on which every service that picks up may come."""
    firsts = [quoting.first_pickup(offer) for offer in bookable(quote.products)]
    pickup = ParcelDetails.from_json(quote.details).pickup
    return booking_rules.pickup_days(
        quote.sender, pickup, timezone.now(), first=max(filter(None, firsts), default=None)
    )
