"""Compare to the cent what the carrier billed with what the portal posted: by order, account and week.

The two share no code. The ledger knows an order by our key, and an account by the email address on its parcels.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from shipping_portal.accounts.models import PickupAddress
from shipping_portal.billing.models import Charge

NOBODY = "nobody"
Sums = dict[tuple[str, ...], Decimal]


def of_ledger(ledger: Iterable[dict[str, Any]]) -> Sums:
    """Return the ledger's sums by ("order", key), ("account", email) and ("week", Monday, email), each with a currency."""
    sums: Sums = defaultdict(Decimal)
    owners: dict[str, str] = {"": NOBODY}
    for line in ledger:
        if line["effect"] == "booked":
            owners[line["order_key"]] = _owner(line["parcel"]["body"])
        for billed in line.get("lines", []):
            key, owner = billed["order_key"], owners[billed["order_key"]]
            _add(sums, key or NOBODY, owner, _monday(line["at"]), billed["currency"], Decimal(billed["amount"]))
    return dict(sums)


def _owner(body: dict[str, Any]) -> str:
    """Return the owner's email: the sender's, or the receiver's for a return."""
    ends = [body[end]["contact"]["email"] for end in ("sender", "receiver")]
    return str(ends[PickupAddress.objects.filter(email=ends[1]).exists()])


def of_portal() -> Sums:
    """Return the same sums of the posted lines, without the operator's own, which no carrier knows of."""
    sums: Sums = defaultdict(Decimal)
    emails = dict(PickupAddress.objects.values_list("sender", "email"))
    lines = Charge.objects.posted().filter(report__isnull=False).select_related("order")
    for line in lines.iterator():
        key = line.order.order_key() if line.order else NOBODY
        owner = emails[line.sender_id] if line.sender_id else NOBODY
        _add(sums, key, owner, line.week, line.currency, line.amount)
    return dict(sums)


def differences(ledger: Sums, portal: Sums) -> list[str]:
    """Describe each sum that differs between the two sides.

    A sum without lines is 0: an order the carrier cancelled itself is billed and refunded there, and unknown here."""
    return [
        f"{' '.join(name)}: the ledger has {ledger.get(name)}, the portal {portal.get(name)}"
        for name in sorted({*ledger, *portal})
        if ledger.get(name, 0) != portal.get(name, 0)
    ]


def _add(sums: Sums, key: str, owner: str, week: dt.date, currency: str, amount: Decimal) -> None:
    sums["order", key, currency] += amount
    sums["account", owner, currency] += amount
    sums["week", str(week), owner, currency] += amount


def _monday(seconds: float) -> dt.date:
    """Return the Monday of the week a report is for: the one before it was written."""
    day = dt.datetime.fromtimestamp(seconds, dt.UTC).date() - dt.timedelta(days=1)
    return day - dt.timedelta(days=day.weekday())
