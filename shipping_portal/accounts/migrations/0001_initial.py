"""The accounts' tables, the throttles' table, the usual aliases, and the triggers that keep the audit."""

import decimal
import django.db.models.deletion
import django.db.models.functions.text
import shipping_portal.request_ids
import uuid
from django.conf import settings
from django.core.management import call_command
from django.db import migrations, models


# How people shorten the words of suburbs. Operators add their own in admin.
ALIASES = {
    "MT": "MOUNT",
    "MTN": "MOUNTAIN",
    "ST": "SAINT",
    "STE": "SAINTE",
    "FT": "FORT",
    "PT": "POINT",
    "PK": "PARK",
    "GDNS": "GARDENS",
    "HTS": "HEIGHTS",
    "BCH": "BEACH",
    "LK": "LAKE",
    "IS": "ISLAND",
    "VLY": "VALLEY",
    "JCT": "JUNCTION",
    "CTR": "CENTRE",
    "UPR": "UPPER",
    "LWR": "LOWER",
    "NTH": "NORTH",
    "N": "NORTH",
    "STH": "SOUTH",
    "S": "SOUTH",
    "E": "EAST",
    "W": "WEST",
}
SQLITE = [
    """
    CREATE TRIGGER audit_append_only_{act} BEFORE {act} ON accounts_audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END
    """.format(act=act)
    for act in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    """
    CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'audit rows are never changed' USING ERRCODE = 'restrict_violation'; END $$
    """,
    """
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON accounts_audit
    FOR EACH ROW EXECUTE FUNCTION audit_append_only()
    """,
]
UNDO = {
    "sqlite": ["DROP TRIGGER audit_append_only_UPDATE", "DROP TRIGGER audit_append_only_DELETE"],
    "postgresql": ["DROP TRIGGER audit_append_only ON accounts_audit", "DROP FUNCTION audit_append_only"],
}


def create_the_throttles_table(apps, schema_editor):
    """Create the cache table behind the throttles, so that `migrate` is all an installation needs."""
    call_command("createcachetable", database=schema_editor.connection.alias, verbosity=0)


def add_aliases(apps, schema_editor):
    alias = apps.get_model("accounts", "LocalityAlias")
    alias.objects.bulk_create(alias(word=word, stands_for=stands_for) for word, stands_for in ALIASES.items())


