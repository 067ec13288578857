from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("billing", "0010_tally")]

    operations = [
        migrations.AddField(
            "charge",
            "held",
            models.CharField(
                "on hold",
                max_length=8,
                choices=[("twice", "Billed twice?"), ("refund", "Refunded more than charged?")],
                blank=True,
                default="",
                db_default="",
            ),
        ),
        migrations.AddField(
            "charge",
            "decision",
            models.CharField(
                max_length=5,
                choices=[("post", "Counts"), ("leave", "Left out")],
                blank=True,
                default="",
                db_default="",
            ),
        ),
    ]
