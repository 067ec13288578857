"""Compare column names: `ShipToZipCode`, `ship_to_zip_code` and “Ship to ZIP code” are equal."""

import re
from collections.abc import Sequence
from functools import lru_cache

from shipping_portal.accounts.address.text import normalise_name

# Where a word begins in a name without spaces: shipTo, SAAddress, Address1.
INSIDE = re.compile(r"(?<=[a-z])(?<![LW]x)(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Remarks after a name: “Order ID (required)”, “ATL (Y/N)”.
ASIDE = re.compile(
    r" (?:optional|required|mandatory|if any|if applicable|if known|y n|yes no|yes or no)$"
)
DIGIT = re.compile(r"(?<=[A-Za-z])(?=[0-9])")


@lru_cache(4096)
def plain(name: str) -> str:
    """Return the name normalised, split into words, without remarks."""
    bare = name.strip("*")
    return ASIDE.sub(
        "", normalise_name(DIGIT.sub(" ", INSIDE.sub(" ", bare) if bare.isalnum() else bare))
    )


@lru_cache(256)
def _plain_names(header: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(plain, header))


def plain_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return the normalised names of all columns, computed once for all rows of a file."""
    return _plain_names(tuple(header))


def split_words(text: str) -> tuple[str, ...]:
    """Return the entries of a table written as text, separated by commas and line breaks."""
    return tuple(" ".join(word.split()) for word in text.split(","))
