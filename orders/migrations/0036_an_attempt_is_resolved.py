"""Name a state by the word that pages use."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0035_index_of_consignments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="bookingattempt",
            name="state",
            field=models.CharField(
                choices=[
                    ("in_flight", "Sent, no answer yet"),
                    ("accepted", "Booked"),
                    ("rejected", "Refused"),
                    ("not_sent", "Never sent"),
                    ("unknown", "Outcome unknown"),
                    ("not_created", "Resolved as not booked"),
                ],
                max_length=12,
            ),
        ),
    ]
