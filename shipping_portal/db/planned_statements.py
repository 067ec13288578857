"""Write plain SQL for the few statements that run too often to be compiled each time."""

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

from django.db import connections, models, transaction
from django.db.models.expressions import SQLiteNumericMixin
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery
from django.db.transaction import TransactionManagementError


def insert_row(*rows: models.Model, conflict: str = "") -> bool:
    """Insert new rows of one model as `save` does, at a fifth of its cost, and set their keys.

    `conflict` is the SQL for a row that already exists. Returns False if that was DO NOTHING and
    nothing was inserted; use this for single rows only.
    """
    statement, fields = _insert_statement(type(rows[0]), len(rows), conflict)
    return _insert(rows, statement, fields)


def _insert(
    rows: Sequence[models.Model], statement: str, fields: list[Any], before: Sequence[Any] = ()
) -> bool:
    """Run an INSERT of these rows, in which the values in `before` precede their own."""
    database = connections["default"]
    values = [
        field.get_db_prep_save(getattr(row, field.attname), database)
        for row in rows
        for field in fields
    ]
    with planned_cursor(database) as cursor:
        cursor.execute(statement, [*before, *values])
        keys = cursor.fetchall()
    for row, (key,) in zip(rows, keys, strict=False):
        row.pk, row._state.adding, row._state.db = key, False, "default"
    return bool(keys)


def update_row(
    row: models.Model,
    seen: dict[str, Any],
    changes: dict[str, Any],
    added: models.Model | None = None,
) -> bool:
    """Write `changes` to a row if its columns are as `seen`, at a third of a queryset's cost.

    For a tuple in `seen`, the column must have one of its values. The changes are plain values, and
    the row's attributes stay as they are. `added` is a new row, inserted only along with the
    change, in the same statement. Returns False if nothing was written.
    """
    statement, values = _update_statement(row, seen, changes)
    if added is None:
        with planned_cursor(connections["default"]) as cursor:
            cursor.execute(statement, values)
            return bool(cursor.rowcount)
    if connections["default"].vendor == "sqlite":  # SQLite has no such statement
        with transaction.atomic(savepoint=False):
            return update_row(row, seen, changes) and insert_row(added)
    insert, fields = _insert_statement(type(added), 1, is_with_change=True)
    return _insert([added], f"WITH changed AS ({statement} RETURNING 1) {insert}", fields, values)


def _update_statement(
    row: models.Model, seen: dict[str, Any], changes: dict[str, Any]
) -> tuple[str, list[Any]]:
    database, meta, values = connections["default"], row._meta, list[Any]()

    def written(name: str, words: str, *given: Any) -> str:
        field: Any = meta.get_field(name)
        values.extend(field.get_db_prep_save(getattr(one, "pk", one), database) for one in given)
        return f'"{field.column}" {words.format(", ".join(["%s"] * len(given)))}'

    def condition(name: str, value: Any) -> str:
        if value is None:
            return written(name, "IS NULL")
        return written(name, "IN ({})", *(value if isinstance(value, tuple) else (value,)))

    sets = ", ".join(written(name, "= {}", value) for name, value in changes.items())
    known = {meta.pk.name: row.pk, **seen}
    conditions = " AND ".join(condition(name, value) for name, value in known.items())
    # The SQL contains only our own names.
    return f'UPDATE "{meta.db_table}" SET {sets} WHERE {conditions}', values  # noqa: S608


@cache
def _insert_statement(
    model: type[models.Model], count: int, conflict: str = "", *, is_with_change: bool = False
) -> tuple[str, list[Any]]:
    fields = [
        field
        for field in model._meta.concrete_fields
        if field.remote_field or not (field.primary_key or field.generated)
    ]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    one = ", ".join(["%s"] * len(fields))
    every = "VALUES " + ", ".join([f"({one})"] * count)
    # The SQL contains only our own names.
    values = f"SELECT {one} FROM changed" if is_with_change else every  # noqa: S608
    insert = f'INSERT INTO "{model._meta.db_table}" ({columns}) {values} {conflict}'
    return f'{insert} RETURNING "{model._meta.pk.column}"', fields


class Given(SQLiteNumericMixin, models.Expression):
    """Mark the place in a planned statement of a value that each call passes by this name."""

    def __init__(self, name: str, field: Any) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, *_: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


_WRITING = threading.Lock()


def _written(plan: Any, write: Callable[[Any], Any]) -> Any:
    """Return this plan's statement, which is written once per connection."""
    database = connections["default"]
    # It lives as long as its connection, of which each thread has its own.
    written = vars(database).setdefault("planned_statements", {})
    if plan not in written:
        # Django counts a query's joins in the query itself while it writes the SQL.
        with _WRITING:
            written[plan] = write(database)
    return written[plan]


def _filled(parameters: Iterable[Any], values: dict[str, Any], database: Any) -> list[Any]:
    """Return the parameters with a value in place of each that is `Given`."""
    return [_filled_one(parameter, values, database) for parameter in parameters]


