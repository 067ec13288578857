from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0024_label_files")]

    operations = [
        AddIndexConcurrently(
            "labelbytes",
            models.Index(
                condition=~models.Q(address=""), fields=["address"], name="label_files_named"
            ),
        )
    ]
