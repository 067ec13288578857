"""TRUNCATE passes by the triggers of rows, so the audit refuses it by one of its own. SQLite has no such statement."""

from django.db import migrations

TRIGGER = """
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON accounts_audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()
"""


def refuse_to_empty_the_audit(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TRIGGER)


def allow_to_empty_the_audit(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER audit_is_not_emptied ON accounts_audit")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(refuse_to_empty_the_audit, allow_to_empty_the_audit)]
