"""Store when a sender dismissed a parcel that needed them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0041_missing_search_pieces")]

    operations = [
        migrations.AddField(
            "order", "dismissed_at", models.DateTimeField(null=True, blank=True)
        )
    ]
