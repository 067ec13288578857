from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0003_on_the_way")]

    operations = [
        migrations.AddField(
            model_name="webhookdelivery",
            name="carrier_event_id",
            field=models.UUIDField(blank=True, null=True, verbose_name="event ID"),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="reference",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="scan_time",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
