"""Drop the indexes of the job's columns, those that another begins with, and those of one value."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from shipping_portal.concurrent_indexes import RemoveIndexConcurrently, RemoveIndexOfKey

PROTECT = django.db.models.deletion.PROTECT
OF_ORDERS = (
    "orders_owed",
    "orders_undecided",
    "orders_waiting_for_a_driver",
    "orders_futile",
    "orders_unagreed",
    "orders_unbilled",
    "orders_open_of_account",
    "orders_last_delivered",
    "orders_orde_sender__e173eb_idx",
    "orders_by_email",
    "orders_by_phone",
    "orders_by_postcode",
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0022_indexes_without_the_job")]

    operations = [
        *(RemoveIndexConcurrently("order", name) for name in OF_ORDERS),
        RemoveIndexConcurrently("label", "labels_owed"),
        RemoveIndexOfKey(
            "order",
            "sender",
            models.ForeignKey(
                db_index=False, on_delete=PROTECT, related_name="orders", to="accounts.sender"
            ),
        ),
        RemoveIndexOfKey(
            "order",
            "account",
            models.ForeignKey(
                db_index=False, on_delete=PROTECT, related_name="orders", to="orders.carrieraccount"
            ),
        ),
        RemoveIndexOfKey(
            "order",
            "made_by",
            models.ForeignKey(
                db_index=False, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        RemoveIndexOfKey(
            "order",
            "printed_by",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        RemoveIndexOfKey(
            "label",
            "order",
            models.ForeignKey(
                db_index=False, on_delete=PROTECT, related_name="labels", to="orders.order"
            ),
        ),
    ]
