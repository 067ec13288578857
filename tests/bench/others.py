"""Other accounts beside the one that is measured: its orders, scans and charges once more for each, by statements alone."""

from typing import Any

from django.db import connection
from django.db.models import Q

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.billing import week_sums
from shipping_portal.billing.models import Charge
from tests import factories
from tracking.models import Parcel, TrackingEvent

APART = 10_000_000  # the keys of two accounts
SINGLE = {"uuid": "gen_random_uuid()", "form_token": "gen_random_uuid()", "event_id": "gen_random_uuid()"}


def add(like: Sender, count: int) -> None:
    """Add so many accounts, each with as much as this one has."""
    for number in range(1, count + 1):
        other = factories.sender(name=f"Other account {number}")
        names = {
            "sender_id": str(other.pk),
            "carrier_reference": f"'S{chr(ord('B') + number)}' || substr(carrier_reference, 3)",
            "reference": f"'S{chr(ord('B') + number)}' || substr(reference, 3)",
            "line": f"line + {number * APART}",
            "key": f"md5(key || '{number}')",
        } | SINGLE
        for model, own in (
            (Order, "sender_id = %s"),
            (Parcel, "order_id IN (SELECT id FROM orders_order WHERE sender_id = %s)"),
            (TrackingEvent, f"parcel_id IN (SELECT id FROM tracking_parcel WHERE id < {APART}) AND %s > 0"),
            (Charge, "sender_id = %s"),
        ):
            _copy(model, f"{own} AND id < {APART}", like.pk, number * APART, names)
        week_sums.add_up({(other.pk, week) for week in _weeks(like)})


def _weeks(like: Sender) -> Any:
    return Charge.objects.filter(Q(sender=like)).order_by().values_list("week", flat=True).distinct()


def _copy(model: Any, own: str, sender: int, apart: int, names: dict[str, str]) -> None:
    """Insert these rows once more, with keys so far apart from theirs."""
    fields, table = model._meta.concrete_fields, model._meta.db_table
    moved = {f.column for f in fields if f.primary_key or f.related_model in {Order, Parcel}}
    columns = [field.column for field in fields]
    values = [f'"{column}" + {apart}' if column in moved else names.get(column, f'"{column}"') for column in columns]
    quoted = ", ".join(f'"{column}"' for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)} FROM {table} WHERE {own}", [sender])
