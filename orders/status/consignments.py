"""Describe the outcome of parcels that were booked together."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlencode

from orders.models import Order
from orders.models.statuses import MAY_COST, Status
from shipping_portal.accounts.formatting import money_in

OTHERWISE = {Status.BOOKING: "being booked", Status.UNCONFIRMED: "being checked with the carrier"}
OTHERWISE |= {Status.CONFLICT: "being sorted out", Status.CANCELLED: "cancelled"}
NEVER_BOOKED = {Status.DRAFT, Status.REJECTED, Status.NOT_BOOKED}


@dataclass(frozen=True)
class Together:
    """The parcels of one order, in order, and one sentence about all of them."""

    parcels: list[Order]
    sentence: str

    @property
    def labels(self) -> list[Order]:
        """Parcels that are booked; their labels are printed together."""
        return [one for one in self.parcels if one.is_booked]

    @property
    def labels_query(self) -> str:
        return urlencode([("order", one.uuid) for one in self.labels])


def parcels_of_booking(order: Order) -> Together | None:
    """Return the parcels that were booked with this one, or None if it was booked alone."""
    if not order.parcel_count:
        return None
    parcels = list(order.consignment_parcels())
    return Together(parcels, _sentence(parcels))


def state_of(order: Order) -> str:
    """Return a value that changes with the status of any parcel."""
    return "-".join(order.consignment_parcels().values_list("status", flat=True))


def _sentence(parcels: Sequence[Order]) -> str:
    """Return how many are booked, what the others wait for, and which cost nothing."""
    booked = [one for one in parcels if one.status in MAY_COST - OTHERWISE.keys()]
    verb = "is" if len(booked) == 1 else "are"
    sentences = [f"{len(booked)} of {len(parcels)} {verb} booked{_price_of(booked)}."]
    for status, words in OTHERWISE.items():
        if waiting := [one for one in parcels if one.status == status]:
            verb = "is" if len(waiting) == 1 else "are"
            sentences.append(f"{_name_parcels(waiting).capitalize()} {verb} {words}.")
    if free := [one for one in parcels if one.status in NEVER_BOOKED]:
        sentences.append(f"Nothing was charged for {_name_parcels(free)}.")
    return " ".join(sentences)


def _price_of(parcels: Sequence[Order]) -> str:
    currencies = {one.currency for one in parcels}
    if len(currencies) != 1:
        return ""
    return f" for {money_in(sum((one.total for one in parcels), Decimal(0)), *currencies)}"


def _name_parcels(parcels: Sequence[Order]) -> str:
    """Return `parcel 2`, or `parcels 1 and 3`."""
    *first, last = [str(one.parcel_number) for one in parcels]
    return f"parcels {', '.join(first)} and {last}" if first else f"parcel {last}"
