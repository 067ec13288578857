from django.db import migrations, models
from django.db.models import Exists, F, OuterRef
from django.utils import timezone


def note_second_orders(apps, schema_editor):
    """As orders/second_orders.py does from now on: references that replies named beside the order's own."""
    attempts, orders = apps.get_model('orders', 'BookingAttempt'), apps.get_model('orders', 'Order')
    known = orders.objects.filter(carrier_reference=OuterRef('seen_reference'))
    others = attempts.objects.filter(order__carrier_reference__isnull=False).exclude(seen_reference='')
    others = others.exclude(seen_reference__iexact=F('order__carrier_reference')).exclude(Exists(known))
    others.update(second_order_at=timezone.now())


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0007_imports'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='bookingattempt',
            name='one_live_attempt_per_order',
        ),
        migrations.RemoveConstraint(
            model_name='bookingattempt',
            name='a_known_attempt_state',
        ),
        migrations.AlterField(
            model_name='bookingattempt',
            name='state',
            field=models.CharField(choices=[('in_flight', 'Sent, no answer yet'), ('accepted', 'Booked'), ('rejected', 'Refused'), ('not_sent', 'Never left'), ('unknown', 'Outcome unknown'), ('not_created', 'Settled as not booked')], max_length=12),
        ),
        migrations.AddConstraint(
            model_name='bookingattempt',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['in_flight', 'unknown', 'accepted'])), fields=('order',), name='one_live_attempt_per_order'),
        ),
        migrations.AddConstraint(
            model_name='bookingattempt',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['in_flight', 'accepted', 'rejected', 'not_sent', 'unknown', 'not_created'])), name='a_known_attempt_state'),
        ),
        migrations.AddField(
            model_name='bookingattempt',
            name='second_order_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunPython(note_second_orders, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='bookingattempt',
            index=models.Index(condition=models.Q(('second_order_at__isnull', False)), fields=['second_order_at'], name='second_orders_waiting'),
        ),
        migrations.AddIndex(
            model_name='label',
            index=models.Index(condition=models.Q(('state__in', ['absent', 'failed'])), fields=['order'], name='labels_missing'),
        ),
    ]
