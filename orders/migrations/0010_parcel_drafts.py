"""A draft knows where it came from, its newest prices and its order. The running version goes on without these."""

from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL

SOURCES = [
    ("typed", "Typed"),
    ("copied", "Copied"),
    ("corrected", "Corrected"),
    ("price_check", "Price Check"),
]


class Migration(migrations.Migration):
    dependencies = [("orders", "0009_first_refusals")]

    operations = [
        migrations.AddField(
            model_name="draft", name="is_saved", field=models.BooleanField(db_default=True, default=True)
        ),
        migrations.AddField(
            model_name="draft",
            name="source",
            field=models.CharField(choices=SOURCES, db_default="typed", default="typed", max_length=12),
        ),
        migrations.AddField(
            model_name="draft",
            name="origin",
            field=models.ForeignKey(db_index=False, null=True, on_delete=CASCADE, related_name="+", to="orders.order"),
        ),
        migrations.AddField(
            model_name="draft",
            name="quote",
            field=models.ForeignKey(db_index=False, null=True, on_delete=SET_NULL, related_name="+", to="orders.quote"),
        ),
        migrations.AddField(
            model_name="draft",
            name="order",
            field=models.ForeignKey(db_index=False, null=True, on_delete=CASCADE, related_name="+", to="orders.order"),
        ),
    ]
