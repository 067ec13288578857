"""Drop the index of who changed an order: nothing is searched by it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from shipping_portal.concurrent_indexes import RemoveIndexOfKey


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0038_one_index_of_returns_and_consignments")]

    operations = [
        RemoveIndexOfKey(
            "orderchange",
            "by",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
