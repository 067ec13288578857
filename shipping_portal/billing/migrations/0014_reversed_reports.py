from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("billing", "0013_decimal_sign")]

    operations = [
        migrations.AlterField(
            "billingreport",
            "state",
            models.CharField(
                max_length=8,
                default="reading",
                choices=[
                    ("reading", "Processing"),
                    ("checked", "Checked, not posted"),
                    ("damaged", "Damaged"),
                    ("posted", "Posted"),
                    ("void", "Void"),
                    ("reversed", "Reversed"),
                ],
            ),
        ),
        migrations.AddConstraint(
            "billingreport",
            models.UniqueConstraint(
                fields=["account", "sha256"],
                condition=~Q(state__in=("void", "reversed")),
                name="a_report_stands_once_per_account",
            ),
        ),
        migrations.RemoveConstraint("billingreport", "a_report_once_per_account"),
    ]
