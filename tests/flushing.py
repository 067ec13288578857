"""Lets a test database be emptied although its audit rows refuse to be deleted.

Between transactional tests Django empties SQLite by DELETE, which the append-only trigger refuses; on PostgreSQL
it truncates. So the triggers step aside for that moment and no other, and come back word for word.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.backends.sqlite3.base import DatabaseOperations  # base first: the two import each other


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

    DatabaseOperations.execute_sql_flush = past_the_triggers
    yield
    DatabaseOperations.execute_sql_flush = flush
