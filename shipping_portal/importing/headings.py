"""Names of columns as they are compared: `ShipToZipCode`, `ship_to_zip_code` and “Ship to ZIP code” are one."""

import re
from functools import lru_cache

from shipping_portal.accounts.address.text import normalise

# Where a word begins inside of a name without blanks: shipTo, SAAddress, Address1.
INSIDE = re.compile(r"(?<=[a-z])(?<![LW]x)(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# What a form says of a column beside its name: “Order ID (required)”, “ATL (Y/N)”.
ASIDE = re.compile(r" (?:optional|required|mandatory|if any|if applicable|if known|y n|yes no|yes or no)$")
DIGIT = re.compile(r"(?<=[A-Za-z])(?=[0-9])")


@lru_cache(4096)
def plain(name: str) -> str:
    """Return the name normalised, a name without blanks by its words, without what a form says beside it."""
    bare = name.strip("*")
    return ASIDE.sub("", normalise(DIGIT.sub(" ", INSIDE.sub(" ", bare) if bare.isalnum() else bare)))
