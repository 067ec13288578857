"""A cancellation that is only a request: the constraints know its status.

The next migration reads the old rows.
"""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddCheckOfNewRows

STATUSES = [
    ("draft", "Draft"),
    ("booking", "Booking"),
    ("booked", "Booked"),
    ("rejected", "Not booked: refused"),
    ("unconfirmed", "Checking with the carrier"),
    ("not_booked", "Not booked"),
    ("conflict", "Being sorted out"),
    ("cancelling", "Cancelling"),
    ("cancel_unconfirmed", "Checking the cancellation"),
    ("cancel_asked", "Refund requested"),
    ("cancelled", "Cancelled"),
]
HELD = ["booked", "cancel_asked", "cancel_unconfirmed", "cancelled", "cancelling"]
MAY_COST = [
    *("booked", "booking", "cancel_asked", "cancel_unconfirmed", "cancelling"),
    *("conflict", "unconfirmed"),
]
CHECKS = {
    "a_reference_exactly_while_the_carrier_holds_it": Q(
        status__in=HELD, carrier_reference__isnull=False, booked_at__isnull=False
    )
    | ~Q(status__in=HELD) & Q(carrier_reference__isnull=True),
    "a_known_status": Q(status__in=[value for value, _ in STATUSES]),
    "only_what_may_cost_is_counted": Q(reserved_on__isnull=True, reserved=0, unbilled=0)
    | Q(reserved_on__isnull=False, status__in=MAY_COST),
}


class Migration(migrations.Migration):
    dependencies = [("orders", "0011_index_of_drafts")]

    operations = [
        *[migrations.RemoveConstraint("order", name) for name in CHECKS],
        migrations.AlterField(
            model_name="order",
            name="status",
            field=models.CharField(choices=STATUSES, default="draft", max_length=20),
        ),
        migrations.AlterField(
            model_name="orderchange",
            name="new",
            field=models.CharField(choices=STATUSES, max_length=20),
        ),
        *[
            AddCheckOfNewRows("order", models.CheckConstraint(condition=check, name=name))
            for name, check in CHECKS.items()
        ],
    ]