def refuse_changes_of_the_audit(apps, schema_editor):
    """Let the database itself refuse to change or delete an audit row, whoever asks."""
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def allow_changes_of_the_audit(apps, schema_editor):
    for statement in UNDO[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='LocalityAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=40, unique=True)),
                ('stands_for', models.CharField(max_length=40)),
            ],
            options={
                'verbose_name_plural': 'locality aliases',
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                ('session_data', models.TextField(verbose_name='session data')),
                ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                ('whose', models.BigIntegerField(db_index=True)),
            ],
            options={
                'verbose_name': 'session',
                'verbose_name_plural': 'sessions',
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='e-mail')),
                ('name', models.CharField(blank=True, max_length=120)),
                ('is_staff', models.BooleanField(default=False, verbose_name='operator')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('theme', models.CharField(choices=[('system', 'As my device'), ('light', 'Light'), ('dark', 'Dark')], default='system', max_length=6)),
                ('has_shortcuts', models.BooleanField(default=True, verbose_name='single-key shortcuts')),
                ('date_joined', models.DateTimeField(auto_now_add=True)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_once_whatever_the_case')],
            },
        ),
        migrations.CreateModel(
            name='LocalityList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(max_length=2)),
                ('source', models.CharField(max_length=200)),
                ('sha256', models.CharField(max_length=64)),
                ('rows', models.PositiveIntegerField()),
                ('loaded_at', models.DateTimeField()),
                ('is_active', models.BooleanField(default=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_active', True)), fields=('country',), name='one_active_list_a_country')],
            },
        ),
        migrations.CreateModel(
            name='Locality',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(max_length=2)),
                ('suburb', models.CharField(max_length=80)),
                ('state', models.CharField(max_length=40)),
                ('postcode', models.CharField(max_length=12)),
                ('normalised', models.CharField(max_length=80, verbose_name='compared as')),
                ('list', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='localities', to='accounts.localitylist')),
            ],
            options={
                'verbose_name_plural': 'localities',
                'indexes': [models.Index(fields=['list', 'normalised'], name='accounts_lo_list_id_bf3106_idx'), models.Index(fields=['list', 'postcode'], name='accounts_lo_list_id_efc583_idx')],
                'constraints': [models.UniqueConstraint(fields=('list', 'normalised', 'postcode', 'state'), name='a_pair_once_a_list')],
            },
        ),
        migrations.CreateModel(
            name='NotificationChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=30)),
                ('when', models.CharField(max_length=10)),
                ('on_since', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notification_choices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'kind'), name='one_choice_per_kind')],
            },
        ),
        migrations.CreateModel(
            name='Sender',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, verbose_name='business name')),
                ('country', models.CharField(choices=[('AU', 'Australia'), ('CA', 'Canada'), ('US', 'United States')], max_length=2)),
                ('zone', models.CharField(default='Australia/Sydney', max_length=40, verbose_name='time zone')),
                ('label_size', models.CharField(choices=[('full', 'Full page (A4 or Letter)'), ('cropped', 'Cropped, for label printers')], default='full', max_length=7)),
                ('service_rule', models.CharField(choices=[('cheapest', 'Cheapest'), ('cheapest_pickup', 'Cheapest with pickup'), ('fastest', 'Fastest'), ('last', 'Same as last time')], default='cheapest', max_length=15, verbose_name='service chosen for you')),
                ('prints_at_once', models.BooleanField(default=False, verbose_name='open the print window by itself')),
                ('needs_second_factor', models.BooleanField(default=False, verbose_name='everybody needs a second factor')),
                ('pickup_days_ahead', models.PositiveSmallIntegerField(default=3)),
                ('bookings_a_day', models.PositiveIntegerField(default=2000)),
                ('money_a_day', models.DecimalField(blank=True, decimal_places=2, default=decimal.Decimal('25000'), max_digits=16, null=True)),
                ('unbilled_limit', models.DecimalField(blank=True, decimal_places=2, max_digits=16, null=True)),
                ('quotes_a_minute', models.PositiveIntegerField(default=60)),
                ('own_bookings_a_day', models.PositiveIntegerField(blank=True, null=True)),
                ('own_money_a_day', models.DecimalField(blank=True, decimal_places=2, max_digits=16, null=True)),
                ('counted_on', models.DateField(blank=True, null=True)),
                ('booked_today', models.IntegerField(default=0)),
                ('spent_today', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('unbilled', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('minute_began_at', models.DateTimeField(blank=True, null=True)),
                ('quotes_this_minute', models.PositiveIntegerField(default=0)),
                ('booked_in_all', models.IntegerField(default=0)),
                ('spent_in_all', models.DecimalField(decimal_places=2, default=decimal.Decimal('0'), max_digits=16)),
                ('approved_at', models.DateTimeField(blank=True, null=True)),
                ('dangerous_goods_acknowledged_at', models.DateTimeField(blank=True, null=True)),
                ('suspended_at', models.DateTimeField(blank=True, null=True)),
                ('suspension', models.CharField(blank=True, choices=[('carrier', 'The carrier asked for it'), ('terms', 'Terms'), ('dangerous_goods', 'Dangerous goods'), ('other', 'Other')], max_length=16)),
                ('suspension_text', models.TextField(blank=True, verbose_name='text shown to the sender')),
                ('suspension_note', models.TextField(blank=True, verbose_name='internal note')),
                ('dispatch_stopped_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('suspended_at__isnull', True), ('suspension', '')), models.Q(('suspended_at__isnull', False), models.Q(('suspension', ''), _negated=True)), _connector='OR'), name='sender_suspended_with_a_category'), models.CheckConstraint(condition=models.Q(('dispatch_stopped_at', None), ('suspended_at__isnull', False), _connector='OR'), name='dispatch_stopped_by_a_suspension')],
                'indexes': [models.Index(condition=models.Q(('approved_at', None), ('suspended_at', None)), fields=['created_at'], name='senders_waiting')],
            },
        ),
        migrations.CreateModel(
            name='ParcelSize',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=60)),
                ('weight', models.DecimalField(decimal_places=4, max_digits=9)),
                ('weight_units', models.CharField(max_length=2)),
                ('length', models.DecimalField(decimal_places=3, max_digits=9)),
                ('width', models.DecimalField(decimal_places=3, max_digits=9)),
                ('height', models.DecimalField(decimal_places=3, max_digits=9)),
                ('dimension_units', models.CharField(max_length=2)),
                ('description', models.CharField(blank=True, max_length=255, verbose_name="what's usually inside")),
                ('position', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sizes', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('sender', 'name'), name='one_size_of_a_name_per_sender')],
            },
        ),
        migrations.CreateModel(
            name='Receiver',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('fingerprint', models.CharField(max_length=64)),
                ('is_saved', models.BooleanField(default=False)),
                ('name', models.CharField(max_length=120)),
                ('company', models.CharField(blank=True, max_length=120)),
                ('email', models.EmailField(max_length=254)),
                ('phone', models.CharField(blank=True, max_length=30)),
                ('line1', models.CharField(max_length=255)),
                ('line2', models.CharField(blank=True, max_length=255)),
                ('suburb', models.CharField(max_length=80)),
                ('state', models.CharField(blank=True, max_length=40)),
                ('postcode', models.CharField(max_length=12)),
                ('country', models.CharField(max_length=2)),
                ('instructions', models.CharField(blank=True, max_length=200)),
                ('group', models.CharField(blank=True, max_length=40)),
                ('is_off_list', models.BooleanField(default=False)),
                ('uses', models.PositiveIntegerField(default=0)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='receivers', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('sender', 'fingerprint'), name='one_receiver_once_per_sender')],
            },
        ),
        migrations.CreateModel(
            name='PickupAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, verbose_name='contact name')),
                ('company', models.CharField(blank=True, max_length=120)),
                ('email', models.EmailField(max_length=254, verbose_name='sender e-mail')),
                ('shared_mailbox_confirmed_at', models.DateTimeField(blank=True, null=True)),
                ('phone', models.CharField(blank=True, max_length=30)),
                ('line1', models.CharField(max_length=255, verbose_name='address line 1')),
                ('line2', models.CharField(blank=True, max_length=255, verbose_name='address line 2')),
                ('suburb', models.CharField(max_length=80)),
                ('state', models.CharField(max_length=40)),
                ('postcode', models.CharField(max_length=12)),
                ('country', models.CharField(choices=[('AU', 'Australia'), ('CA', 'Canada'), ('US', 'United States')], max_length=2)),
                ('instructions', models.CharField(blank=True, max_length=200, verbose_name='pickup instructions')),
                ('is_default', models.BooleanField(default=True)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pickup_addresses', to='accounts.sender')),
            ],
            options={
                'verbose_name_plural': 'pickup addresses',
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('kind', models.CharField(max_length=30)),
                ('batch_key', models.CharField(max_length=80)),
                ('dedupe_key', models.CharField(max_length=120)),
                ('line', models.CharField(max_length=300)),
                ('path', models.CharField(max_length=200)),
                ('happened_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.sender')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='notifications_owed')],
                'constraints': [models.UniqueConstraint(fields=('user', 'dedupe_key'), name='one_notification_of_an_event')],
            },
        ),
        migrations.CreateModel(
            name='ApprovalRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('sender', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.sender')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='approvals_owed')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('shipper', 'Shipper'), ('bookkeeper', 'Bookkeeper'), ('viewer', 'Viewer')], max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='membership', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('shipper', 'Shipper'), ('bookkeeper', 'Bookkeeper'), ('viewer', 'Viewer')], max_length=10)),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('invited_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.sender')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None)), fields=('sender', 'email'), name='one_open_invitation_per_address')],
            },
        ),
        migrations.CreateModel(
            name='Audit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('action', models.CharField(max_length=60)),
                ('subject', models.CharField(max_length=120)),
                ('reason', models.TextField(blank=True)),
                ('request_id', models.CharField(blank=True, default=shipping_portal.request_ids.current_request, editable=False, max_length=64)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.sender')),
            ],
            options={
                'verbose_name_plural': 'audit',
                'indexes': [models.Index(fields=['subject'], name='accounts_au_subject_820795_idx')],
            },
        ),
        migrations.CreateModel(
            name='ReceiverKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=120)),
                ('receiver', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='accounts.receiver')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.sender')),
            ],
            options={
                'indexes': [models.Index(fields=['sender', 'key'], name='receivers_by_prefix')],
            },
        ),
        migrations.AddField(
            model_name='sender',
            name='default_size',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.parcelsize'),
        ),
        migrations.RunPython(create_the_throttles_table, migrations.RunPython.noop),
        migrations.RunPython(add_aliases, migrations.RunPython.noop),
        migrations.RunPython(refuse_changes_of_the_audit, allow_changes_of_the_audit),
    ]
