from django.db import migrations, models
from django.db.models.functions import Upper

from shipping_portal.concurrent_indexes import AddIndexConcurrently

SET_ASIDE = models.Q(state__in=["differs", "quarantined"])


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tracking", "0004_what_a_webhook_names")]

    operations = [
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(Upper("reference"), name="set_aside_by_reference", condition=SET_ASIDE),
        ),
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(fields=["carrier_event_id"], name="set_aside_by_event", condition=SET_ASIDE),
        ),
    ]
