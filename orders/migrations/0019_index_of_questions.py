from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0018_questions")]

    operations = [
        AddIndexConcurrently(
            "quote", models.Index(fields=["question_hash"], name="quotes_by_question")
        )
    ]
