"""Store a service chosen for one row. It overrides the file's rule as long as it is offered."""

import hashlib
import json
from collections.abc import Mapping

from django.db import transaction

from orders.models.quotes import Offered, bookable, key_of, offers_at
from shipping_portal.importing.models import Import, ImportRow

SERVICE = "service"  # key in a row's corrections


def choosable(
    products: list[Offered], corrected: Mapping[str, str], carrier: int | None, *, own: int
) -> list[Offered]:
    """Return the offer chosen for the row, otherwise all offers of the file's carrier.

    `own` is the account of the quote that has the offers.
    """
    chosen = [offer for offer in bookable(products) if key_of(offer) == corrected.get(SERVICE)]
    return chosen or offers_at(products, carrier, own=own)


def services_token(file: Import) -> str:
    """Return a token of all services chosen in a file: Book counts only with those shown."""
    chosen = file.rows.filter(corrected__has_key=SERVICE)
    pairs = list(chosen.order_by("pk").values_list("pk", f"corrected__{SERVICE}"))
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest() if pairs else ""


@transaction.atomic
def choose(file: Import, chosen: Mapping[int, str]) -> int:
    """Store the services chosen for these rows ("" uses the rule again); return how many changed.

    Services that aren't offered, and rows that are no longer ready, are skipped.
    """
    rows = file.rows.select_for_update(of=("self",)).filter(
        pk__in=list(chosen), state__in=ImportRow.READY
    )
    changed = []
    for row in rows.select_related("quote"):
        code = chosen[row.pk]
        is_offered = not code or (row.quote and row.quote.offer(code))
        if is_offered and code != row.corrected.get(SERVICE, ""):
            row.corrected = {name: text for name, text in row.corrected.items() if name != SERVICE}
            row.corrected |= {SERVICE: code} if code else {}
            changed.append(row)
    return ImportRow.objects.bulk_update(changed, ["corrected"])
