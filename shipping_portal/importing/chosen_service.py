"""The service a person chose for one row: it goes before the rule of the whole file while the carrier offers it."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from orders.models.quotes import bookable
from shipping_portal.importing.models import Import, ImportRow

SERVICE = "service"  # among a row's corrections


def choosable(products: list[dict[str, Any]], corrected: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the one offer that was chosen for the row by hand, else all: whatever the rule, it finds that one."""
    own = [offer for offer in bookable(products) if offer["code"] == corrected.get(SERVICE)]
    return own or products


@transaction.atomic
def choose(file: Import, chosen: Mapping[int, str]) -> int:
    """Keep for these rows the services chosen by hand, "" to go by the rule again. Returns how many changed.

    What is not offered for a row, or for one that is no longer ready, is passed over.
    """
    rows = file.rows.select_for_update(of=("self",)).filter(pk__in=list(chosen), state__in=ImportRow.READY)
    changed = []
    for row in rows.select_related("quote"):
        code = chosen[row.pk]
        is_offered = not code or (row.quote and row.quote.offer(code))
        if is_offered and code != row.corrected.get(SERVICE, ""):
            row.corrected = {name: text for name, text in row.corrected.items() if name != SERVICE}
            row.corrected |= {SERVICE: code} if code else {}
            changed.append(row)
    return ImportRow.objects.bulk_update(changed, ["corrected"])
