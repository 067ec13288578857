"""Add indexes and checks to tables in use: PostgreSQL builds them without blocking writers.

    class Migration(migrations.Migration):
        atomic = False
        operations = [
            AddIndexConcurrently("order", models.Index(fields=["phone"], name="by_phone"))
        ]

Django's own operations work only on PostgreSQL, and its index operation can't be rerun after a
failure. This module also has trigram indexes and statistics of related columns, which PostgreSQL
needs and SQLite lacks.
"""

from typing import Any

from django.db.backends.ddl_references import Statement
from django.db.migrations import AddConstraint, AddIndex, AlterField, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.models import Index

TOGETHER = "CREATE STATISTICS IF NOT EXISTS %(name)s (mcv) ON %(columns)s FROM %(table)s"


class AddIndexConcurrently(AddIndex):
    """Add an index without blocking writers. On SQLite, which has one writer, it works as usual."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        # This waits for all writers, and no writer waits for it. An interrupted build leaves an
        # unused index.
        schema_editor.execute("SET lock_timeout = 0")
        model = to_state.apps.get_model(app_label, self.model_name)
        schema_editor.remove_index(model, self.index, concurrently=True)
        schema_editor.add_index(model, self.index, concurrently=True)
        schema_editor.execute("SET lock_timeout = '5s'")

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_backwards(app_label, schema_editor, from_state, to_state)
        model = from_state.apps.get_model(app_label, self.model_name)
        schema_editor.remove_index(model, self.index, concurrently=True)


class AddCheckOfNewRows(AddConstraint):
    """Add a check constraint without reading the table.

    A later migration's `CheckOldRows` does that.

    On SQLite it is the usual operation.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        model = from_state.apps.get_model(app_label, self.model_name)
        statement: Any = self.constraint.create_sql(model, schema_editor)
        statement.template += " NOT VALID"
        schema_editor.execute(statement, params=None)


class CheckOldRows(Operation):
    """Check the rows that are older than a constraint, while others write. SQLite already did."""

    def __init__(self, model_name: str, name: str) -> None:
        self.model_name, self.name = model_name, name

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing: Django already knows the check."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return
        quote, model = schema_editor.quote_name, to_state.apps.get_model(app_label, self.model_name)
        parts = {"table": quote(model._meta.db_table), "name": quote(self.name)}
        schema_editor.execute(
            Statement("ALTER TABLE %(table)s VALIDATE CONSTRAINT %(name)s", **parts)
        )

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Change nothing: a check that holds for all rows stays checked."""


class StatisticsOfColumns(Operation):
    """Let PostgreSQL count combinations of column values.

    Otherwise it assumes they are independent.

    SQLite does without them.
    """

    def __init__(self, model_name: str, name: str, columns: list[str]) -> None:
        self.model_name, self.name, self.columns = model_name, name, columns

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing: Django doesn't track statistics."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return
        quote, model = schema_editor.quote_name, to_state.apps.get_model(app_label, self.model_name)
        columns = ", ".join(quote(model._meta.get_field(name).column) for name in self.columns)
        parts = {"name": quote(self.name), "columns": columns, "table": quote(model._meta.db_table)}
        schema_editor.execute(Statement(TOGETHER, **parts))
        schema_editor.execute(Statement("ANALYZE %(table)s", **parts))

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                Statement(
                    "DROP STATISTICS IF EXISTS %(name)s", name=schema_editor.quote_name(self.name)
                )
            )


class TrigramIndex(Index):
    """Index text columns by pg_trgm's trigrams, to find parts of words ignoring case (`icontains`).

    Without pg_trgm, as on SQLite, it is an ordinary index, and the search reads every row.
    """

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        statement: Any = super().create_sql(model, schema_editor, using, **kwargs)
        if _has_trigrams(schema_editor.connection):
            columns = [
                schema_editor.quote_name(model._meta.get_field(name).column) for name in self.fields
            ]
            by_trigrams = ", ".join(f"UPPER({column}) gin_trgm_ops" for column in columns)
            statement.parts |= {"using": " USING gin", "columns": by_trigrams}
        return statement


def _has_trigrams(connection: Any) -> bool:
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        return cursor.fetchone() is not None


class RemoveIndexConcurrently(RemoveIndex):
    """Drop an index while others write. Migrating back builds it again."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        self._added(app_label, from_state).database_backwards(
            app_label, schema_editor, from_state, to_state
        )

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        self._added(app_label, to_state).database_forwards(
            app_label, schema_editor, from_state, to_state
        )

    def _added(self, app_label: str, state: Any) -> AddIndexConcurrently:
        index = state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        return AddIndexConcurrently(self.model_name, index)


class RemoveIndexOfKey(AlterField):
    """Drop a foreign key's index while others write. Migrating back builds it again.

    Django's own operation would check all keys of the table again, which blocks its writers.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        self._added(app_label, schema_editor, from_state).database_backwards(
            app_label, schema_editor, from_state, to_state
        )

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        self._added(app_label, schema_editor, to_state).database_forwards(
            app_label, schema_editor, from_state, to_state
        )

    def _added(self, app_label: str, schema_editor: Any, state: Any) -> AddIndexConcurrently:
        meta = state.apps.get_model(app_label, self.model_name)._meta
        # This is how Django names a foreign key's index.
        name = schema_editor._create_index_name(meta.db_table, [meta.get_field(self.name).column])
        return AddIndexConcurrently(self.model_name, Index(fields=[self.name], name=name))