def _filled_one(parameter: Any, values: dict[str, Any], database: Any) -> Any:
    if not isinstance(parameter, Given):
        return parameter
    value = values[parameter.name]
    # None would be compared with "=", which is never true for NULL.
    if value is None:
        raise ValueError(f"{parameter.name} is None")
    return parameter.output_field.get_db_prep_value(value, database)


class PlannedUpdate:
    """Update the rows of a queryset by SQL that is written once per connection.

    Values that change from call to call are `Given`, in the queryset and in the changes.
    """

    def __init__(self, queryset: models.QuerySet[Any], **changes: Any) -> None:
        self._queryset, self._changes = queryset, changes

    def run(self, **values: Any) -> int:
        """Return how many rows were changed."""
        database = connections["default"]
        sql, parameters = _written(self, self._write)
        with planned_cursor(database) as cursor:
            cursor.execute(sql, _filled(parameters, values, database))
            changed: int = cursor.rowcount
        return changed

    def _write(self, database: Any) -> tuple[str, Any]:
        update: Any = self._queryset.query.chain(UpdateQuery)
        update.add_update_values(self._changes)
        return update.get_compiler(connection=database).as_sql()


class PlannedSelect:
    """Read the rows of a queryset whose SQL is written once per connection.

    Values that change from call to call are `Given`. Everything else, even a setting or a time,
    stays as it was when the queryset was made. A queryset with a list of values can't be planned.
    """

    def __init__(self, queryset: models.QuerySet[Any]) -> None:
        self._queryset = queryset

    def first(self, **values: Any) -> Any:
        """Return the first row, or None."""
        rows = self.rows(**values)
        return rows[0] if rows else None

    def rows(self, **values: Any) -> list[Any]:
        """Return all rows, as models with their related ones."""
        select = _written(self, partial(_WrittenSelect, self._queryset))
        found: list[Any] = select.rows(values)
        lookups: Any = self._queryset
        models.prefetch_related_objects(found, *lookups._prefetch_related_lookups)
        return found


class _WrittenSelect:
    """The SQL of one queryset, and how a row of its result becomes a model."""

    def __init__(self, queryset: models.QuerySet[Any], database: Any) -> None:
        self._database = database
        self._model: Any = queryset.model
        self._locks = queryset.query.select_for_update
        self._compiler: Any = queryset.query.get_compiler(connection=database)
        self._sql, self._parameters = self._compiler.as_sql()
        select, shape = self._compiler.select, self._compiler.klass_info
        self._converters = self._compiler.get_converters([column for column, *_ in select])
        own = shape["select_fields"]
        self._own = slice(own[0], own[-1] + 1)
        self._names = [column.target.attname for column, *_ in select[self._own]]
        # The stubs are for a later Django, where it has one more argument.
        self._related = get_related_populators(shape, select, database.alias)  # type: ignore[call-arg]

    def rows(self, values: dict[str, Any]) -> list[Any]:
        # The compiler knows this only while it writes the SQL.
        if (
            self._locks
            and self._database.features.has_select_for_update
            and self._database.get_autocommit()
        ):
            raise TransactionManagementError("a row can't be locked outside a transaction")
        with planned_cursor(self._database) as cursor:
            cursor.execute(self._sql, _filled(self._parameters, values, self._database))
            found = cursor.fetchall()
        converted = self._compiler.apply_converters(found, self._converters)
        return [self._as_model(row) for row in converted]

    def _as_model(self, row: Any) -> Any:
        made = self._model.from_db(self._database.alias, self._names, row[self._own])
        for related in self._related:
            related.populate(row, made)
        for name, column in self._compiler.annotation_col_map.items():
            setattr(made, name, row[column])
        return made


def planned_cursor(database: Any) -> Any:
    """Return a cursor that has PostgreSQL plan a statement once per connection.

    Through PgBouncer it doesn't.
    """
    if database.vendor != "postgresql" or database.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
        return database.cursor()
    # Django's own cursor does this too: a request may begin with this statement after a database
    # restart.
    database.close_if_health_check_failed()
    database.ensure_connection()
    cursor = _planning_cursor()(database.connection)
    wrapped = database.make_debug_cursor if database.queries_logged else database.make_cursor
    return wrapped(cursor)


@cache
def _planning_cursor() -> Any:
    import psycopg  # noqa: PLC0415  (with SQLite it isn't installed)

    class Planning(psycopg.RawCursor[Any]):
        def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
            statement, names = _numbered(query)
            values = [params[name] for name in names] if names else params
            # Django's own value is None, which plans nothing ahead
            self.connection.prepare_threshold = 0
            try:
                return super().execute(statement, values, **{**how, "prepare": True})
            finally:
                self.connection.prepare_threshold = None

    return Planning


@cache
def _numbered(statement: str) -> tuple[bytes, list[str]]:
    """Return a statement with $1, $2 … for its values, and their names if they have any.

    The driver would search a long statement for %s each time.
    """
    names: list[str] = []
    numbers = itertools.count(1)

    def written(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if not found[1]:
            return f"${next(numbers)}"
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    return re.sub(r"%(?:s|%|\((\w+)\)s)", written, statement).encode(), names
