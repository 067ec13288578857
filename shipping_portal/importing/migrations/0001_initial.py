import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('orders', '0001_initial'),
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
                ('filled', models.JSONField(blank=True, default=list)),
                ('fingerprint', models.CharField(max_length=64)),
                ('columns', models.JSONField(blank=True, default=dict)),
                ('constants', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('matching', 'Columns to match'), ('checking', 'Being checked'), ('booking', 'Booked')], default='matching', max_length=10)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('hold', models.CharField(blank=True, max_length=300)),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('looked_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('begun_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('restore', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='imports', to='orders.restore')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='ImportRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('number', models.PositiveIntegerField()),
                ('cells', models.JSONField()),
                ('corrected', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('new', 'To be checked'), ('ready', 'Ready'), ('warning', 'Ready, worth a second look'), ('fix', 'To be fixed'), ('skipped', 'Left out'), ('joined', "Part of another row's parcel"), ('owed', 'Waiting to be booked'), ('booked', 'Handed over for booking'), ('failed', 'Not booked')], default='new', max_length=8)),
                ('problems', models.JSONField(blank=True, default=dict)),
                ('near', models.JSONField(blank=True, default=list)),
                ('reference', models.CharField(blank=True, max_length=255)),
                ('token', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('product_code', models.CharField(blank=True, max_length=100)),
                ('pickup_date', models.DateField(blank=True, null=True)),
                ('booked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('file', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='importing.import')),
                ('joined_into', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='importing.importrow')),
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
            model_name='import',
            index=models.Index(condition=models.Q(('finished_at', None), ('state', 'booking')), fields=['begun_at'], name='imports_under_way'),
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
