"""Show receivers by role: bookers see all, viewers no contact details, bookkeepers initials."""

from dataclasses import dataclass

from orders.models import Order
from shipping_portal.accounts.access import BOOKERS, BOOKKEEPER


@dataclass(frozen=True)
class Shown:
    """The receiver as one role sees them. `place` is one line, and `town` is shorter."""

    name: str
    place: str
    town: str


def shown_receiver(order: Order, role: str) -> Shown:
    """Return who a parcel goes to or, for a return, who it comes from."""
    name, *place = map(order.of_customer, ("name", "suburb", "state", "postcode"))
    if role == BOOKKEEPER:
        return Shown(masked_name(name), place[-1], place[-1])
    town = " ".join(part for part in place[:2] if part)
    return Shown(name, f"{town} {place[-1]}".strip(), town)


def who_and_where(order: Order) -> str:
    """Return an order's customer in a line, as operators' lists name them."""
    name, suburb, postcode = map(order.of_customer, ("name", "suburb", "postcode"))
    return f"{'back from ' if order.returns_id else ''}{name}, {suburb} {postcode}"


def masked_name(name: str) -> str:
    """Return `P. Nair` for `Priya Nair`, or the initial of a single word."""
    first, *rest = name.split()
    return f"{first[0]}. {rest[-1]}" if rest else f"{first[0]}."


def sees_contact(role: str) -> bool:
    """Return whether this role sees contact details, labels and the carrier's words.

    Bookers see them.
    """
    return role in BOOKERS
