"""Where a label's file is in the bucket, and which files the bucket has."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0023_fewer_indexes")]

    operations = [
        migrations.AddField(
            "labelbytes",
            "address",
            models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.CreateModel(
            name="BucketFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("parked_at", models.DateTimeField(blank=True, null=True)),
                ("key", models.CharField(max_length=200, unique=True)),
                ("is_ending", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(due_at__isnull=False),
                        fields=["due_at"],
                        name="bucket_files_due",
                    )
                ]
            },
        ),
    ]
