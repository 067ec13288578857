"""Name a state by the word that pages use."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("staff", "0005_certificates"),
    ]

    operations = [
        migrations.AlterField(
            model_name="sendermail",
            name="about",
            field=models.CharField(
                choices=[
                    ("missed", "The driver didn't come"),
                    ("refund", "We asked for a refund"),
                    ("used", "The label was used after cancelling"),
                    ("details", "We need details"),
                    ("settled", "The booking is resolved"),
                    ("other", "Something else"),
                ],
                max_length=8,
            ),
        ),
    ]
