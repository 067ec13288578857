"""Other accounts beside the one that is measured: its orders, scans and charges again for each, by statements alone.

Their keys lie between each other, as those of accounts do that book at the same time.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from django.core.management.color import no_style
from django.db import connection

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import Charge
from tests import factories
from tracking.models import Parcel, TrackingEvent

FIRST = 1_000_000  # keys of each account that are left for rows of other makers, and for what tests rolled back
APART = 10_000_000  # the lines of two accounts in one report
MODELS = (Order, Parcel, TrackingEvent, Charge)
Row = TypeVar("Row")


class Spaced:
    """Rows of one account with room between their keys for those of the others."""

    def __init__(self, accounts: int) -> None:
        self.accounts = accounts
        self.keys: defaultdict[Any, Iterator[int]] = defaultdict(lambda: itertools.count(FIRST * accounts, accounts))

    def create(self, model: Any, rows: Iterable[Row]) -> list[Row]:
        """Insert the rows, with keys of the first account."""
        made: Any = list(rows)
        for row in made:
            row.pk = next(self.keys[model])
        created: list[Row] = model.objects.bulk_create(made)
        return created

    def middle(self, rows: int) -> int:
        """Return the key of the middle of so many rows."""
        return (FIRST + rows // 2) * self.accounts

    def add_others(self, like: Sender) -> None:
        """Give each other account as much as this one has, the only one so far."""
        weeks = set(Charge.objects.order_by().values_list("week", flat=True).distinct())
        for number in range(1, self.accounts):
            other = factories.sender(name=f"{like} {number}")
            letter = chr(ord("B") + number)
            values = {
                "uuid": "gen_random_uuid()",
                "form_token": "gen_random_uuid()",
                "event_id": "gen_random_uuid()",
                "sender_id": str(other.pk),
                "carrier_reference": f"'S{letter}' || substr(carrier_reference, 3)",
                "reference": f"'S{letter}' || substr(reference, 3)",
                "line": f"line + {number * APART}",
                "key": f"md5(key || '{letter}')",
            }
            for model in MODELS:
                self._copy(model, number, values)
            week_sums.add_up({(other.pk, week) for week in weeks})
        with connection.cursor() as cursor:
            for sql in connection.ops.sequence_reset_sql(no_style(), MODELS):
                cursor.execute(sql)

    def _copy(self, model: Any, number: int, values: dict[str, str]) -> None:
        fields, table = model._meta.concrete_fields, model._meta.db_table
        moved = {field.column for field in fields if field.primary_key or field.related_model in {Order, Parcel}}
        kept = {field.column: f'"{field.column}"' for field in fields}
        written = {
            column: f"{name} + {number}" if column in moved else values.get(column, name)
            for column, name in kept.items()
        }
        first = f"id >= {FIRST * self.accounts} AND id % {self.accounts} = 0"
        into, found = ", ".join(kept.values()), ", ".join(written.values())
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} ({into}) SELECT {found} FROM {table} WHERE {first}")  # noqa: S608
