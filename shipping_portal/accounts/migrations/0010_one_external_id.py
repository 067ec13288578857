from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_external_id'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='sender',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('external_id',), name='one_sender_of_an_external_id'),
        ),
    ]
