"""Show receivers by role: bookers see all, viewers no contact details, bookkeepers initials."""

from dataclasses import dataclass

from orders.models import Order
from shipping_portal.accounts.access import BOOKERS, BOOKKEEPER


@dataclass(frozen=True)
class Shown:
    """The receiver as one role sees it. `place` is one line."""

    name: str
    place: str


def shown_receiver(order: Order, role: str) -> Shown:
    if role == BOOKKEEPER:
        return Shown(masked_name(order.receiver_name), order.receiver_postcode)
    place = (order.receiver_suburb, order.receiver_state, order.receiver_postcode)
    return Shown(order.receiver_name, " ".join(part for part in place if part))


def masked_name(name: str) -> str:
    """Return `P. Nair` for `Priya Nair`, or the initial of a single word."""
    first, *rest = name.split()
    return f"{first[0]}. {rest[-1]}" if rest else f"{first[0]}."


def sees_contact(role: str) -> bool:
    """Return whether this role sees contact details, labels and the carrier's words.

    Bookers do.
    """
    return role in BOOKERS
