"""A flag of rows with a job, so that an index can find them without `due_at`."""

from django.db import migrations, models

from shipping_portal.jobs.job_flag import AddJobFlag

FLAG = models.GeneratedField(
    db_persist=True,
    expression=models.ExpressionWrapper(
        models.Q(due_at__isnull=False), output_field=models.BooleanField()
    ),
    output_field=models.BooleanField(),
)


class Migration(migrations.Migration):
    dependencies = [("orders", "0019_index_of_questions")]

    operations = [
        AddJobFlag("order", "has_job", FLAG.clone()),
        AddJobFlag("label", "has_job", FLAG.clone()),
    ]
