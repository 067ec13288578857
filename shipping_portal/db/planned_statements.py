"""Write plain SQL for the few statements that run too often to be compiled each time."""

from functools import cache
from typing import Any

from django.db import connections, models


def insert_row(row: models.Model) -> None:
    """Insert a new row like `save`, at a fifth of its cost, and set its key."""
    statement, fields = _insert_statement(type(row))
    database = connections["default"]
    with planned_cursor(database) as cursor:
        cursor.execute(
            statement,
            [field.get_db_prep_save(getattr(row, field.attname), database) for field in fields],
        )
        (row.pk,) = cursor.fetchone()
    row._state.adding, row._state.db = False, "default"


@cache
def _insert_statement(model: type[models.Model]) -> tuple[str, list[Any]]:
    fields: list[Any] = [field for field in model._meta.concrete_fields if not field.primary_key]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    values = ", ".join(["%s"] * len(fields))
    # Only our own names are written into it.
    insert = f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({values}) RETURNING id'  # noqa: S608
    return insert, fields


def planned_cursor(database: Any) -> Any:
    """Return a cursor with which PostgreSQL plans a statement once per connection.

    Not by PgBouncer.
    """
    if database.vendor != "postgresql" or database.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
        return database.cursor()
    database.ensure_connection()
    cursor = _planning_cursor()(database.connection)
    wrapped = database.make_debug_cursor if database.queries_logged else database.make_cursor
    return wrapped(cursor)


@cache
def _planning_cursor() -> Any:
    import psycopg  # noqa: PLC0415  (where the database is SQLite it isn't installed)

    class Planning(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
            # Django's is None, with which nothing is planned ahead
            self.connection.prepare_threshold = 0
            try:
                return super().execute(query, params, **{**how, "prepare": True})
            finally:
                self.connection.prepare_threshold = None

    return Planning
