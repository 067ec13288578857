"""Measure parcels: a seeded share of those on the way are larger and heavier than declared."""

import random
from decimal import Decimal

from shipping_portal.sandbox.bill_rows import declared_volume, declared_weight
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.parcels import Parcel

CENT = Decimal("0.01")
# By what percentage a parcel is heavier and larger than declared. It is never smaller or equal.
FOUND = ((12, 0), (18, 0), (25, 10), (40, 0), (0, 15), (0, 22), (0, 30), (15, 35), (8, 20))


def charge_sizes(depot: Depot) -> None:
    """Charge that share of parcels an under-declared adjustment, once, after the first scan."""
    share = depot.settings.size_charge_share
    if not share:
        return
    charged = {
        line["reference"]
        for line in depot.ledger.lines()
        if line["effect"] == "charge" and line["kind"] == "under-declared"
    }
    # Parcels without a script are moved and measured by hand.
    travellers = [parcel for parcel in depot.by_id.values() if parcel.journey != "none"]
    for number, parcel in enumerate(travellers, start=1):
        dice = random.Random(f"measured {depot.config.seed} {number}")
        if dice.random() < share and parcel.is_moving and parcel.reference not in charged:
            charge_size(depot, parcel, *dice.choice(FOUND))


def charge_size(depot: Depot, parcel: Parcel, heavier: int, larger: int) -> None:
    """Charge a parcel the larger of its two excesses, as a percentage of its price."""
    weight = declared_weight(parcel, depot.contract) * (100 + heavier) / 100
    volume = declared_volume(parcel, depot.contract) * (100 + larger) / 100
    amount = max(Decimal(parcel.quote["gross"]) * max(heavier, larger) / 100, CENT)
    depot.record(
        "charge",
        **depot.names(parcel),
        kind="under-declared",
        amount=f"{amount:.2f}",
        currency=parcel.quote["currency"],
        measured_weight=f"{weight:.3f}",
        measured_volume=f"{volume:.4f}",
    )
