"""Make Django's own work cheaper: the statements and what they return stay the same.

Django writes the SQL of every query again, and asks again which database and which settings there are.
"""

import datetime as dt
import sqlite3
from collections.abc import Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unittest import mock

from django.conf import LazySettings
from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.backends.sqlite3.operations import DatabaseOperations
from django.db.models import Model, Value, lookups
from django.db.models.base import ModelState
from django.db.models.expressions import Col
from django.db.models.fields.related_lookups import RelatedExact, RelatedIn
from django.db.models.sql.compiler import SQLCompiler
from django.db.models.sql.where import WhereNode
from django.db.utils import ConnectionHandler
from django.utils.dateparse import parse_datetime

COMPARED = (
    *(lookups.Exact, lookups.In, lookups.GreaterThan, lookups.GreaterThanOrEqual, lookups.LessThan),
    *(lookups.LessThanOrEqual, lookups.StartsWith, lookups.Contains, RelatedExact, RelatedIn),
)
COMPILED = ("select", "klass_info", "annotation_col_map", "col_count", "has_extra_select", "_meta_ordering")
# What a query may have that its key doesn't describe.
OTHERWISE = (
    *("extra", "group_by", "combinator", "distinct_fields", "explain_info", "subquery", "extra_order_by"),
    *("extra_tables", "_filtered_relations", "external_aliases"),
)
MANY = 2000  # SQLite keeps 128 statements prepared, and a seed has several hundred

_write, _get_converters = SQLCompiler.as_sql, SQLCompiler.get_converters
_convert = SQLiteCursorWrapper.convert_query
_written: dict[Hashable, "Written | None"] = {}


@dataclass
class Written:
    """The SQL of a query, the values in its columns, and what its compiler knows after it wrote the SQL."""

    sql: str
    before: tuple[Any, ...]
    known: dict[str, Any]
    converters: Any = None


class NoKey(Exception):
    """Raised for a query whose SQL is written each time."""


def prepare() -> None:
    """Call this before the database is connected."""
    connections[DEFAULT_DB_ALIAS].settings_dict["OPTIONS"]["cached_statements"] = MANY
    sqlite3.register_converter("datetime", _read_time)


@contextmanager
def worked_out_once() -> Iterator[None]:
    database = connections[DEFAULT_DB_ALIAS]  # the only one, in the only thread
    with ExitStack() as stack:
        for place, name, instead in [
            (SQLCompiler, "as_sql", _as_sql),
            (SQLCompiler, "get_converters", _converters_of),
            (SQLiteCursorWrapper, "convert_query", _convert_query),
            (DatabaseOperations, "convert_datetimefield_value", _in_utc),
            (Model, "from_db", classmethod(_from_db)),
            (ConnectionHandler, "__getitem__", lambda *_: database),
            (LazySettings, "__getattribute__", object.__getattribute__),
        ]:
            stack.enter_context(mock.patch.object(place, name, instead))
        yield


@lru_cache(10 * MANY)
def _read_time(text: bytes) -> dt.datetime | None:
    return parse_datetime(text.decode())


def _in_utc(_: Any, value: dt.datetime | str | None, *__: Any) -> dt.datetime | None:
    at = parse_datetime(value) if isinstance(value, str) else value
    return at.replace(tzinfo=dt.UTC) if at and at.tzinfo is None else at


def _convert_query(cursor: Any, query: str, *, param_names: Any = None) -> str:
    return _with_question_marks(query) if param_names is None else _convert(cursor, query, param_names=param_names)


@lru_cache(MANY)
def _with_question_marks(query: str) -> str:
    return _convert(None, query)  # type: ignore[arg-type]


def _from_db(model: Any, db: str, names: Iterable[str], values: Any) -> Any:
    """Make an object of a row, without the signals that Django sends: nothing here receives them."""
    made = model.__new__(model)
    made._state = ModelState()
    made._state.adding, made._state.db = False, db
    made.__dict__.update(zip(names, values, strict=True))
    return made


def _as_sql(self: Any, with_limits: bool = True, with_col_aliases: bool = False) -> Any:
    if type(self) is not SQLCompiler or not with_limits or with_col_aliases:
        return _write(self, with_limits, with_col_aliases)
    values: list[Any] = []
    try:
        key = _key_of(self, values)
        hash(key)
    except (NoKey, EmptyResultSet, FullResultSet, TypeError):
        return _write(self)
    if key not in _written:
        sql, parameters = _write(self)
        before, given = parameters[: len(parameters) - len(values)], parameters[len(parameters) - len(values) :]
        known = {name: getattr(self, name) for name in COMPILED}
        _written[key] = Written(sql, before, known) if list(given) == values else None
        return sql, parameters
    written = _written[key]
    if written is None:
        return _write(self)
    vars(self).update(written.known, written=written)
    return written.sql, (*written.before, *values)


def _converters_of(self: Any, expressions: Any) -> Any:
    written = getattr(self, "written", None)
    if written is None:
        return _get_converters(self, expressions)
    if written.converters is None:
        written.converters = _get_converters(self, expressions)
    return written.converters


def _key_of(compiler: Any, values: list[Any]) -> Hashable:
    """Return all that decides the SQL of a query, and add the values of its conditions to `values`."""
    query = compiler.query
    if any(getattr(query, name) for name in OTHERWISE):
        raise NoKey
    related, mask = query.select_related, query.annotation_select_mask
    return (
        *(query.model, query.low_mark, query.high_mark, query.distinct, query.default_cols),
        *(query.order_by, query.default_ordering, query.standard_ordering, query.values_select, compiler.elide_empty),
        *(frozenset(query.deferred_loading[0]), query.deferred_loading[1]),
        repr(related) if related else related,
        mask if mask is None else tuple(mask),
        tuple(_column(column) for column in query.select),
        tuple((name, *_constant(one)) for name, one in query.annotations.items()),
        tuple(_join(name, one, query.alias_refcount[name]) for name, one in query.alias_map.items()),
        _condition(query.where, compiler, values),
    )


def _column(column: Any) -> Hashable:
    if type(column) is not Col:
        raise NoKey
    return column.alias, column.target


def _constant(one: Any) -> tuple[Hashable, ...]:
    if type(one) is not Value:
        raise NoKey
    return one.value, type(one.value)


def _join(name: str, join: Any, uses: int) -> Hashable:
    return name, join.table_name, join.parent_alias, join.join_type, id(getattr(join, "join_field", None)), uses > 0


def _condition(one: Any, compiler: Any, values: list[Any]) -> Hashable:
    if type(one) is WhereNode:
        parts = tuple(_condition(child, compiler, values) for child in one.children)
        return one.connector, one.negated, one.resolved, parts
    known = type(one), *_column(getattr(one, "lhs", None))
    if isinstance(one, lookups.IsNull) or isinstance(one.rhs, bool):  # words, not values, in the SQL
        return *known, one.rhs
    if not isinstance(one, COMPARED) or hasattr(one.rhs, "resolve_expression") or one.bilateral_transforms:
        raise NoKey
    sql, found = one.process_rhs(compiler, compiler.connection)
    values.extend(found)
    return *known, sql
