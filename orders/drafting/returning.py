"""Send a parcel back: from its receiver's address to its sender's.

A return is an order like any other, with the same form, prices and Book button. Its draft
begins here, and `Order.returns` leads from it to the parcel that it sends back.
"""

from dataclasses import replace
from typing import Any

from orders.calling.contract import contracts_for_new_orders, takes_parcel
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import RECEIVER_PARTS, initial_of
from orders.models import Order, Quote
from orders.models.statuses import Progress
from shipping_portal.accounts.address.countries import country_name
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.carrier.messages import Party

ARRIVED = (Progress.DELIVERED, Progress.RETURNING)
ERASED = "The address it went to was erased, so there is nowhere to send it back from."
A_RETURN = "This is a return itself. Book a new parcel instead."
ANOTHER = "There is another return of this parcel already. Nothing was booked."
NOT_YET = "Only a parcel that was delivered, or is coming back, can be sent back."


def why_not_sent_back(order: Order) -> str:
    """Return why no return of this parcel can be booked now, or ""."""
    if order.returns_id:
        return A_RETURN
    if order.erased_at:
        return ERASED
    if not order.is_booked or order.progress not in ARRIVED:
        return NOT_YET
    home = order.pickup["country"]
    way = order.receiver_country, home
    if way[0] in Sender.Country.values and any(
        takes_parcel(contract, *way, None) for contract in contracts_for_new_orders()
    ):
        return ""
    return f"No carrier of ours takes parcels from {country_name(way[0])} to {country_name(home)}."


def return_of(order: Order, sender: Sender) -> ParcelDetails:
    """Return the same parcel on its way back, to the sender's current address.

    The instructions at each end were for the other driver, and Extra Cover has to be chosen again.
    """
    details, home = order.details(), sender.pickup_address()
    return replace(
        details,
        pickup=_without_instructions(details.receiver),
        receiver=_without_instructions(home.party() if home else Party()),
        cover=None,
        returns=order.pk,
        ends_at_pickup=True,
    )


def with_current_end(values: Any, quote: Quote, sender: Sender) -> Any:
    """Return a return's form values; if it goes to our earlier address, use the current one.

    `quote` is the draft's last price, which shows whether it ended at our address. A receiver that
    was typed since stays.
    """
    priced = ParcelDetails.from_json(quote.details)
    now = priced.with_pickup(sender.pickup_address())
    old, new = (initial_of(one.receiver) for one in (priced, now))
    names = [f"receiver_{part}" for part in RECEIVER_PARTS]
    if any(str(values.get(name) or "") != old[name] for name in names):
        return values
    changed = values.copy()
    for name in names:
        changed[name] = new[name]
    return changed


def form_start(end: Party) -> PickupAddress:
    """Return where a return starts, as the form's address. It isn't a row of the database."""
    return PickupAddress(**vars(_without_instructions(end)))


def _without_instructions(party: Party) -> Party:
    return replace(party, instructions="")
