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
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('what', models.CharField(choices=[('proof', 'Proof pack'), ('account', 'Everything of the account')], max_length=8)),
                ('created_at', models.DateTimeField()),
                ('done', models.PositiveIntegerField(default=0)),
                ('total', models.PositiveIntegerField(default=0)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('length', models.PositiveBigIntegerField(default=0)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='exports', to='orders.order')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='ExportPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('content', models.BinaryField()),
                ('export', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='exporting.export')),
            ],
            options={
                'ordering': ['number'],
            },
        ),
        migrations.AddIndex(
            model_name='export',
            index=models.Index(fields=['sender', '-created_at'], name='exports_newest_first'),
        ),
        migrations.AddIndex(
            model_name='export',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='exports_owed'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('order', None), ('what', 'account')), models.Q(('order__isnull', False), ('what', 'proof')), _connector='OR'), name='a_proof_pack_is_of_an_order'),
        ),
        migrations.AddConstraint(
            model_name='exportpart',
            constraint=models.UniqueConstraint(fields=('export', 'number'), name='a_part_of_an_export_once'),
        ),
    ]
