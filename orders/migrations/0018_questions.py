"""What the carrier was asked for prices."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0017_spare_labels")]

    operations = [
        migrations.AddField(
            "quote",
            "question_hash",
            models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
    ]
