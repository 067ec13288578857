import datetime
import decimal
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import shipping_portal.request_ids
import uuid
from django.conf import settings
from django.db import migrations, models


def index_the_search_text(apps, schema_editor):
    """Index parts of words by their trigrams; a PostgreSQL without that extension reads every row instead."""
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if cursor.fetchone() is None:
            return
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        cursor.execute("CREATE INDEX orders_by_part_of_a_word ON orders_order USING gin (search gin_trgm_ops)")


def mark_this_database(apps, schema_editor):
    from orders.restoring import marks

    apps.get_model("orders", "DatabaseMark").objects.create(pk=1, **marks.signs())


def forget_the_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX IF EXISTS orders_by_part_of_a_word")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='DatabaseMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('table_oid', models.BigIntegerField(blank=True, null=True)),
                ('system_identifier', models.CharField(blank=True, max_length=20)),
                ('timeline', models.CharField(blank=True, max_length=8)),
                ('stamp', models.CharField(blank=True, max_length=60)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='one_database_mark')],
            },
        ),
        migrations.CreateModel(
            name='Restore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('backup_at', models.DateTimeField(unique=True)),
                ('restored_at', models.DateTimeField()),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
                ('lifted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='CarrierAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=64, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('stopped_at', models.DateTimeField(blank=True, null=True)),
                ('stopped_reason', models.CharField(blank=True, max_length=300)),
                ('probe_due_at', models.DateTimeField(blank=True, null=True)),
                ('fault_at', models.DateTimeField(blank=True, null=True)),
                ('fault', models.CharField(blank=True, max_length=300)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('resting_until', models.DateTimeField(blank=True, null=True)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('pause_text', models.CharField(blank=True, max_length=300, verbose_name='text shown to senders')),
                ('pause_ends_at', models.DateTimeField(blank=True, null=True)),
                ('quotes_paused_at', models.DateTimeField(blank=True, null=True)),
                ('quotes_pause_text', models.CharField(blank=True, max_length=300, verbose_name='text shown to senders')),
                ('quotes_pause_ends_at', models.DateTimeField(blank=True, null=True)),
                ('replays_off_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Quote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('details', models.JSONField()),
                ('inputs_hash', models.CharField(max_length=64)),
                ('products', models.JSONField()),
                ('unreadable', models.PositiveSmallIntegerField(default=0)),
                ('made_at', models.DateTimeField(db_index=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.carrieraccount')),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quotes', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('slug', models.SlugField(max_length=70)),
                ('query', models.CharField(max_length=500)),
                ('is_shared', models.BooleanField(default=False, verbose_name='the whole team sees it')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='views', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('sender', 'slug'), name='one_view_of_a_name_per_sender')],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('request_id', models.CharField(blank=True, default=shipping_portal.request_ids.current_request, editable=False, max_length=64)),
                ('form_token', models.UUIDField()),
                ('form_hash', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('draft', 'Draft'), ('booking', 'Booking'), ('booked', 'Booked'), ('rejected', 'Not booked: refused'), ('unconfirmed', 'Checking with the carrier'), ('not_booked', 'Not booked'), ('conflict', 'Being sorted out'), ('cancelling', 'Cancelling'), ('cancel_unconfirmed', 'Checking the cancellation'), ('cancelled', 'Cancelled')], default='draft', max_length=20)),
                ('progress', models.CharField(blank=True, choices=[('', 'No scan yet'), ('collected', 'Picked up'), ('dropped_off', 'Dropped off'), ('pickup_missed', 'Missed pickup'), ('pickup_futile', 'Futile pickup'), ('in_transit', 'On its way'), ('out_for_delivery', 'Out for delivery'), ('delivery_attempted', 'Delivery attempted'), ('held', 'Held for collection'), ('delivered', 'Delivered'), ('cannot_deliver', "Can't be delivered"), ('damaged', 'Damaged'), ('lost', 'Lost'), ('returning', 'Coming back'), ('expired', 'Label expired')], default='', max_length=20)),
                ('progress_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField()),
                ('submitted_at', models.DateTimeField(db_index=True)),
                ('booked_at', models.DateTimeField(blank=True, null=True)),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('used_after_cancel_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_refused_at', models.DateTimeField(blank=True, null=True)),
                ('generation', models.PositiveSmallIntegerField(default=1)),
                ('problem', models.JSONField(blank=True, default=dict)),
                ('pickup', models.JSONField()),
                ('receiver_name', models.CharField(max_length=120)),
                ('receiver_company', models.CharField(blank=True, max_length=120)),
                ('receiver_email', models.EmailField(max_length=254)),
                ('receiver_phone', models.CharField(blank=True, max_length=30)),
                ('receiver_line1', models.CharField(max_length=255)),
                ('receiver_line2', models.CharField(blank=True, max_length=255)),
                ('receiver_suburb', models.CharField(max_length=80)),
                ('receiver_state', models.CharField(blank=True, max_length=40)),
                ('receiver_postcode', models.CharField(max_length=12)),
                ('receiver_country', models.CharField(max_length=2)),
                ('receiver_instructions', models.CharField(blank=True, max_length=200)),
                ('description', models.CharField(max_length=255)),
                ('weight_kg', models.DecimalField(decimal_places=4, max_digits=9)),
                ('length_cm', models.DecimalField(decimal_places=3, max_digits=9)),
                ('width_cm', models.DecimalField(decimal_places=3, max_digits=9)),
                ('height_cm', models.DecimalField(decimal_places=3, max_digits=9)),
                ('entered', models.JSONField()),
                ('contents', models.JSONField(blank=True, default=list)),
                ('contents_type', models.CharField(blank=True, max_length=20)),
                ('cover_amount', models.DecimalField(blank=True, decimal_places=2, max_digits=9, null=True)),
                ('customer_reference', models.CharField(blank=True, max_length=255)),
                ('pickup_date', models.DateField(blank=True, null=True)),
                ('search', models.TextField(blank=True)),
                ('note', models.CharField(blank=True, max_length=500, verbose_name='your note')),
                ('printed_at', models.DateTimeField(blank=True, null=True)),
                ('quoted_at', models.DateTimeField()),
                ('product_code', models.CharField(max_length=100)),
                ('product_name', models.CharField(max_length=120)),
                ('first_mile', models.CharField(max_length=10)),
                ('duties_paid', models.BooleanField(default=False)),
                ('price', models.DecimalField(decimal_places=2, max_digits=16)),
                ('currency', models.CharField(max_length=3)),
                ('breakdown', models.JSONField(default=list)),
                ('quoted_pickup_date', models.DateField(blank=True, null=True)),
                ('eta_from', models.DateField(blank=True, null=True)),
                ('eta_to', models.DateField(blank=True, null=True)),
                ('plan', models.CharField(blank=True, max_length=100)),
                ('reserved_on', models.DateField(blank=True, null=True)),
                ('reserved', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('unbilled', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('carrier_order_id', models.CharField(blank=True, max_length=100)),
                ('carrier_reference', models.CharField(blank=True, max_length=100, null=True)),
                ('carrier_pickup_date', models.DateField(blank=True, null=True)),
                ('is_cancellable', models.BooleanField(blank=True, null=True)),
                ('charged_price', models.DecimalField(blank=True, decimal_places=2, max_digits=16, null=True)),
                ('unagreed_price', models.DecimalField(blank=True, decimal_places=2, max_digits=16, null=True)),
                ('unagreed_currency', models.CharField(blank=True, max_length=3)),
                ('public_tracking_url', models.URLField(blank=True, max_length=300)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='orders.carrieraccount')),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('printed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('replaces', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='orders.order')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='accounts.sender')),
                ('size', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='orders', to='accounts.parcelsize')),
                ('quote', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='orders', to='orders.quote')),
            ],
            options={
                'indexes': [models.Index(fields=['sender', '-id'], name='orders_orde_sender__34602d_idx'), models.Index(fields=['sender', 'status', '-id'], name='orders_orde_sender__e173eb_idx'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['status', 'due_at'], name='orders_owed'), models.Index(condition=models.Q(('first_mile', 'pickup'), ('progress', ''), ('status', 'booked')), fields=['carrier_pickup_date'], name='orders_waiting_for_a_driver'), models.Index(condition=models.Q(('progress', 'pickup_futile'), ('status', 'booked')), fields=['progress_at'], name='orders_futile'), models.Index(condition=models.Q(('status__in', ['cancel_unconfirmed', 'cancelling', 'conflict', 'rejected', 'unconfirmed'])), fields=['status'], name='orders_undecided'), models.Index(condition=models.Q(('unagreed_price__isnull', False)), fields=['created_at'], name='orders_unagreed'), models.Index(models.F('sender'), django.db.models.functions.comparison.Coalesce('carrier_pickup_date', 'pickup_date', models.Value(datetime.date(9999, 12, 31)), output_field=models.DateField()), models.F('id'), name='orders_by_pickup_day'), models.Index(condition=models.Q(('used_after_cancel_at__isnull', False), models.Q(models.Q(('progress', 'delivered'), ('status', 'booked')), ('status', 'cancelled'), _connector='OR', _negated=True), _connector='OR'), fields=['sender', 'status', 'progress', 'used_after_cancel_at', 'cancel_refused_at'], name='orders_open'), models.Index(condition=models.Q(('used_after_cancel_at__isnull', False), models.Q(models.Q(('progress', 'delivered'), ('status', 'booked')), ('status', 'cancelled'), _connector='OR', _negated=True), _connector='OR'), fields=['account'], name='orders_open_of_account'), models.Index(condition=models.Q(('progress', 'delivered'), ('status', 'booked')), fields=['sender', '-progress_at'], name='orders_last_delivered')],
                'constraints': [models.UniqueConstraint(fields=('sender', 'form_token'), name='one_order_per_form'), models.UniqueConstraint(django.db.models.functions.text.Upper('carrier_reference'), models.F('account'), name='a_carrier_reference_once_per_account'), models.CheckConstraint(condition=models.Q(models.Q(('booked_at__isnull', False), ('carrier_reference__isnull', False), ('status__in', ['booked', 'cancel_unconfirmed', 'cancelled', 'cancelling'])), models.Q(models.Q(('status__in', ['booked', 'cancel_unconfirmed', 'cancelled', 'cancelling']), _negated=True), ('carrier_reference__isnull', True)), _connector='OR'), name='a_reference_exactly_while_the_carrier_holds_it'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'cancelled'), _negated=True), ('cancelled_at__isnull', False), _connector='OR'), name='cancelled_has_a_time'), models.CheckConstraint(condition=models.Q(('status__in', ['draft', 'booking', 'booked', 'rejected', 'unconfirmed', 'not_booked', 'conflict', 'cancelling', 'cancel_unconfirmed', 'cancelled'])), name='a_known_status'), models.CheckConstraint(condition=models.Q(('price__gte', 0)), name='price_not_negative'), models.CheckConstraint(condition=models.Q(models.Q(('reserved', 0), ('reserved_on__isnull', True), ('unbilled', 0)), models.Q(('reserved_on__isnull', False), ('status__in', ['booked', 'booking', 'cancel_unconfirmed', 'cancelling', 'conflict', 'unconfirmed'])), _connector='OR'), name='only_what_may_cost_is_counted'), models.CheckConstraint(condition=models.Q(('height_cm__gt', 0), ('length_cm__gt', 0), ('weight_kg__gt', 0), ('width_cm__gt', 0)), name='weight_and_dimensions_positive')],
            },
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('size', models.CharField(choices=[('full', 'Full page'), ('cropped', 'Cropped')], max_length=7)),
                ('state', models.CharField(choices=[('pending', 'Being fetched'), ('stored', 'Stored'), ('absent', 'Not offered'), ('failed', "Couldn't be fetched"), ('withheld', 'Being compared')], default='pending', max_length=8)),
                ('problem', models.CharField(blank=True, max_length=300)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('length', models.PositiveIntegerField(blank=True, null=True)),
                ('address', models.TextField(blank=True)),
                ('stored_at', models.DateTimeField(blank=True, null=True)),
                ('served_at', models.DateTimeField(blank=True, null=True)),
                ('purged_at', models.DateTimeField(blank=True, null=True)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='labels', to='orders.order')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='labels_owed'), models.Index(condition=models.Q(('state__in', ['absent', 'failed'])), fields=['order'], name='labels_missing')],
                'constraints': [models.UniqueConstraint(fields=('order', 'size'), name='one_label_of_a_size_per_order'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'stored'), _negated=True), models.Q(models.Q(('sha256', ''), _negated=True), ('length__isnull', False), ('stored_at__isnull', False)), _connector='OR'), name='a_stored_label_has_its_checksum')],
            },
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('values', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField()),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to='accounts.sender')),
            ],
            options={
                'indexes': [models.Index(fields=['sender', '-updated_at'], name='drafts_newest_first')],
            },
        ),
        migrations.CreateModel(
            name='CarrierLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=10)),
                ('free_at', models.FloatField(default=0.0)),
                ('had', models.JSONField(default=dict)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.carrieraccount')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='one_line_of_a_name')],
            },
        ),
        migrations.CreateModel(
            name='CarrierCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True)),
                ('account', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='orders.carrieraccount')),
                ('operation', models.CharField(max_length=20)),
                ('method', models.CharField(max_length=8)),
                ('path', models.CharField(max_length=200)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('milliseconds', models.PositiveIntegerField()),
                ('outcome', models.CharField(max_length=40)),
                ('unreadable', models.PositiveSmallIntegerField(default=0, verbose_name='rows not read')),
                ('order', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='orders.order')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('unreadable__gt', 0)), fields=['at'], name='calls_not_read_in_full')],
            },
        ),
        migrations.CreateModel(
            name='CancelAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('why', models.CharField(max_length=300)),
                ('state', models.CharField(choices=[('wanted', 'Asked for'), ('in_flight', 'Sent, no answer yet'), ('done', 'Cancelled'), ('refused', 'Refused'), ('unknown', 'Outcome unknown')], default='wanted', max_length=12)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('asked_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('http_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('response', models.BinaryField(blank=True, default=bytes)),
                ('answer', models.CharField(blank=True, max_length=500)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cancels', to='orders.order')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['wanted', 'in_flight', 'unknown'])), fields=('order',), name='one_live_cancel_per_order')],
            },
        ),
        migrations.CreateModel(
            name='BookingAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('generation', models.PositiveSmallIntegerField()),
                ('key', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('body', models.BinaryField()),
                ('body_sha256', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('in_flight', 'Sent, no answer yet'), ('accepted', 'Booked'), ('rejected', 'Refused'), ('not_sent', 'Never left'), ('unknown', 'Outcome unknown'), ('not_created', 'Settled as not booked')], max_length=12)),
                ('lease_until', models.DateTimeField()),
                ('sent_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('replays', models.PositiveSmallIntegerField(default=0)),
                ('http_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('response', models.BinaryField(blank=True, default=bytes)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('seen_reference', models.CharField(blank=True, max_length=100)),
                ('duplicate_booking_at', models.DateTimeField(blank=True, null=True)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='orders.order')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('duplicate_booking_at__isnull', False)), fields=['duplicate_booking_at'], name='duplicate_bookings_waiting')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['in_flight', 'unknown', 'accepted'])), fields=('order',), name='one_live_attempt_per_order'), models.CheckConstraint(condition=models.Q(('state__in', ['in_flight', 'accepted', 'rejected', 'not_sent', 'unknown', 'not_created'])), name='a_known_attempt_state')],
            },
        ),
        migrations.CreateModel(
            name='OrderChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('old', models.CharField(max_length=20)),
                ('new', models.CharField(choices=[('draft', 'Draft'), ('booking', 'Booking'), ('booked', 'Booked'), ('rejected', 'Not booked: refused'), ('unconfirmed', 'Checking with the carrier'), ('not_booked', 'Not booked'), ('conflict', 'Being sorted out'), ('cancelling', 'Cancelling'), ('cancel_unconfirmed', 'Checking the cancellation'), ('cancelled', 'Cancelled')], max_length=20)),
                ('at', models.DateTimeField()),
                ('reason', models.CharField(max_length=500)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='orders.order')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(condition=models.Q(('new', 'rejected')), fields=['at'], name='refusals_by_time')],
            },
        ),
        migrations.CreateModel(
            name='Replacement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('product_code', models.CharField(max_length=100)),
                ('pickup_date', models.DateField(blank=True, null=True)),
                ('form_token', models.UUIDField()),
                ('asked_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.CharField(blank=True, max_length=500)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('booked', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.order')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='replacements', to='orders.order')),
                ('quote', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='orders.quote')),
                ('restore', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replacements', to='orders.restore')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('order',), name='one_open_replacement_per_order')],
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='replacements_owed')],
            },
        ),
        migrations.CreateModel(
            name='LabelBytes',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.BinaryField()),
                ('label', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='file', to='orders.label')),
            ],
        ),
        migrations.CreateModel(
            name='PriceWait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('asked_at', models.DateTimeField()),
                ('draft', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='price_waits', to='orders.draft')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('draft', 'user'), name='one_price_wait_per_draft_and_person')],
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='price_waits_owed')],
            },
        ),
        migrations.CreateModel(
            name='DailySpend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(unique=True)),
                ('spent', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('refused_at', models.DateTimeField(blank=True, null=True)),
                ('mended', models.PositiveIntegerField(default=0, verbose_name='counters put right')),
                ('mended_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'daily spend',
            },
        ),
        migrations.RunPython(index_the_search_text, forget_the_index),
        migrations.RunPython(mark_this_database, migrations.RunPython.noop),
    ]
