
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0009_charges_given_back'),
    ]

    operations = [
        migrations.AddField(
            model_name='billingreport',
            name='tally',
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
    ]
