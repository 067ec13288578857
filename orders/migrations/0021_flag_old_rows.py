from django.db import migrations

from shipping_portal.jobs.job_flag import FlagOldRows


class Migration(migrations.Migration):
    dependencies = [("orders", "0020_job_flag")]

    operations = [FlagOldRows("order"), FlagOldRows("label")]
