"""Drop the index of the orders' own search text, which each change of a status wrote anew."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS orders_by_part_of_a_word"
BUILD = """
CREATE INDEX CONCURRENTLY orders_by_part_of_a_word ON orders_order USING gin (search gin_trgm_ops)
"""


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET lock_timeout = 0")
        schema_editor.execute(DROP)
        schema_editor.execute("SET lock_timeout = '5s'")


def build_index(apps, schema_editor):
    """Build it where it can be: an interrupted build left an unused one."""
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        has_trigrams = cursor.fetchone()
    drop_index(apps, schema_editor)
    if has_trigrams:
        schema_editor.execute("SET lock_timeout = 0")
        schema_editor.execute(BUILD)
        schema_editor.execute("SET lock_timeout = '5s'")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0028_index_of_search_pieces")]

    operations = [migrations.RunPython(drop_index, build_index)]
