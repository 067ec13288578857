
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0007_words'),
    ]

    operations = [
        migrations.CreateModel(
            name='Counting',
            fields=[
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('sender', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='accounts.sender')),
                ('zone', models.CharField(blank=True, max_length=64)),
                ('counted_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('all_counted_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='countings_owed'), models.Index(fields=['all_counted_at'], name='countings_by_age')],
            },
        ),
        migrations.CreateModel(
            name='DayFigures',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('figures', models.JSONField()),
                ('late', models.JSONField()),
                ('sender', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='day_figures', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('sender', 'day'), name='a_day_is_counted_once')],
            },
        ),
    ]
