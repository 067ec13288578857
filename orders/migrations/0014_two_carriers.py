"""Which carriers gave no prices in a quote of two."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0013_check_old_orders")]

    operations = [
        migrations.AddField(
            model_name="quote",
            name="missing",
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
    ]
