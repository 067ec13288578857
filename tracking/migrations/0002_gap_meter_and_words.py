from django.db import migrations, models
from django.db.models import Count

POLLED_FOR = "polled for "


def note_what_is_stored(apps, schema_editor):
    """Spellings and counts of the words met so far, and which unreadable rows a poll brought."""
    words = {row.word: row for row in apps.get_model("tracking", "EventWord").objects.all()}
    events = apps.get_model("tracking", "TrackingEvent").objects.order_by()
    for kind, scans in events.values_list("event_type").annotate(Count("pk")):
        row = words.get(" ".join(kind.split()).casefold()[:100])
        if row:
            row.spellings.append(kind)
            row.scans += scans
    for row in words.values():
        row.save(update_fields=["spellings", "scans"])
    deliveries = apps.get_model("tracking", "WebhookDelivery").objects
    for delivery in deliveries.filter(reason__startswith=POLLED_FOR).defer("body"):
        reference = delivery.reason.removeprefix(POLLED_FOR).split()[0].rstrip(":,")
        deliveries.filter(pk=delivery.pk).update(polled_for=reference[:40])


class Migration(migrations.Migration):
    dependencies = [
        ("tracking", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="LastTime",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=40, unique=True)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="eventword",
            name="scans",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="eventword",
            name="spellings",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="polled_for",
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AddIndex(
            model_name="trackingevent",
            index=models.Index(fields=["event_type"], name="tracking_tr_event_t_f7f135_idx"),
        ),
        migrations.AddIndex(
            model_name="trackingevent",
            index=models.Index(
                condition=models.Q(("source", "poll")),
                fields=["received_at"],
                name="scans_polling_found_first",
            ),
        ),
        migrations.RunPython(note_what_is_stored, migrations.RunPython.noop),
    ]
