"""Parcels that are booked by one press belong together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0033_print_stations")]

    operations = [
        migrations.AddField("order", "consignment", models.UUIDField(blank=True, null=True)),
        migrations.AddField(
            "order", "parcel_number", models.PositiveSmallIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "order", "parcel_count", models.PositiveSmallIntegerField(blank=True, null=True)
        ),
    ]
