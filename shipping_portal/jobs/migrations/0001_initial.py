from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='DeadLetter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.CharField(max_length=20)),
                ('row', models.PositiveBigIntegerField()),
                ('failures', models.PositiveSmallIntegerField()),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('job', 'row'), name='one_dead_letter_a_row')],
            },
        ),
    ]
