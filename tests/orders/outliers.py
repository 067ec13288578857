"""Import rows that weigh far more than the rest."""

from decimal import Decimal

from shipping_portal.carrier.messages import Measures
from shipping_portal.importing.models import Import
from tests import factories


def parcel(typed: str, unit: str = "cm") -> Measures:
    """Weight in kg and three sides, as read from the file."""
    weight, length, width, height = map(Decimal, typed.split(","))
    return Measures(weight, "kg", length, width, height, unit)


def ready(file: Import, typed: str, price: str = "12.08", **offer: str) -> None:
    """One more row of this file, priced."""
    of, by = file.sender, file.made_by
    quote = factories.quote(of, by, parcel=factories.details(of, measures=parcel(typed)), amount=price, **offer)
    factories.import_row(of, by, file=file, state="ready", problems={}, quote=quote)
