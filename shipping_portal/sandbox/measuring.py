"""The depot's scale: a seeded share of the parcels on their way turns out larger and heavier than declared."""

import random
from decimal import Decimal

from shipping_portal.sandbox.bill_rows import declared_volume, declared_weight
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.parcels import Parcel

HEAVIER, LARGER, DEARER = Decimal("1.4"), Decimal("1.25"), Decimal("0.35")


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
            _charge(depot, parcel)


def _charge(depot: Depot, parcel: Parcel) -> None:
    weight = declared_weight(parcel, depot.contract) * HEAVIER
    volume = declared_volume(parcel, depot.contract) * LARGER
    amount = Decimal(parcel.quote["gross"]) * DEARER
    depot.record(
        "charge", **depot.names(parcel), kind="under-declared", amount=f"{amount:.2f}",
        currency=parcel.quote["currency"], measured_weight=f"{weight:.3f}", measured_volume=f"{volume:.4f}",
    )  # fmt: skip
