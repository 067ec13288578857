"""The carrier that a sender prefers where two take new orders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_words")]

    operations = [
        migrations.AddField(
            model_name="sender",
            name="default_carrier",
            field=models.CharField(blank=True, db_default="", default="", max_length=60),
        ),
    ]
