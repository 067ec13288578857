"""The database itself refuses to change or delete an audit row, whoever asks."""

from django.db import migrations

SQLITE = [
    """
    CREATE TRIGGER audit_append_only_{act} BEFORE {act} ON accounts_audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END
    """.format(act=act)
    for act in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    """
    CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'audit rows are never changed' USING ERRCODE = 'restrict_violation'; END $$
    """,
    """
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON accounts_audit
    FOR EACH ROW EXECUTE FUNCTION audit_append_only()
    """,
]
UNDO = {
    "sqlite": ["DROP TRIGGER audit_append_only_UPDATE", "DROP TRIGGER audit_append_only_DELETE"],
    "postgresql": ["DROP TRIGGER audit_append_only ON accounts_audit", "DROP FUNCTION audit_append_only"],
}


def refuse(apps, schema_editor):
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def allow(apps, schema_editor):
    for statement in UNDO[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_locality_aliases")]

    operations = [migrations.RunPython(refuse, allow)]
