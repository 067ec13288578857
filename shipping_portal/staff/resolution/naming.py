"""Which order the carrier says a reference is: by our order key, or by the customer reference on a scan or a bill."""

import datetime as dt

from django.db.models.functions import Upper

from orders.identifying import is_its_name, sent_between
from orders.models import Order
from shipping_portal.carrier.naming import Names
from shipping_portal.carrier.values import fold

AROUND = dt.timedelta(days=7)  # in which the other orders were made that a reference may be
Said = dict[str, tuple[Names, ...]]


def judge(order: Order, said: Said) -> dict[str, tuple[str, str]]:
    """For each reference: the name by which it is this order's, and the one by which it is another's; "" for none.

    A customer reference that no order of ours has decides nothing: the carrier may have filled it in.
    """
    others = _others(order, said)
    return {reference: _judged(order, names, others) for reference, names in said.items()}


def _judged(order: Order, names: tuple[Names, ...], others: set[str]) -> tuple[str, str]:
    own = anothers = ""
    for said in names:
        if is_its_name(order, said):
            own = own or f"The carrier has it under {_name(said)}"
        elif said.order_key or fold(said.customer_reference) in others:
            anothers = anothers or f"The carrier has it under another order's name, {_name(said)}"
    return own if not anothers else "", anothers


def _name(said: Names) -> str:
    if said.order_key:
        return f"our order key {said.order_key}"
    return f"the customer reference {said.customer_reference}"


def _others(order: Order, said: Said) -> set[str]:
    """Those of these customer references that other orders of this account and time have, folded."""
    told = {name.customer_reference for names in said.values() for name in names} - {""}
    if not told:
        return set()
    first, last = sent_between(order)
    made = Order.objects.filter(account=order.account_id, created_at__range=(first - AROUND, last + AROUND))
    # Whatever the case: carriers write in capitals.
    upper = made.exclude(pk=order.pk).annotate(upper=Upper("customer_reference"))
    found = upper.filter(upper__in={name.upper() for name in told})
    return {fold(name) for name in found.values_list("customer_reference", flat=True)}
