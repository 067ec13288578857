from django.db import migrations
from django.db.models import Case, F, Index, IntegerField, Q, Value, When

from shipping_portal.concurrent_indexes import AddIndexConcurrently

KINDS = (
    'order', 'cover', 'under-declared', 'oversize', 'un-cancellation', 'cancel-refund', 'cancel-refund-later',
    'delay-refund', 'loss-refund', 'other-refund', 'credit', 'unknown',
)
PLACE = Case(
    *(When(kind=kind, then=Value(place)) for place, kind in enumerate(KINDS)),
    default=Value(len(KINDS)),
    output_field=IntegerField(),
)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('billing', '0006_fill_week_sums')]

    operations = [
        AddIndexConcurrently(
            'charge',
            Index(
                F('sender'), F('week'), PLACE, F('id'),
                name='charges_of_a_statement', condition=Q(posted_at__isnull=False),
            ),
        ),
    ]
