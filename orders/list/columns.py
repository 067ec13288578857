"""Let people choose the columns of the parcels list. To, reference and status always stay."""

from collections.abc import Iterable

OPTIONAL = {
    "order": "Order",
    "journey": "Journey",
    "service": "Service",
    "weight": "Weight",
    "booked": "Booked",
    "pickup": "Pickup",
    "due": "Due",
    "price": "Price",
}


def chosen_columns(stored: str) -> list[str]:
    """Return the columns that somebody chose, in the list's order, as stored with the user."""
    return [name for name in OPTIONAL if name in stored.split()]


def column_choices(stored: str) -> list[tuple[str, str, bool]]:
    """Return each column's name, its words, and whether it is shown."""
    shown = chosen_columns(stored)
    return [(name, words, name in shown) for name, words in OPTIONAL.items()]


def stored_columns(names: Iterable[str]) -> str:
    """Return a choice as it is stored. Unknown names are left out."""
    return " ".join(chosen_columns(" ".join(names)))
