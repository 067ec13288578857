"""Which labels were made with a test key."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0014_two_carriers")]

    operations = [
        migrations.AddField(
            model_name="label",
            name="is_worthless",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
