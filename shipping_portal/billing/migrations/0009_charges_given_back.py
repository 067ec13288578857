from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("billing", "0008_no_charges_of_a_week")]

    operations = [
        AddIndexConcurrently(
            "charge",
            models.Index(
                fields=["sender", "order"],
                name="charges_given_back",
                condition=Q(posted_at__isnull=False, kind__in=("delay-refund", "loss-refund", "other-refund")),
            ),
        ),
    ]
