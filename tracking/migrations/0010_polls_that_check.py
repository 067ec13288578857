"""Polls that webhooks may put off, and what a reply is known again by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0009_receiver_pages")]

    operations = [
        migrations.AddField(
            "poll", "is_optional", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddField(
            "poll",
            "reply_sha256",
            models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
    ]
