"""Drop the indexes of receivers' senders: others begin with the same column."""

import django.db.models.deletion
from django.db import migrations, models

from shipping_portal.concurrent_indexes import RemoveIndexOfKey

CASCADE = django.db.models.deletion.CASCADE


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0014_list_columns")]

    operations = [
        RemoveIndexOfKey(
            "receiver",
            "sender",
            models.ForeignKey(
                db_index=False, on_delete=CASCADE, related_name="receivers", to="accounts.sender"
            ),
        ),
        RemoveIndexOfKey(
            "receiverkey",
            "sender",
            models.ForeignKey(
                db_index=False, on_delete=CASCADE, related_name="+", to="accounts.sender"
            ),
        ),
    ]
