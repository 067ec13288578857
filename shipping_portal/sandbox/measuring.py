"""The depot's scale: a seeded share of the parcels on their way turns out larger and heavier than declared."""

import random
from decimal import Decimal

from shipping_portal.sandbox.bill_rows import declared_volume, declared_weight
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.parcels import Parcel

CENT = Decimal("0.01")
# By how many per cent a parcel is found heavier and larger than declared. Never smaller, and never the same in both.
FOUND = ((12, 0), (18, 0), (25, 10), (40, 0), (0, 15), (0, 22), (0, 30), (15, 35), (8, 20))


def charge_sizes(depot: Depot) -> None:
    """Put an under-declared adjustment on that share of the parcels, each once, as soon as it has been scanned."""
    share = depot.settings.size_charge_share
    if not share:
        return
    charged = {
        line["reference"]
        for line in depot.ledger.lines()
        if line["effect"] == "charge" and line["kind"] == "under-declared"
    }
    # What is on no journey is moved by hand, and measured by hand.
    travellers = [parcel for parcel in depot.by_id.values() if parcel.journey != "none"]
    for number, parcel in enumerate(travellers, start=1):
        dice = random.Random(f"measured {depot.config.seed} {number}")
        if dice.random() < share and parcel.is_moving and parcel.reference not in charged:
            charge_size(depot, parcel, *dice.choice(FOUND))


def charge_size(depot: Depot, parcel: Parcel, heavier: int, larger: int) -> None:
    """Charge a parcel for as many per cent of its price as it is heavier or larger, whichever is more."""
    weight = declared_weight(parcel, depot.contract) * (100 + heavier) / 100
    volume = declared_volume(parcel, depot.contract) * (100 + larger) / 100
    amount = max(Decimal(parcel.quote["gross"]) * max(heavier, larger) / 100, CENT)
    depot.record(
        "charge", **depot.names(parcel), kind="under-declared", amount=f"{amount:.2f}",
        currency=parcel.quote["currency"], measured_weight=f"{weight:.3f}", measured_volume=f"{volume:.4f}",
    )  # fmt: skip
