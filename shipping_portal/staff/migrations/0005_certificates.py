from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("staff", "0004_words")]

    operations = [
        migrations.CreateModel(
            name="Certificate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("server", models.CharField(max_length=300, unique=True)),
                ("ends_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
        )
    ]
