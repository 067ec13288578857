"""Allow emptying a test database although its audit rows refuse to be deleted.

Between transactional tests Django empties SQLite with DELETE and PostgreSQL with TRUNCATE, which triggers refuse. So
on SQLite the triggers are dropped for that moment only, then created again unchanged. On PostgreSQL the owner does it,
and they don't apply.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.backends.base.operations import BaseDatabaseOperations
from django.db.backends.sqlite3.base import DatabaseOperations  # base first: the two import each other

from tests.template import owner_of


@pytest.fixture(autouse=True, scope="session")
def audit_triggers_step_aside_for_a_flush() -> Iterator[None]:
    flush = DatabaseOperations.execute_sql_flush

    def past_the_triggers(self: DatabaseOperations, sql_list: list[str]) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'audit_%'")
            triggers = cursor.fetchall()
            for name, _ in triggers:
                cursor.execute(f"DROP TRIGGER {name}")
            flush(self, sql_list)
            for _, sql in triggers:
                cursor.execute(sql)

    def as_the_owner(self: BaseDatabaseOperations, sql_list: list[str]) -> Any:
        with owner_of(self.connection.settings_dict["NAME"]) as owner:
            owner.execute("SET session_replication_role = replica")  # no trigger is asked
            for statement in sql_list:
                owner.execute(statement)

    DatabaseOperations.execute_sql_flush = past_the_triggers
    BaseDatabaseOperations.execute_sql_flush = as_the_owner
    yield
    DatabaseOperations.execute_sql_flush = BaseDatabaseOperations.execute_sql_flush = flush
