"""What a file says as a whole, told before it is booked: columns not used, orders left out, rows that were joined."""

from typing import Any

from django.db.models import Count
from django.db.models.fields.json import KT

from shipping_portal.accounts.places import fold
from shipping_portal.importing import shops
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.reading import REASON

State = ImportRow.State
NAMED = 3  # orders of joined rows


def unused(file: Import) -> list[str]:
    """The columns with anything in them that are no field of ours and say nothing of an order's state."""
    used, known = set(file.columns.values()), {*shops.TOLD, fold(REASON)}
    return [file.header[at] for at in file.filled if at not in used and fold(file.header[at]) not in known]


def left_out_by_shop(file: Import) -> list[tuple[str, int]]:
    """Why the shop itself would not send some of the orders, and how many."""
    of_shop = file.rows.filter(state=State.SKIPPED, problems__has_key=shops.STATUS)
    why = of_shop.order_by().values_list(KT(f"problems__{shops.STATUS}__0"))
    return list(why.annotate(rows=Count("pk")).order_by("-rows"))


def joined(file: Import) -> list[dict[str, Any]]:
    """The first orders of more than one row: `order_number` and how many `rows` each has."""
    number = KT(f"cells__{file.columns.get('customer_reference', 0)}")
    orders = file.rows.filter(state=State.FOLDED).order_by().values("folded_into", order_number=number)
    return [
        dict(one) for one in orders.annotate(rows=Count("pk") + 1).order_by("folded_into__number")[:NAMED]
    ]
