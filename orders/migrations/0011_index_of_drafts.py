from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0010_parcel_drafts")]

    operations = [AddIndexConcurrently("draft", models.Index(fields=["quote"], name="drafts_by_quote"))]
