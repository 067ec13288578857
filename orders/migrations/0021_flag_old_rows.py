from django.db import migrations

from shipping_portal.jobs.owed_flag import FlagOldRows


class Migration(migrations.Migration):
    dependencies = [("orders", "0020_owed_flag")]

    operations = [FlagOldRows("order"), FlagOldRows("label")]
