import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_workbench'),
        ('orders', '0009_speed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveField(
            model_name='import',
            name='pickup_date',
        ),
        migrations.RemoveField(
            model_name='import',
            name='service_rule',
        ),
        migrations.AddField(
            model_name='import',
            name='begun_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='begun_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='import',
            name='finished_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='hold',
            field=models.CharField(blank=True, max_length=300),
        ),
        migrations.AddField(
            model_name='import',
            name='looked_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='importrow',
            name='booked_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='importrow',
            name='pickup_date',
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='importrow',
            name='product_code',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name='importrow',
            name='reference',
            field=models.CharField(blank=True, max_length=255),
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(condition=models.Q(('finished_at', None), ('state', 'booking')), fields=['begun_at'], name='imports_under_way'),
        ),
    ]
