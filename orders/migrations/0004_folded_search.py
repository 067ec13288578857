from django.db import migrations

from orders.folding import fold

BATCH = 500


def fold_what_is_there(apps, schema_editor):
    """Write the search texts anew without accents, the name on a line of its own; a batch is a transaction of its own.

    What is erased has no name any more and stays as it is.
    """
    orders = apps.get_model("orders", "Order").objects.using(schema_editor.connection.alias)
    last = 0
    while True:
        rows = list(orders.filter(pk__gt=last, erased_at=None).order_by("pk").only("search", "receiver_name")[:BATCH])
        if not rows:
            return
        for row in rows:
            name, text = fold(row.receiver_name), fold(row.search)
            # Only if nobody wrote it since: an erasing above all is not undone.
            new = text.replace(f"{name} ", f"{name}\n ", 1) if text.startswith(f"{name} ") else text
            orders.filter(pk=row.pk, search=row.search, erased_at=None).update(search=new)
        last = rows[-1].pk


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0003_indexes_of_personal_data'),
    ]

    operations = [
        migrations.RunPython(fold_what_is_there, migrations.RunPython.noop, elidable=True),
    ]
