"""A billing week: its Monday in the tables, 2026-W47 in addresses, both its ends in words."""

import datetime as dt
import re

from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import local_date

NAME = re.compile(r"([0-9]{4})-W([0-9]{2})", re.ASCII)


def name_of(week: dt.date) -> str:
    """`2026-W47`, as ISO 8601 counts weeks."""
    year, number, _ = week.isocalendar()
    return f"{year}-W{number:02}"


def named(name: str) -> dt.date | None:
    """The Monday of the week of that name; None for what is no week."""
    found = NAME.fullmatch(name)
    try:
        return dt.date.fromisocalendar(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        return None


def words_of(week: dt.date, sender: Sender) -> str:
    """`Mon 16 Nov – Sun 22 Nov`."""
    return f"{local_date(week, sender)} – {local_date(week + dt.timedelta(days=6), sender)}"
