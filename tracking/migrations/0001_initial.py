import django.db.models.deletion
import django.db.models.functions.text
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('orders', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=100, unique=True, verbose_name="carrier's word")),
                ('progress', models.CharField(blank=True, choices=[('', 'No scan yet'), ('collected', 'Picked up'), ('dropped_off', 'Dropped off'), ('pickup_missed', 'Missed pickup'), ('pickup_futile', 'Futile pickup'), ('in_transit', 'On its way'), ('out_for_delivery', 'Out for delivery'), ('delivery_attempted', 'Delivery attempted'), ('held', 'Held for collection'), ('delivered', 'Delivered'), ('cannot_deliver', "Can't be delivered"), ('damaged', 'Damaged'), ('lost', 'Lost'), ('returning', 'Coming back'), ('expired', 'Label expired')], max_length=20, verbose_name='means')),
                ('is_known', models.BooleanField(default=False)),
                ('first_seen_at', models.DateTimeField()),
                ('spellings', models.JSONField(default=list)),
                ('scans', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='LastTime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, unique=True)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Parcel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('reference', models.CharField(max_length=100)),
                ('progress', models.CharField(blank=True, choices=[('', 'No scan yet'), ('collected', 'Picked up'), ('dropped_off', 'Dropped off'), ('pickup_missed', 'Missed pickup'), ('pickup_futile', 'Futile pickup'), ('in_transit', 'On its way'), ('out_for_delivery', 'Out for delivery'), ('delivery_attempted', 'Delivery attempted'), ('held', 'Held for collection'), ('delivered', 'Delivered'), ('cannot_deliver', "Can't be delivered"), ('damaged', 'Damaged'), ('lost', 'Lost'), ('returning', 'Coming back'), ('expired', 'Label expired')], default='', max_length=20)),
                ('progress_at', models.DateTimeField(blank=True, null=True)),
                ('last_scan_at', models.DateTimeField(blank=True, null=True)),
                ('subscription', models.CharField(blank=True, choices=[('', 'Not needed'), ('wanted', 'Asking the carrier'), ('on', 'Following'), ('refused', 'The carrier said no')], default='', max_length=8)),
                ('subscription_text', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField()),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='parcels', to='orders.carrieraccount')),
                ('order', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='parcel', to='orders.order')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='folds_owed')],
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Upper('reference'), models.F('account'), name='a_parcel_once_per_account')],
            },
        ),
        migrations.CreateModel(
            name='Poll',
            fields=[
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('parcel', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='poll', serialize=False, to='tracking.parcel')),
                ('polled_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='polls_owed')],
            },
        ),
        migrations.CreateModel(
            name='WebhookTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('reason', models.CharField(max_length=40)),
                ('count', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name_plural': 'refused webhooks',
                'constraints': [models.UniqueConstraint(fields=('day', 'reason'), name='one_tally_a_day_and_reason')],
            },
        ),
        migrations.CreateModel(
            name='TrackingEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.UUIDField(blank=True, null=True)),
                ('fingerprint', models.CharField(max_length=64)),
                ('event_type', models.CharField(max_length=100)),
                ('scan_time', models.DateTimeField()),
                ('description', models.CharField(max_length=1000)),
                ('suburb', models.CharField(blank=True, max_length=120)),
                ('state', models.CharField(blank=True, max_length=120)),
                ('postcode', models.CharField(blank=True, max_length=40)),
                ('country', models.CharField(blank=True, max_length=120)),
                ('raw', models.BinaryField()),
                ('source', models.CharField(choices=[('push', 'Webhook'), ('poll', 'Polled')], max_length=4)),
                ('received_at', models.DateTimeField(db_index=True)),
                ('pushed_at', models.DateTimeField(blank=True, null=True)),
                ('polled_at', models.DateTimeField(blank=True, null=True)),
                ('set_aside', models.CharField(blank=True, max_length=100)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.carrieraccount')),
                ('parcel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='events', to='tracking.parcel')),
            ],
            options={
                'indexes': [models.Index(fields=['parcel', 'scan_time'], name='tracking_tr_parcel__873cae_idx'), models.Index(fields=['event_type'], name='tracking_tr_event_t_f7f135_idx'), models.Index(condition=models.Q(('source', 'poll')), fields=['received_at'], name='scans_polling_found_first')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('event_id__isnull', False)), fields=('event_id', 'account'), name='an_event_id_once_per_account'), models.UniqueConstraint(condition=models.Q(('event_id__isnull', True)), fields=('parcel', 'fingerprint'), name='a_polled_scan_once')],
            },
        ),
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(blank=True, max_length=80, verbose_name='your own name for it')),
                ('made_at', models.DateTimeField()),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('parcel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='watches', to='tracking.parcel')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watches', to='accounts.sender')),
            ],
            options={
                'verbose_name_plural': 'watches',
                'constraints': [models.UniqueConstraint(fields=('sender', 'parcel'), name='watched_once_a_sender')],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('received_at', models.DateTimeField(db_index=True)),
                ('body', models.BinaryField()),
                ('sha256', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('new', 'Not read yet'), ('stored', 'Scan stored'), ('duplicate', 'Scan known already'), ('differs', 'Same id, other content'), ('quarantined', "Couldn't be read")], default='new', max_length=11)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('polled_for', models.CharField(blank=True, max_length=100)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='orders.carrieraccount')),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='deliveries', to='tracking.trackingevent')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'indexes': [models.Index(fields=['state', '-id'], name='tracking_we_state_f1612a_idx'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='deliveries_owed')],
            },
        ),
    ]
