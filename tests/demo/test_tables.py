"""The tables of a new demo, created in one go, are the same as those created by migrations."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.template import ROOT, copy_of_template

MAKE_TABLES = """
import django
django.setup()
from shipping_portal.staff.demo.demo_tables import make_tables
make_tables()
"""


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file made by `migrate`: the template of all tests."""
    return copy_of_template(tmp_path_factory.mktemp("tables") / "migrated.sqlite3")


@pytest.fixture(scope="module")
def made_at_once(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tables(tmp_path_factory.mktemp("tables") / "demo.sqlite3")


def make_tables(file: Path) -> str:
    env = {**os.environ, "DATABASE_URL": f"sqlite:///{file}", "MIGRATE_DATABASE_URL": "", "TESTING": "1"}
    env["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
    subprocess.run([sys.executable, "-c", MAKE_TABLES], env=env, cwd=ROOT, check=True, capture_output=True)
    return str(file)


def ask(file: str, question: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(question).fetchall()


def schema(file: str) -> dict[tuple[str, str], list[str]]:
    """Return the SQL of each table, index and trigger, in parts. The order of a table's columns doesn't count."""
    found = ask(file, "SELECT type, name, sql FROM sqlite_master")
    return {(kind, name): parts_of(sql or "") if kind == "table" else [sql] for kind, name, sql in found}


def parts_of(sql: str) -> list[str]:
    """Return the columns and constraints of a CREATE TABLE."""
    start, _, rest = sql.partition(" (")
    depth, parts = 0, [""]
    for letter in rest.removesuffix(")"):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        parts[-1] += letter
        if letter == "," and not depth:
            parts[-1] = parts[-1][:-1].strip()
            parts.append("")
    return [start, *sorted(part.strip() for part in parts)]


def counts(file: str) -> dict[str, int]:
    tables = ask(file, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: ask(file, f'SELECT count(*) FROM "{name}"')[0][0] for (name,) in tables}  # noqa: S608


def test_the_tables_have_the_same_columns_constraints_indexes_and_triggers(migrated: str, made_at_once: str) -> None:
    expected, there = schema(migrated), schema(made_at_once)
    assert there.keys() == expected.keys()
    differing = [key for key in there if there[key] != expected[key]]
    assert [there[key] for key in differing] == [expected[key] for key in differing]
    assert len([name for kind, name in there if kind == "trigger"]) == 5


def test_the_tables_have_the_same_first_rows(migrated: str, made_at_once: str) -> None:
    assert counts(made_at_once) == counts(migrated)
    assert counts(made_at_once)["orders_databasemark"] == 1


def test_every_migration_is_recorded_once(migrated: str, made_at_once: str) -> None:
    applied = "SELECT app, name FROM django_migrations ORDER BY app, name"
    assert ask(made_at_once, applied) == ask(migrated, applied)


def test_a_file_that_has_tables_is_migrated_as_usual(tmp_path: Path) -> None:
    file = tmp_path / "demo.sqlite3"
    make_tables(file)
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript("DROP TABLE reports_dayfigures; DROP TABLE reports_counting")
        database.execute("DELETE FROM django_migrations WHERE app = 'reports'")
    make_tables(file)
    assert ("table", "reports_dayfigures") in schema(str(file))
