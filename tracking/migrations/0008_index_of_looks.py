from django.db import migrations, models
from django.db.models.functions import Upper

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tracking", "0007_webhooks_that_mean_look")]

    operations = [
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(Upper("reference"), name="looks_by_reference", condition=models.Q(state="look")),
        )
    ]
