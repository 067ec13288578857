"""A table of the orders' search texts, and triggers that fill it whichever release writes an order.

On SQLite a migration that rebuilds the table of orders loses its triggers, and must add them again.
"""

import django.db.models.deletion
from django.db import migrations, models

ON_POSTGRESQL = """
CREATE FUNCTION orders_order_search() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    known integer := 0;
BEGIN
    IF TG_OP = 'UPDATE' AND starts_with(NEW.search, OLD.search) THEN
        known := length(OLD.search);
    ELSIF TG_OP <> 'INSERT' THEN
        DELETE FROM orders_ordersearch WHERE order_id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' AND length(NEW.search) > known THEN
        INSERT INTO orders_ordersearch (order_id, start, sender_id, text)
        VALUES (NEW.id, known, NEW.sender_id, substr(NEW.search, known + 1));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER order_search_comes_and_goes AFTER INSERT OR DELETE ON orders_order
FOR EACH ROW EXECUTE FUNCTION orders_order_search();
CREATE TRIGGER order_search_changes AFTER UPDATE OF search ON orders_order
FOR EACH ROW WHEN (OLD.search <> NEW.search) EXECUTE FUNCTION orders_order_search();
"""
# Without trigrams, pieces would save nothing.
INSERT = """
INSERT INTO orders_ordersearch (order_id, start, sender_id, text)
SELECT NEW.id, 0, NEW.sender_id, NEW.search WHERE NEW.search <> '';
"""
DELETE = "DELETE FROM orders_ordersearch WHERE order_id = OLD.id;"
ON_SQLITE = {
    "order_search_comes": f"AFTER INSERT ON orders_order BEGIN {INSERT} END",
    "order_search_changes": (
        "AFTER UPDATE OF search ON orders_order WHEN OLD.search <> NEW.search"
        f" BEGIN {DELETE} {INSERT} END"
    ),
    "order_search_goes": f"AFTER DELETE ON orders_order BEGIN {DELETE} END",
}
UNDO = """
DROP TRIGGER order_search_comes_and_goes ON orders_order;
DROP TRIGGER order_search_changes ON orders_order;
DROP FUNCTION orders_order_search();
"""


def add_triggers(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(ON_POSTGRESQL)
        return
    for name, what in ON_SQLITE.items():
        schema_editor.execute(f"CREATE TRIGGER {name} {what}", params=None)


def drop_triggers(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(UNDO)
        return
    for name in ON_SQLITE:
        schema_editor.execute(f"DROP TRIGGER {name}")


class Migration(migrations.Migration):
    dependencies = [("orders", "0025_index_of_label_files")]

    operations = [
        migrations.CreateModel(
            name="OrderSearch",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "order_id",
                        "start",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("start", models.PositiveIntegerField()),
                ("text", models.TextField()),
                (
                    "order",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="orders.order",
                    ),
                ),
                (
                    "sender",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.sender",
                    ),
                ),
            ],
        ),
        migrations.RunPython(add_triggers, drop_triggers),
    ]
