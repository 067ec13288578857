"""Copy the beginning of search texts that grew before migration 0027 copied them.

The trigger had stored what was added, and 0027 leaves out orders that have a piece.
"""

from typing import Any

from django.db import migrations, transaction

BATCH = 500
MISSING = """
SELECT order_id FROM orders_ordersearch WHERE order_id > %s
GROUP BY order_id HAVING min(start) > 0 ORDER BY order_id LIMIT %s
"""
# Locked, so that a text isn't copied while it changes. Anything that locks several goes by key, too.
COPY = """
INSERT INTO orders_ordersearch (order_id, start, sender_id, text)
SELECT id, 0, sender_id, left(search, (
    SELECT min(start) FROM orders_ordersearch WHERE order_id = old.id
)) FROM (
    SELECT id, sender_id, search FROM orders_order
    WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
) old
ON CONFLICT DO NOTHING
"""


def copy_beginnings(_apps: Any, schema_editor: Any) -> None:
    database = schema_editor.connection
    if database.vendor != "postgresql":  # on SQLite each text is one piece
        return
    last = 0
    while block := _orders_without_beginning(database, last):
        with transaction.atomic(), database.cursor() as cursor:
            cursor.execute(COPY, [block])
        last = block[-1]


def _orders_without_beginning(database: Any, last: int) -> list[int]:
    """Return the next orders after this key whose first piece is missing."""
    with database.cursor() as cursor:
        cursor.execute(MISSING, [last, BATCH])
        return [key for (key,) in cursor.fetchall()]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0040_room_beside_attempts")]

    operations = [migrations.RunPython(copy_beginnings, migrations.RunPython.noop)]
