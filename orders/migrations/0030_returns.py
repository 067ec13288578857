"""A parcel may send another one back, and its label may be shared by a link."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0029_no_index_of_search_on_orders"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "order",
            "returns",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sent_back",
                to="orders.order",
            ),
        ),
        migrations.AlterField(
            "draft",
            "source",
            models.CharField(
                choices=[
                    ("typed", "Typed"),
                    ("copied", "Copied"),
                    ("corrected", "Corrected"),
                    ("price_check", "Price Check"),
                    ("returned", "Returned"),
                ],
                db_default="typed",
                default="typed",
                max_length=12,
            ),
        ),
        migrations.CreateModel(
            "ReturnLink",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("made_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("taken_at", models.DateTimeField(blank=True, null=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "order",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="return_link",
                        to="orders.order",
                    ),
                ),
            ],
        ),
    ]
