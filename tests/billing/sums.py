"""To the cent: what the carrier's ledger says was billed, and what the portal has posted, by order, account and week.

The two share no code. The ledger names an order by our key, and an account by the email address on its parcels.
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
    """By ("order", key), ("account", email) and ("week", Monday, email), each with its currency."""
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
    """Whose parcel it is: its sender's, or of a return its receiver's."""
    ends = [body[end]["contact"]["email"] for end in ("sender", "receiver")]
    return str(ends[PickupAddress.objects.filter(email=ends[1]).exists()])


def of_portal() -> Sums:
    """The same of the lines that count. The operator's own, which no carrier knows of, are left out."""
    sums: Sums = defaultdict(Decimal)
    emails = dict(PickupAddress.objects.values_list("sender", "email"))
    lines = Charge.objects.posted().filter(report__isnull=False).select_related("order")
    for line in lines.iterator():
        key = line.order.order_key() if line.order else NOBODY
        owner = emails[line.sender_id] if line.sender_id else NOBODY
        _add(sums, key, owner, line.week, line.currency, line.amount)
    return dict(sums)


def differences(ledger: Sums, portal: Sums) -> list[str]:
    """Each sum that is not the same on both sides, in words. No line is nothing: what the carrier called off itself
    and bills with its refund is 0 there, and nobody's here."""
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
    """The week before a report is written."""
    day = dt.datetime.fromtimestamp(seconds, dt.UTC).date() - dt.timedelta(days=1)
    return day - dt.timedelta(days=day.weekday())
