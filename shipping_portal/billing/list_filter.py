"""The filter of the parcels list that asks billing."""

from django.db.models import Q

from orders.listing import FILTERS, Filter
from orders.system_views import Desk
from shipping_portal.billing.models import Charge
from shipping_portal.billing.statements import ADJUSTMENTS


def _adjusted(value: str, desk: Desk) -> Q | None:
    found = Charge.objects.posted().filter(sender=desk.sender, kind__in=ADJUSTMENTS, order__isnull=False)
    return Q(pk__in=found.values("order")) if value == "yes" and desk.sees_money else None


FILTERS["adjusted"] = Filter("Charges", _adjusted, lambda value, choices: "Adjusted")
