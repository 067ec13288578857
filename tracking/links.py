"""The Authorised Tracking Page link: only ever shown to a logged-in member of the owning account (interface §5)."""

import datetime as dt

from orders import gateway
from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Audit, User
from shipping_portal.carrier.errors import CarrierError, LinkOff


class NoLink(Exception):
    """There is no link to show; the text is for the sender."""


def tracking_page_link(order: Order, *, by: User, now: dt.datetime) -> str:
    """A fresh link with the sender's role, never stored; each showing is audited. Raises NoLink."""
    if order.status != Status.BOOKED:
        raise NoLink("Parcel tools are open only while the parcel is booked.")
    if not gateway.is_reachable(order.account):
        raise NoLink(
            "It was booked on another carrier account, so its page can't be opened from here. Contact us."
        )
    try:
        link = gateway.carrier_of(order, is_person=True).tracking_page_link(
            order.carrier_order_id, order.carrier_reference or "", now=now
        )
    except LinkOff as error:
        raise NoLink("The carrier gives us no link to its own page for this parcel.") from error
    except CarrierError as error:
        raise NoLink(
            "The carrier didn't give us the link just now. Your parcel is not affected; open this page again."
        ) from error
    Audit.write("link shown", order, by=by, sender=order.sender, at=now)
    return link
