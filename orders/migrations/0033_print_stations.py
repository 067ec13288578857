"""Print stations, and what each is asked to print."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_list_columns'),
        ('orders', '0032_no_orders_open_by_sender'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PrintStation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=40)),
                ('installation', models.UUIDField(blank=True, null=True)),
                ('printer', models.CharField(blank=True, max_length=100)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='print_stations', to='accounts.sender')),
                ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='print_station', to='accounts.apitoken')),
            ],
        ),
        migrations.CreateModel(
            name='PrintJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('size', models.CharField(max_length=7)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('taken', 'Printing'), ('printed', 'Printed'), ('failed', 'Not printed'), ('withdrawn', 'Withdrawn')], default='waiting', max_length=9)),
                ('is_again', models.BooleanField(default=False)),
                ('asked_at', models.DateTimeField()),
                ('taken_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='print_jobs', to='orders.order')),
                ('station', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='orders.printstation')),
            ],
            options={
                'indexes': [models.Index(fields=['station', 'state'], name='print_jobs_of_a_station'), models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='print_jobs_ended')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'taken'])), fields=('order',), name='one_open_print_job_of_an_order')],
            },
        ),
    ]
