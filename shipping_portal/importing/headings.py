"""Names of columns as they are compared: `ShipToZipCode`, `ship_to_zip_code` and “Ship to ZIP code” are one."""

import re

from shipping_portal.accounts.text import normalise

# Where a word begins inside of a name without blanks: shipTo, SAAddress, Address1.
INSIDE = re.compile(r"(?<=[a-z])(?<![LW]x)(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
DIGIT = re.compile(r"(?<=[A-Za-z])(?=[0-9])")


def plain(name: str) -> str:
    """Return the name normalised, a name without blanks by its words, without a form's “(optional)”."""
    return normalise(DIGIT.sub(" ", INSIDE.sub(" ", name) if name.isalnum() else name)).removesuffix(" optional")
