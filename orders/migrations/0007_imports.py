import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_workbench'),
        ('orders', '0006_workbench'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('created_at', models.DateTimeField()),
                ('file_name', models.CharField(max_length=120)),
                ('sha256', models.CharField(max_length=64)),
                ('encoding', models.CharField(max_length=20)),
                ('delimiter', models.CharField(max_length=1)),
                ('header', models.JSONField()),
                ('fingerprint', models.CharField(max_length=64)),
                ('columns', models.JSONField(blank=True, default=dict)),
                ('constants', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('matching', 'Columns to match'), ('checking', 'Being checked'), ('booking', 'Booked')], default='matching', max_length=10)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('service_rule', models.CharField(blank=True, choices=[('cheapest', 'Cheapest'), ('cheapest_pickup', 'Cheapest with pickup'), ('fastest', 'Fastest'), ('last', 'Same as last time')], max_length=15)),
                ('pickup_date', models.DateField(blank=True, null=True)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='ImportRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('cells', models.JSONField()),
                ('corrected', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('new', 'To be checked'), ('ready', 'Ready'), ('warning', 'Ready, worth a second look'), ('fix', 'To be fixed'), ('skipped', 'Left out'), ('owed', 'Waiting to be booked'), ('booked', 'Handed over for booking'), ('failed', 'Not booked')], default='new', max_length=8)),
                ('problems', models.JSONField(blank=True, default=dict)),
                ('near', models.JSONField(blank=True, default=list)),
                ('token', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('file', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='orders.import')),
                ('order', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='import_row', to='orders.order')),
                ('quote', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='import_rows', to='orders.quote')),
            ],
            options={
                'ordering': ['number'],
            },
        ),
        migrations.CreateModel(
            name='ColumnMapping',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=64)),
                ('columns', models.JSONField()),
                ('constants', models.JSONField()),
                ('used_at', models.DateTimeField()),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='column_mappings', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('sender', 'fingerprint'), name='one_mapping_per_header')],
            },
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(fields=['sender', '-created_at'], name='imports_newest_first'),
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(fields=['sender', 'sha256'], name='imports_by_file'),
        ),
        migrations.AddIndex(
            model_name='importrow',
            index=models.Index(fields=['file', 'state', 'number'], name='import_rows_by_state'),
        ),
        migrations.AddIndex(
            model_name='importrow',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['state', 'due_at'], name='import_rows_owed'),
        ),
        migrations.AddConstraint(
            model_name='importrow',
            constraint=models.UniqueConstraint(fields=('file', 'number'), name='one_row_of_a_number_per_file'),
        ),
    ]
