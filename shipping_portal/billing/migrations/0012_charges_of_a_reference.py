from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Upper

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("billing", "0011_lines_on_hold")]

    operations = [
        AddIndexConcurrently("charge", models.Index(Upper("reference"), "account", name="charges_of_a_reference")),
        AddIndexConcurrently(
            "charge",
            models.Index(fields=["report"], name="charges_on_hold", condition=~Q(held="") & Q(decision="")),
        ),
    ]
