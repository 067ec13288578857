import django.db.models.deletion
import django.db.models.functions.text
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
            name='ChargeWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=300, unique=True, verbose_name="carrier's word")),
                ('meaning', models.CharField(blank=True, choices=[('order', 'Order cost'), ('cover', 'Extra Cover'), ('under-declared', 'Under-declared adjustment'), ('oversize', 'Oversize penalty adjustment'), ('un-cancellation', 'Un-cancellation adjustment'), ('cancel-refund', 'Cancellation refund in the same billing cycle'), ('cancel-refund-later', 'Cancellation refund after invoicing'), ('delay-refund', 'Refund for delay'), ('loss-refund', 'Refund for loss'), ('other-refund', 'Other refund'), ('order-refund', 'Refund of an order; which, the order says')], max_length=20, verbose_name='means')),
                ('first_seen_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='BillingProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('delimiter', models.CharField(choices=[(',', 'comma'), (';', 'semicolon'), ('\t', 'tab'), ('|', 'bar')], default=',', max_length=1)),
                ('columns', models.JSONField(default=dict)),
                ('date_form', models.CharField(choices=[('%Y-%m-%d', '2026-11-30'), ('%d/%m/%Y', '30/11/2026'), ('%m/%d/%Y', '11/30/2026'), ('%d.%m.%Y', '30.11.2026')], default='%Y-%m-%d', max_length=10)),
                ('refunds_positive', models.BooleanField(default=True, verbose_name='refund rows show a positive amount')),
                ('cover_inside', models.BooleanField(default=True, verbose_name='the price has the cover in it')),
                ('total_word', models.CharField(blank=True, max_length=100, verbose_name='type of the rows that state the total')),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='billing_profile', to='orders.carrieraccount')),
            ],
        ),
        migrations.CreateModel(
            name='BillingReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('parked_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=120)),
                ('sha256', models.CharField(max_length=64)),
                ('week', models.DateField()),
                ('state', models.CharField(choices=[('reading', 'Being read'), ('checked', 'Checked, not posted'), ('damaged', "Damaged: can't be posted"), ('posted', 'Posted'), ('void', 'Void')], default='reading', max_length=8)),
                ('profile', models.JSONField()),
                ('rows', models.PositiveIntegerField(default=0)),
                ('read', models.PositiveIntegerField(default=0)),
                ('stated', models.JSONField(blank=True, default=dict)),
                ('problems', models.JSONField(blank=True, default=list)),
                ('uploaded_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='billing_reports', to='orders.carrieraccount')),
                ('ended_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('uploaded_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Charge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField(default=0)),
                ('part', models.PositiveSmallIntegerField(default=0)),
                ('key', models.CharField(max_length=64)),
                ('is_repeat', models.BooleanField(default=False)),
                ('is_unexpected', models.BooleanField(default=False)),
                ('week', models.DateField()),
                ('posted_at', models.DateTimeField(blank=True, null=True)),
                ('reference', models.CharField(blank=True, max_length=100)),
                ('customer_reference', models.CharField(blank=True, max_length=255)),
                ('kind', models.CharField(choices=[('order', 'Order cost'), ('cover', 'Extra Cover'), ('under-declared', 'Under-declared adjustment'), ('oversize', 'Oversize penalty adjustment'), ('un-cancellation', 'Un-cancellation adjustment'), ('cancel-refund', 'Cancellation refund in the same billing cycle'), ('cancel-refund-later', 'Cancellation refund after invoicing'), ('delay-refund', 'Refund for delay'), ('loss-refund', 'Refund for loss'), ('other-refund', 'Other refund'), ('credit', 'Credit or correction'), ('unknown', 'Not known yet')], max_length=20)),
                ('word', models.CharField(blank=True, max_length=300, verbose_name="carrier's words")),
                ('stated', models.DecimalField(decimal_places=2, max_digits=16)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=16)),
                ('currency', models.CharField(max_length=3)),
                ('day', models.DateField(blank=True, null=True)),
                ('declared_kg', models.DecimalField(blank=True, decimal_places=4, max_digits=10, null=True)),
                ('declared_m3', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('measured_kg', models.DecimalField(blank=True, decimal_places=4, max_digits=10, null=True)),
                ('measured_m3', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='charges', to='orders.carrieraccount')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='charges', to='orders.order')),
                ('report', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='billing.billingreport')),
                ('reverses', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reversed_by', to='billing.charge')),
                ('sender', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='charges', to='accounts.sender')),
                ('term', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='billing.chargeword')),
            ],
        ),
        migrations.CreateModel(
            name='Dispute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made_at', models.DateTimeField()),
                ('text', models.TextField(max_length=2000)),
                ('facts', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('open', 'With the operator'), ('accepted', 'Accepted'), ('declined', 'Declined')], default='open', max_length=8)),
                ('answer', models.TextField(blank=True, max_length=2000, verbose_name='answer to the sender')),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('answered_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('charge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disputes', to='billing.charge')),
                ('credit', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='settles', to='billing.charge')),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disputes', to='accounts.sender')),
            ],
        ),
        migrations.CreateModel(
            name='ReportFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.BinaryField()),
                ('report', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='file', to='billing.billingreport')),
            ],
        ),
        migrations.AddIndex(
            model_name='billingreport',
            index=models.Index(fields=['state', '-week'], name='reports_by_week'),
        ),
        migrations.AddIndex(
            model_name='billingreport',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='reports_owed'),
        ),
        migrations.AddConstraint(
            model_name='billingreport',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'void'), _negated=True), fields=('account', 'sha256'), name='a_report_once_per_account'),
        ),
        migrations.AddIndex(
            model_name='charge',
            index=models.Index(condition=models.Q(('posted_at__isnull', False)), fields=['sender', '-week', '-id'], name='charges_of_a_week'),
        ),
        migrations.AddIndex(
            model_name='charge',
            index=models.Index(django.db.models.functions.text.Upper('reference'), models.F('account'), condition=models.Q(('sender', None)), name='charges_unmatched'),
        ),
        migrations.AddIndex(
            model_name='charge',
            index=models.Index(fields=['report', 'kind'], name='charges_of_a_report'),
        ),
        migrations.AddIndex(
            model_name='charge',
            index=models.Index(condition=models.Q(('is_unexpected', True)), fields=['order'], name='charges_unexpected'),
        ),
        migrations.AddConstraint(
            model_name='charge',
            constraint=models.UniqueConstraint(fields=('report', 'line', 'part'), name='a_line_of_a_report_once'),
        ),
        migrations.AddConstraint(
            model_name='charge',
            constraint=models.UniqueConstraint(condition=models.Q(('posted_at__isnull', False)), fields=('account', 'key', 'part'), name='a_line_is_posted_once'),
        ),
        migrations.AddConstraint(
            model_name='charge',
            constraint=models.CheckConstraint(condition=models.Q(('order', None), ('sender__isnull', False), _connector='OR'), name='a_charged_order_has_its_sender'),
        ),
        migrations.AddConstraint(
            model_name='charge',
            constraint=models.CheckConstraint(condition=models.Q(('posted_at', None), models.Q(models.Q(('kind', 'unknown'), _negated=True), ('is_repeat', False)), _connector='OR'), name='what_is_posted_is_known_and_new'),
        ),
        migrations.AddIndex(
            model_name='dispute',
            index=models.Index(fields=['state', 'made_at'], name='disputes_by_age'),
        ),
        migrations.AddIndex(
            model_name='dispute',
            index=models.Index(fields=['answered_at'], name='disputes_answered'),
        ),
        migrations.AddConstraint(
            model_name='dispute',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('charge',), name='one_open_dispute_per_line'),
        ),
    ]
