"""The settings and the contract of an account's carrier: what it is assumed or known to do."""

from __future__ import annotations

from orders.calling import carrier_settings
from orders.models.account import CarrierAccount
from shipping_portal.carrier.contract import Contract


def settings_of(account: CarrierAccount) -> carrier_settings.CarrierSettings | None:
    """Return the account's settings; None once the environment no longer names it, and nobody can be asked."""
    return next(
        (configured for configured in carrier_settings.every() if configured.fingerprint == account.fingerprint), None
    )


def contract() -> Contract:
    """Return the contract of the account that takes new orders."""
    return carrier_settings.current().contract


def contract_of(account: CarrierAccount) -> Contract:
    """Return the account's own contract; today's, once the environment doesn't name the account any more."""
    configured = settings_of(account)
    return configured.contract if configured else contract()


def has_parcel_tools(account: CarrierAccount | None = None) -> bool:
    """Return whether the carrier links us to its Authorised Tracking Page, where a pickup is moved (interface §5).

    None of an account that the environment holds no key of any more.
    """
    configured = settings_of(account) if account else carrier_settings.current()
    return configured is not None and configured.has_parcel_tools


def another_day(quote: str = "its reference", *, account: CarrierAccount | None = None) -> str:
    """Return how a sender gets another pickup day, as a clause; never by cancelling (interface §3 rules 3, 4)."""
    if has_parcel_tools(account):
        return "choose a new day under “Change delivery or pickup”"
    return f"contact us and quote {quote}; we'll move the day with the carrier"
