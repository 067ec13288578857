"""Keep `WideJob.has_job` by a trigger: PostgreSQL would rewrite the table for such a column.

    operations = [AddJobFlag("order", "has_job", models.GeneratedField(…))]

The trigger also covers what an older release writes, so both can run side by side. On other
databases it is a generated column.
"""

from typing import Any

from django.db.backends.ddl_references import Statement
from django.db.migrations import AddField
from django.db.migrations.operations.base import Operation

ADD = "ALTER TABLE %(table)s ADD COLUMN has_job boolean NOT NULL DEFAULT false"
FUNCTION = """
CREATE FUNCTION %(function)s() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.has_job := NEW.due_at IS NOT NULL; RETURN NEW; END $$
"""
TRIGGER = """
CREATE TRIGGER has_job_while_due BEFORE INSERT OR UPDATE ON %(table)s FOR EACH ROW
WHEN (NEW.has_job <> (NEW.due_at IS NOT NULL)) EXECUTE FUNCTION %(function)s()
"""
# This leaves room for newer versions of a row on the same page.
ROOM = "ALTER TABLE %(table)s SET (fillfactor = 70)"
UNDO = (
    "ALTER TABLE %(table)s RESET (fillfactor)",
    "DROP TRIGGER has_job_while_due ON %(table)s",
    "DROP FUNCTION %(function)s()",
    "ALTER TABLE %(table)s DROP COLUMN has_job",
)
# The trigger handles the rest.
TOUCH = "UPDATE %(table)s SET due_at = due_at WHERE due_at IS NOT NULL AND NOT has_job"


class AddJobFlag(AddField):
    """Add the column and its trigger. Rows with a job get the flag from `FlagOldRows`."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        _run(schema_editor, to_state, app_label, self.model_name, ADD, FUNCTION, TRIGGER, ROOM)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_backwards(app_label, schema_editor, from_state, to_state)
        _run(schema_editor, from_state, app_label, self.model_name, *UNDO)


class FlagOldRows(Operation):
    """Set the flag on rows that had a job before the flag existed, while others write."""

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Do nothing: only rows change."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            _run(schema_editor, to_state, app_label, self.model_name, TOUCH)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Do nothing: the column is removed."""


def _run(schema_editor: Any, state: Any, app_label: str, model: str, *statements: str) -> None:
    table = state.apps.get_model(app_label, model)._meta.db_table
    quote = schema_editor.quote_name
    names = {"table": quote(table), "function": quote(f"{table}_has_job")}
    for statement in statements:
        schema_editor.execute(Statement(statement, **names))
