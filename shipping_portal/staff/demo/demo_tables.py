"""Create a new demo's tables in one step; running each migration takes twenty times as long.

See docs/decisions/0055.
"""

from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def make_tables() -> None:
    """Create the tables of an empty SQLite file. Migrate any other database."""
    if connection.vendor == "sqlite" and not connection.introspection.table_names():
        _make_them_as_they_are_now()
    call_command("migrate", interactive=False, verbosity=0)


def _make_them_as_they_are_now() -> None:
    """Create the tables that all migrations lead to, all or none, and record them as applied.

    `migrate` then finds nothing to apply, and adds permissions and content types as it always does.
    """
    loader = MigrationLoader(connection)
    state = loader.project_state()
    with connection.schema_editor() as editor:
        for model in state.apps.get_models():
            editor.create_model(model)
        for app, name in _in_their_order(loader):
            _run_code_and_sql(loader.graph.nodes[app, name], editor, state)
        recorder = MigrationRecorder(connection)
        for app, name in _in_their_order(loader):
            recorder.record_applied(app, name)


def _in_their_order(loader: MigrationLoader) -> list[tuple[str, str]]:
    leaves = loader.graph.leaf_nodes()
    return list(dict.fromkeys(key for leaf in leaves for key in loader.graph.forwards_plan(leaf)))


def _run_code_and_sql(migration: Any, editor: Any, state: Any) -> None:
    """Run a migration's steps that aren't about models: triggers, first rows, the cache's table.

    Steps that change old rows find none.
    """
    for operation in migration.operations:
        if isinstance(operation, RunPython | RunSQL):
            operation.database_forwards(migration.app_label, editor, state, state)
