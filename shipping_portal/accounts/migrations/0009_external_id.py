from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_default_carrier'),
    ]

    operations = [
        migrations.AddField(
            model_name='sender',
            name='external_id',
            field=models.CharField(blank=True, default='', max_length=120, verbose_name='external id'),
        ),
    ]
