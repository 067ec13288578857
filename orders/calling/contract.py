"""Find an account's settings, contract and client: what its carrier is assumed or known to do."""

from collections.abc import Callable
from decimal import Decimal

from django.conf import settings

from orders.calling import carrier_settings
from orders.models.account import CarrierAccount
from shipping_portal import VERSION
from shipping_portal.carrier.client import Call, Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Party


def settings_of(
    account: CarrierAccount | carrier_settings.CarrierSettings,
) -> carrier_settings.CarrierSettings | None:
    """Return the account's settings, or None once the environment no longer has them."""
    return next(
        (
            configured
            for configured in carrier_settings.all_settings()
            if configured.fingerprint == account.fingerprint
        ),
        None,
    )


def current_contract() -> Contract:
    """Return the contract of the default account for new orders."""
    return carrier_settings.current_settings().contract


def contracts_for_new_orders() -> list[Contract]:
    """Return the contracts of the accounts that take new orders, the default's first."""
    return [configured.contract for configured in carrier_settings.settings_for_new_orders()]


def exports_from(origin: str) -> bool:
    """Return whether a carrier takes parcels abroad from that country."""
    return any(origin in contract.export_origins for contract in contracts_for_new_orders())


def reach_from(origin: str) -> set[str]:
    """Return the countries that parcels may go to from there (interface §1). None means any."""
    reaches = [_reach_by(contract, origin) for contract in contracts_for_new_orders()]
    return set().union(*reaches) if all(reaches) else set()


def _reach_by(contract: Contract, origin: str) -> set[str]:
    if origin not in contract.export_origins:
        return {origin}
    return {origin, *contract.destinations} if contract.destinations else set()


def destinations() -> set[str]:
    """Return the countries that a carrier names as destinations. None means any."""
    named = [set(contract.destinations) for contract in contracts_for_new_orders()]
    return set().union(*named) if all(named) else set()


def customs_apply(start: Party, end: Party) -> bool:
    """Return whether any carrier that takes new orders needs a list of contents on this route."""
    carriers = carrier_settings.settings_for_new_orders()
    return any(configured.client_class.needs_customs(start, end) for configured in carriers)


def cover_limit_from(origin: str) -> float | None:
    """Return the most Extra Cover that a carrier sells from that country, or None for no cover."""
    limits = [one.cover_limit for one in contracts_for_new_orders() if origin in one.cover_origins]
    return max(limits, default=None)


def takes_parcel(contract: Contract, origin: str, to: str, cover: Decimal | None) -> bool:
    """Return whether the contract covers a parcel's route and its Extra Cover."""
    reach = _reach_by(contract, origin)
    is_covered = not cover or (origin in contract.cover_origins and cover <= contract.cover_limit)
    return is_covered and (not reach or to in reach)


def contract_of(account: CarrierAccount) -> Contract:
    """Return the account's own contract, or the current one if the environment no longer has it."""
    configured = settings_of(account)
    return configured.contract if configured else current_contract()


def client_class_of(account: CarrierAccount) -> type[Carrier]:
    """Return the class of the account's own client, or the current one, as with contracts."""
    return (settings_of(account) or carrier_settings.current_settings()).client_class


def has_parcel_tools(account: CarrierAccount | None = None) -> bool:
    """Return whether the carrier links us to its Authorised Tracking Page (interface §5).

    Senders change a pickup day there. An account without a key has no such page.
    """
    configured = settings_of(account) if account else carrier_settings.current_settings()
    return configured is not None and configured.has_parcel_tools


def another_day(quote: str = "its reference", *, account: CarrierAccount | None = None) -> str:
    """Return how a sender gets another pickup day, as a clause.

    It is never by cancelling (interface §3).
    """
    if has_parcel_tools(account):
        return "choose a new day under “Change delivery or pickup”"
    return f"contact us and quote {quote}; we'll move the day with the carrier"


def client_of(
    configured: carrier_settings.CarrierSettings,
    *,
    on_call: Callable[[Call], None] | None = None,
    turn: Callable[..., None] | None = None,
) -> Carrier:
    """Return a client with these settings.

    Without `on_call` and `turn`, nothing is logged and no rate limit is kept, because there may be
    no database yet.
    """
    return configured.client_class(
        base_url=configured.base_url,
        account=configured.account,
        key=configured.key,
        partner_id=configured.partner_id,
        user_agent=user_agent(),
        contract=configured.contract,
        on_call=on_call,
        turn=turn,
        link_key=configured.link_key,
        deadline=settings.CARRIER_DEADLINE,
        ca_bundle=configured.ca_bundle or None,
        proxy=settings.CARRIER_PROXY,
    )


def user_agent() -> str:
    """Return our User-Agent."""
    return f"ShippingPortal/{VERSION} ({settings.CARRIER_CONTACT or settings.SITE_URL})"
