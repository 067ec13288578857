"""Migrations stay as they were merged, and none blocks people who use the table."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, models
from django.db.migrations import AddField, AddIndex, CreateModel, Migration, RemoveIndex
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from shipping_portal.concurrent_indexes import AddIndexConcurrently
from tests.template import owner_of

ROOT = Path(__file__).resolve().parents[1]
LANDED = ROOT / "tests/migrations.sha256"
WRITE_DOWN = "sha256sum */migrations/0*.py */*/migrations/0*.py > tests/migrations.sha256"


def test_no_merged_migration_is_edited() -> None:
    """An installation that applied it would never apply it again. Only unmerged migrations may change."""
    landed = dict(reversed(line.split(maxsplit=1)) for line in LANDED.read_text().splitlines())
    files = [*ROOT.glob("*/migrations/0*.py"), *ROOT.glob("*/*/migrations/0*.py")]
    there = {str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    edited = {name for name, digest in landed.items() if there.get(name) != digest}
    assert edited == set(), "was edited, renamed or removed: write another migration instead"
    assert there.keys() == landed.keys(), f"a new one is written down by: {WRITE_DOWN}"


def holding_up(migration: Migration) -> list[str]:
    """Return the operations of a migration that build an index and block writes to a table in use."""
    new = {operation.name_lower for operation in migration.operations if isinstance(operation, CreateModel)}
    found = []
    for operation in migration.operations:
        if isinstance(operation, AddIndexConcurrently):
            if migration.atomic or not all(isinstance(other, AddIndexConcurrently) for other in migration.operations):
                found.append(f"{operation.index.name}: alone in its migration, which is not atomic")
        elif isinstance(operation, AddIndex) and operation.model_name_lower not in new:
            found.append(f"{operation.index.name}: AddIndexConcurrently, in a migration of its own")
        elif isinstance(operation, AddField) and operation.model_name_lower not in new:
            field = operation.field
            if field.db_index or field.unique:
                found.append(f"{operation.name}: db_index=False, and an index of its own for it")
    return found


def test_an_index_of_a_table_in_use_is_built_without_blocking_writers() -> None:
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if app in {"accounts", "orders", "tracking", "billing", "importing", "exporting", "jobs", "staff"}:
            assert holding_up(migration) == [], f"{app} {name}"


INDEX = models.Index(fields=["reason"], name="tried_here")
BESIDE = AddIndexConcurrently("orderchange", INDEX)


@pytest.mark.parametrize(
    ("operations", "atomic", "count"),
    [
        ([AddIndex("orderchange", INDEX)], True, 1),
        ([AddField("order", "sort", models.IntegerField(db_index=True))], True, 1),
        ([AddField("order", "other", models.ForeignKey("orders.Order", models.CASCADE))], True, 1),
        ([AddField("order", "sort", models.IntegerField(null=True))], True, 0),
        ([CreateModel("new", []), AddIndex("new", INDEX)], True, 0),
        ([BESIDE], True, 1),
        ([BESIDE, RemoveIndex("order", "old")], False, 1),
        ([BESIDE], False, 0),
    ],
)
def test_the_rule_recognises_what_blocks_writers(operations: list[Any], atomic: bool, count: int) -> None:
    migration = Migration("0009", "orders")
    migration.operations, migration.atomic = operations, atomic
    assert len(holding_up(migration)) == count


@pytest.fixture
def states(as_the_owner: None, transactional_db: None) -> Iterator[tuple[ProjectState, ProjectState]]:
    before = MigrationLoader(connection).project_state()
    after = before.clone()
    BESIDE.state_forwards("orders", after)
    yield before, after
    if "tried_here" in indexes():
        backwards(before, after)


def indexes() -> dict[str, Any]:
    with connection.cursor() as cursor:
        return dict(connection.introspection.get_constraints(cursor, "orders_orderchange"))


def forwards(before: ProjectState, after: ProjectState) -> None:
    with connection.schema_editor(atomic=False) as editor:
        BESIDE.database_forwards("orders", editor, before, after)


def backwards(before: ProjectState, after: ProjectState) -> None:
    with connection.schema_editor(atomic=False) as editor:
        BESIDE.database_backwards("orders", editor, after, before)


@pytest.mark.postgres
def test_an_index_exists_afterwards_and_is_dropped_when_undone(states: tuple[ProjectState, ProjectState]) -> None:
    forwards(*states)
    assert indexes()["tried_here"]["columns"] == ["reason"]
    backwards(*states)
    assert "tried_here" not in indexes()


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has one writer")
def test_building_an_index_waits_for_writers_and_repairs_a_broken_build(
    states: tuple[ProjectState, ProjectState],
) -> None:
    name = connection.settings_dict["NAME"]
    with owner_of(name) as slow, owner_of(name) as other:
        write = "UPDATE orders_orderchange SET reason = reason"
        other.execute("SET lock_timeout = '5s'")  # else a test that fails would hang
        slow.execute(write)  # and has not ended yet
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = '300ms'")
        with pytest.raises(OperationalError):
            forwards(*states)
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
        assert "tried_here" in indexes()  # cut off, and used by nobody
        builder = threading.Thread(target=in_a_thread, args=states)
        builder.start()
        other.execute(write)  # would wait for the index to be built, were it not built concurrently
        other.commit()
        assert builder.is_alive()
        slow.commit()
        builder.join(30)
        assert is_valid(other)


def in_a_thread(before: ProjectState, after: ProjectState) -> None:
    forwards(before, after)
    connection.close()


def is_valid(other: Any) -> bool:
    found = other.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'tried_here'::regclass").fetchone()
    return bool(found and found[0])


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite plans without")
@pytest.mark.django_db
def test_postgresql_has_statistics_on_which_states_go_together() -> None:
    """Without them it expects nine times as many waiting pickups and reads every open parcel."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT stxkeys FROM pg_statistic_ext WHERE stxname = 'orders_standing'")
        assert cursor.fetchone()
