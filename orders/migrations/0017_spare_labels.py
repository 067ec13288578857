"""Which labels are of a size that nobody prints."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0016_webhook_proven_at")]

    operations = [
        migrations.AddField(
            "label", "is_spare", models.BooleanField(db_default=False, default=False)
        ),
    ]
