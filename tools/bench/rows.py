"""Write many rows by one statement: copies of a row that the factories made, each with its own values.

A column that isn't named has the first row's value, so a new column of a model needs nothing here.
"""

from typing import Any

from django.core.management.color import no_style
from django.db import connection


def insert(like: Any, source: str, values: dict[str, str], *, order_by: str = "") -> int:
    """Store a copy of `like` for each row of `source`, with these columns of it. Return how many.

    In the values, `new` is the row of the source.
    """
    own = [field for field in like._meta.concrete_fields if not field.generated]
    fields = [field for field in own if not field.primary_key or field.column in values]
    unknown = set(values) - {field.column for field in fields}
    if unknown:
        raise ValueError(f"{like._meta.label} has no column {', '.join(sorted(unknown))}")
    columns = ", ".join(f'"{field.column}"' for field in fields)
    written = ", ".join(values.get(field.column, f'old."{field.column}"') for field in fields)
    table = like._meta.db_table
    return execute(
        f"INSERT INTO {table} ({columns}) SELECT {written} FROM {table} old, ({source}) new "
        f"WHERE old.{like._meta.pk.column} = {like.pk} {'ORDER BY ' + order_by if order_by else ''}"
    )


def execute(sql: str) -> int:
    """Run a statement, and return how many rows it wrote."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.rowcount)


def continue_keys(*models: Any) -> None:
    """Make the next keys follow those that were written."""
    for sql in connection.ops.sequence_reset_sql(no_style(), models):
        execute(sql)


def one_of(words: tuple[str, ...], luck: str) -> str:
    """Return the expression of one of these words, by a number from 0 to 1."""
    quoted = ", ".join(f"'{word}'" for word in words)
    return f"(ARRAY[{quoted}])[1 + floor({luck} * {len(words)})::int]"
