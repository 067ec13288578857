from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0006_scans_dated_ahead")]

    operations = [
        migrations.AddField("poll", "look_due_at", models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            "webhookdelivery",
            "state",
            models.CharField(
                choices=[
                    ("new", "Not processed"),
                    ("stored", "Scan stored"),
                    ("duplicate", "Duplicate scan"),
                    ("differs", "Same ID, different content"),
                    ("quarantined", "Couldn't be read"),
                    ("look", "Parcel polled"),
                ],
                default="new",
                max_length=11,
            ),
        ),
    ]
