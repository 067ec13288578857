"""Copy the search texts of the orders that were there before the triggers, while others write."""

from django.db import migrations, transaction

BATCH = 500
# Locked, so that a text isn't copied while it changes. Whoever locks several goes by key, too.
COPY = """
INSERT INTO orders_ordersearch (order_id, start, sender_id, text)
SELECT id, 0, sender_id, search FROM (
    SELECT id, sender_id, search FROM orders_order
    WHERE id > %s AND id <= %s AND search <> '' ORDER BY id{lock}
) old
WHERE NOT EXISTS (SELECT 1 FROM orders_ordersearch WHERE order_id = old.id)
ON CONFLICT DO NOTHING
"""


def copy_what_is_there(apps, schema_editor):
    database = schema_editor.connection
    keys = apps.get_model("orders", "Order").objects.order_by("pk").values_list("pk", flat=True)
    copy = COPY.format(lock=" FOR NO KEY UPDATE" if database.vendor == "postgresql" else "")
    last = 0
    while block := list(keys.filter(pk__gt=last)[:BATCH]):
        with transaction.atomic(), database.cursor() as cursor:
            cursor.execute(copy, [last, block[-1]])
        last = block[-1]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0026_search_pieces")]

    operations = [migrations.RunPython(copy_what_is_there, migrations.RunPython.noop)]
