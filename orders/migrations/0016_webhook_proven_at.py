"""Since when an account's webhooks have proven to bring its scans."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0015_worthless_labels")]

    operations = [
        migrations.AddField(
            "carrieraccount", "webhook_proven_at", models.DateTimeField(blank=True, null=True)
        ),
    ]
