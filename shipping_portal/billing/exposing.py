"""What a posted bill does to the limits: what it names is not unbilled any more, and what it adds counts."""

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Round

from orders import limits as order_limits
from orders.models import Order
from shipping_portal.accounts import limits
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import REFUNDS, Charge, Kind, cents

BILLS = (Kind.ORDER, Kind.UN_CANCELLATION, *REFUNDS)  # of the order itself, rather than of its size or cover


def count(lines: QuerySet[Charge]) -> None:
    """Count these posted lines. Their senders are locked in one order, and before any order (Sender, Order, Parcel)."""
    owners = lines.filter(order__isnull=False)
    rows = Sender.objects.filter(pk__in=owners.values("sender")).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))
    _end_exposure(Order.objects.filter(pk__in=owners.filter(kind__in=BILLS).values("order"), unbilled__gt=0))
    _count_dearer(Order.objects.filter(pk__in=owners.values("order"), reserved_on=F("sender__counted_on")))


def _end_exposure(orders: QuerySet[Order]) -> None:
    sums = orders.order_by().values("sender").annotate(billed=Round(Sum("unbilled"), 2))
    for sender, billed in sums.values_list("sender", "billed"):
        limits.change(sender, unbilled=-billed)
    orders.update(unbilled=0)


def _count_dearer(orders: QuerySet[Order]) -> None:
    """Only those of a day that still counts: rarely any, as bills tell of last week."""
    own = Q(charges__posted_at__isnull=False, charges__currency=F("currency"))
    billed = orders.annotate(billed=Round(Sum("charges__amount", filter=own), 2))
    for order in billed.filter(billed__gt=F("reserved")):
        order_limits.billed(order, cents(order.billed))
