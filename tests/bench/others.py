"""Other accounts beside the one that is measured: its orders, scans and charges again for each, by statements alone."""

from typing import Any

from django.db import connection

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.billing import week_sums
from shipping_portal.billing.models import Charge
from tests import factories
from tracking.models import Parcel, TrackingEvent

APART = 10_000_000  # the keys of two accounts


def add(like: Sender, count: int) -> None:
    """Add so many accounts, each with as much as this one has. It is the only one so far."""
    weeks = set(Charge.objects.order_by().values_list("week", flat=True).distinct())
    for number in range(1, count + 1):
        other = factories.sender(name=f"{like} {number}")
        letter, apart = chr(ord("B") + number), number * APART
        values = {
            "uuid": "gen_random_uuid()",
            "form_token": "gen_random_uuid()",
            "event_id": "gen_random_uuid()",
            "sender_id": str(other.pk),
            "carrier_reference": f"'S{letter}' || substr(carrier_reference, 3)",
            "reference": f"'S{letter}' || substr(reference, 3)",
            "line": f"line + {apart}",
            "key": f"md5(key || '{letter}')",
        }
        for model in (Order, Parcel, TrackingEvent, Charge):
            _copy(model, apart, values)
        week_sums.add_up({(other.pk, week) for week in weeks})


def _copy(model: Any, apart: int, values: dict[str, str]) -> None:
    """Insert the first account's rows once more, with keys so far from theirs."""
    fields, table = model._meta.concrete_fields, model._meta.db_table
    moved = {field.column for field in fields if field.primary_key or field.related_model in {Order, Parcel}}
    columns = [field.column for field in fields]
    kept = {column: f'"{column}"' for column in columns}
    found = kept | {column: f'"{column}" + {apart}' for column in moved} | {
        column: value for column, value in values.items() if column in kept
    }  # fmt: skip
    into, written = ", ".join(kept.values()), ", ".join(found.values())
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({into}) SELECT {written} FROM {table} WHERE id < {APART}")  # noqa: S608
