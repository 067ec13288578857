"""A table of cases as one test: every row runs, and each that fails is told by name."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction

Test = Callable[..., None]


def table(names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | Callable[[Any], object] = ()) -> Any:
    """Run the test for every row, in place of `pytest.mark.parametrize`, with the same arguments.

    A row of a test that has a database begins with the database as the test found it; its fixtures are the same ones.
    """
    columns = [names] if isinstance(names, str) and "," not in names else _split(names)
    listed = list(rows)
    called = [str(ids(row)) for row in listed] if callable(ids) else [*ids]

    def run_all(test: Test) -> Test:
        own = inspect.signature(test)
        fixtures = [it for name, it in own.parameters.items() if name not in columns]

        def run(subtests: pytest.Subtests, **given: Any) -> None:
            inner = {"subtests": subtests} if "subtests" in own.parameters else {}  # of a table within a table
            for number, row in enumerate(listed):
                values, name = _cells(row, len(columns))
                with subtests.test(name or (called[number] if called else repr(row)[:120])):
                    _undone(test, {**given, **inner, **dict(zip(columns, values, strict=True))})

        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        run.__module__ = test.__module__
        run.pytestmark = [*getattr(test, "pytestmark", [])]  # type: ignore[attr-defined]
        if "subtests" not in own.parameters:
            fixtures = [inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD), *fixtures]
        run.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]
        return run

    return run_all


def _split(names: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _cells(row: Any, columns: int) -> tuple[Sequence[Any], str]:
    """The values of a row, and the name that `pytest.param` gave it."""
    if hasattr(row, "marks"):
        assert not row.marks, "a row has no marks of its own"
        return row.values, str(row.id or "")
    return ([row] if columns == 1 else row), ""


def _undone(test: Test, values: dict[str, Any]) -> None:
    if not connection.in_atomic_block:  # no database, or one without a transaction around it
        return test(**values)
    row = transaction.atomic()
    row._from_testcase = True  # as the transaction of the test itself: durable blocks are allowed in it
    with row:
        test(**values)
        transaction.set_rollback(True)
