"""Numbers of rows that the database gave after its backup are known outside: they are not given a second time."""

from django.apps import apps
from django.db import connection, models

FURTHER = 1_000_000  # more than any table grows between two backups
APPS = ("accounts", "orders", "tracking", "billing", "importing", "exporting")


def jump() -> int:
    """Let every numbered table of ours go on a million further; how many these are."""
    tables = [
        (model._meta.db_table, model._meta.pk.attname)
        for name in APPS
        for model in apps.get_app_config(name).get_models()
        if isinstance(model._meta.pk, models.BigAutoField) and model._meta.label != "orders.DatabaseMark"
    ]
    for table, column in tables:
        (_in_postgresql if connection.vendor == "postgresql" else _in_sqlite)(table, column)
    return len(tables)


def _in_postgresql(table: str, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [table, column])
        sequence = cursor.fetchone()[0]
        cursor.execute("SELECT setval(%s, nextval(%s) + %s)", [sequence, sequence, FURTHER])


def _in_sqlite(table: str, column: str) -> None:
    """A table that never had a row has no line there yet."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [FURTHER, table])
        if not cursor.rowcount:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, FURTHER])
