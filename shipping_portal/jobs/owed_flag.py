"""Keep `WideJob.is_owed` by a trigger: PostgreSQL would write the table anew for such a column.

    operations = [AddOwedFlag("order", "is_owed", models.GeneratedField(…))]

The trigger knows what an older release writes, too, so both can run beside each other. Elsewhere
it is a generated column.
"""

from typing import Any

from django.db.migrations import AddField
from django.db.migrations.operations.base import Operation

ADD = "ALTER TABLE {table} ADD COLUMN is_owed boolean NOT NULL DEFAULT false"
FUNCTION = """
CREATE FUNCTION {table}_is_owed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.is_owed := NEW.due_at IS NOT NULL; RETURN NEW; END $$
"""
TRIGGER = """
CREATE TRIGGER is_owed_while_due BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW
WHEN (NEW.is_owed <> (NEW.due_at IS NOT NULL)) EXECUTE FUNCTION {table}_is_owed()
"""
# Room for newer versions of a row beside it.
ROOM = "ALTER TABLE {table} SET (fillfactor = {share})"
UNDO = (
    "ALTER TABLE {table} RESET (fillfactor)",
    "DROP TRIGGER is_owed_while_due ON {table}",
    "DROP FUNCTION {table}_is_owed()",
    "ALTER TABLE {table} DROP COLUMN is_owed",
)
# The trigger does the rest.
TOUCH = "UPDATE {table} SET due_at = due_at WHERE due_at IS NOT NULL AND NOT is_owed"


class AddOwedFlag(AddField):
    """Add the column and its trigger. Rows that have a job get it from `FlagOldRows`."""

    share = 70

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
        for statement in (ADD, FUNCTION, TRIGGER, ROOM):
            schema_editor.execute(statement.format(table=table, share=self.share))

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            return super().database_backwards(app_label, schema_editor, from_state, to_state)
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        for statement in UNDO:
            schema_editor.execute(statement.format(table=table))


class FlagOldRows(Operation):
    """Set the flag of rows that had a job before there was one, while others write."""

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing: only rows change."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
            schema_editor.execute(TOUCH.format(table=table))

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Change nothing: the column goes."""
