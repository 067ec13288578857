"""Which labels were made with a test key."""

from typing import Any

from django.db import migrations, models


def mark_known(apps: Any, editor: Any) -> None:
    """Mark those that version 0.8.0 noted on their order alone."""
    noted = apps.get_model("orders", "Order").objects.filter(problem__kind="test_label")
    labels = apps.get_model("orders", "Label").objects
    labels.filter(order__in=noted.values("pk")).update(is_worthless=True)


class Migration(migrations.Migration):
    dependencies = [("orders", "0014_two_carriers")]

    operations = [
        migrations.AddField(
            model_name="label",
            name="is_worthless",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(mark_known, migrations.RunPython.noop),
    ]
