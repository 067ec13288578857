"""The contract in force: what this carrier is assumed or known to do."""

from functools import lru_cache

from django.conf import settings

from shipping_portal.carrier.contract import Contract


def contract() -> Contract:
    """Read once per file; the file is named by the settings."""
    return _load(settings.CARRIER_CONTRACT)


def has_parcel_tools() -> bool:
    """Does the carrier give us links to its Authorised Tracking Page, where a sender moves a pickup (interface §5)?"""
    return contract().link != "none"


def another_day(quote: str = "its reference") -> str:
    """How a sender gets another pickup day, as a clause; never by cancelling (interface §3 rules 3, 4)."""
    if has_parcel_tools():
        return "choose a new day in parcel tools"
    return f"contact us and quote {quote}; we'll move the day with the carrier"


@lru_cache(maxsize=8)
def _load(path: str) -> Contract:
    return Contract.load(path or None)
