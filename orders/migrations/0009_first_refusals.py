"""When a row of refusals began: queues count from that, and each further refusal wrote over the only time there was."""

from typing import Any

from django.db import migrations, models
from django.db.models import F


def fill(apps: Any, schema_editor: Any) -> None:
    apps.get_model("orders", "CarrierAccount").objects.update(fault_since=F("fault_at"))


class Migration(migrations.Migration):
    dependencies = [("orders", "0008_no_orders_open")]

    operations = [
        migrations.AddField(
            model_name="carrieraccount",
            name="fault_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="dailyspend",
            name="refused_price",
            field=models.DecimalField(blank=True, decimal_places=2, max_digits=16, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
