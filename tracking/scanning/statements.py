"""Write plain SQL for the two things that every scan needs: storing a webhook and updating rows.

The ORM does the same at several times the cost; tests compare the two.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, connections, models

from shipping_portal.db.planned_statements import planned_cursor
from tracking.models import WebhookDelivery

GIVEN = ("received_at", "body", "sha256", "due_at", "reference", "carrier_event_id", "scan_time")


def insert_delivery(account: str, **given: Any) -> int | None:
    """Store a delivery for the account with this fingerprint; `given` are the columns of GIVEN.

    Returns its key, or None, with nothing stored, if the account has no row.
    """
    statement, fields = _insert_statement()
    # Look it up once, because `connection` looks it up on each use.
    database = connections["default"]
    with planned_cursor(database) as cursor:
        cursor.execute(
            statement,
            [*(value_of(given[name], database, True) for name, value_of in fields), account],
        )
        row = cursor.fetchone()
    return row[0] if row else None


@cache
def _insert_statement() -> tuple[str, list[tuple[str, Any]]]:
    """Return the statement, with defaults for other columns, and how to prepare each value."""
    fields: dict[str, Any] = {field.name: field for field in WebhookDelivery._meta.concrete_fields}
    usual = {
        field.column: _sql_literal(field.get_default())
        for name, field in fields.items()
        if name not in {"id", "account", "event", *GIVEN}
    }
    columns = ", ".join(
        map(connection.ops.quote_name, [*(fields[name].column for name in GIVEN), *usual])
    )
    values = ", ".join([*["%s"] * len(GIVEN), *usual.values()])
    return (
        # Our own columns and defaults.
        f"INSERT INTO tracking_webhookdelivery ({columns}, account_id) "  # noqa: S608
        f"SELECT {values}, id FROM orders_carrieraccount WHERE fingerprint = %s RETURNING id"
    ), [(name, fields[name].get_db_prep_value) for name in GIVEN]


def _sql_literal(default: Any) -> str:
    return (
        "NULL" if default is None else str(default) if isinstance(default, int) else f"'{default}'"
    )


def update_each(
    model: type[models.Model], rows: Iterable[models.Model], columns: Sequence[str]
) -> None:
    """Update these columns of each row from its object, in key order to avoid deadlocks."""
    fields, statement = _update_statement(model, tuple(columns))
    given = [
        [
            *(field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields),
            row.pk,
        ]
        for row in sorted(rows, key=lambda row: row.pk)
    ]
    if not given:
        return
    with connection.cursor() as cursor:
        cursor.executemany(statement, given)


@cache
def _update_statement(model: type[models.Model], columns: tuple[str, ...]) -> tuple[list[Any], str]:
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    name = connection.ops.quote_name
    settings = ", ".join(f"{name(field.column)} = %s" for field in fields)
    # Our own names.
    return fields, f"UPDATE {name(model._meta.db_table)} SET {settings} WHERE id = %s"  # noqa: S608
