"""Describe carrier accounts from the environment: address, credentials, contract, webhook secrets.

The account of CARRIER_… takes new orders, and so does the one in SECOND_CARRIER. The accounts in
OLDER_CARRIERS are kept until their orders are finished. None of this is stored; a CarrierAccount
row finds its settings by fingerprint (docs/decisions/0016).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.module_loading import import_string

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.hosts import spelled_alike

CURRENT = "CARRIER"  # the prefix of the default account for new orders


class UnknownAccount(Exception):
    """Raised when no settings describe an account of this name. The text is for the operator."""


@dataclass(frozen=True)
class CarrierSettings:
    """One account's settings. `prefix` starts their names, such as CARRIER or CARRIER_OLD."""

    prefix: str
    base_url: str
    account: str
    key: str = field(repr=False)
    partner_id: str
    contract_file: str
    link_key: str = field(repr=False)
    webhook_secrets: tuple[str, ...] = field(repr=False)
    ca_bundle: str = ""
    client: str = ""
    webhook_key: str = field(default="", repr=False)
    given_title: str = ""

    @property
    def title(self) -> str:
        """Return the carrier's name for senders, shown where two accounts take new orders."""
        return self.given_title or self.account

    @property
    def name(self) -> str:
        return f"{self.account} at {spelled_alike(self.base_url)}"

    @property
    def fingerprint(self) -> str:
        """Return the account's identity.

        Under another address or id, our keys and order ids mean nothing.
        """
        return _fingerprint(self.name)

    @property
    def secrets_setting(self) -> str:
        """Return the setting that holds its webhook secrets.

        The current account's setting has no prefix.
        """
        return "WEBHOOK_SECRETS" if self.prefix == CURRENT else f"{self.prefix}_WEBHOOK_SECRETS"

    @property
    def setting_names(self) -> list[str]:
        """Return the names of all settings that describe this account."""
        return [*(f"{self.prefix}_{part}" for part in settings.OF_A_CARRIER), self.secrets_setting]

    @property
    def is_closed(self) -> bool:
        """Return whether an older account has no key.

        Such an account isn't called, but its contract is still used.
        """
        return not (self.key or self.takes_new_orders)

    @property
    def has_parcel_tools(self) -> bool:
        """Return whether the carrier gives us Authorised Tracking Page links (interface §5).

        There are none for a closed account.
        """
        return not self.is_closed and self.contract.link != "none"

    @property
    def takes_new_orders(self) -> bool:
        """Return whether this is the default account or the second one."""
        return self.prefix in (CURRENT, *(f"{CURRENT}_{name}" for name in settings.SECOND_CARRIER))

    @property
    def contract(self) -> Contract:
        """Return the contract, read once per class and file. Raises ContractError."""
        return _load_contract(self.contract_file, self.client)

    @property
    def signs_webhooks(self) -> bool:
        """Return whether its webhooks are accepted only with a valid signature."""
        return bool(self.client_class.signature_header)

    @property
    def client_class(self) -> type[Carrier]:
        """Return the class of its client. Raises ImportError or TypeError."""
        return _load_client_class(self.client)


def current_settings() -> CarrierSettings:
    """Return the default account for new orders."""
    named = {name: getattr(settings, f"{CURRENT}_{name}") for name in settings.OF_A_CARRIER}
    return _read_settings(CURRENT, named | {"WEBHOOK_SECRETS": settings.WEBHOOK_SECRETS})


def settings_for_new_orders() -> list[CarrierSettings]:
    """Return the accounts that take new orders, the default first."""
    second = settings.SECOND_CARRIER.items()
    return [
        current_settings(),
        *(_read_settings(f"{CURRENT}_{name}", named) for name, named in second),
    ]


def all_settings() -> list[CarrierSettings]:
    """Return all accounts, those that take new orders first, the default before the second."""
    older = settings.OLDER_CARRIERS.items()
    return [
        *settings_for_new_orders(),
        *(_read_settings(f"{CURRENT}_{name}", named) for name, named in older),
    ]


def further_names() -> list[str]:
    """Return the names of all accounts but the default, in the order of `all_settings`."""
    return [*settings.SECOND_CARRIER, *settings.OLDER_CARRIERS]


def settings_named(name: str) -> CarrierSettings:
    """Return the account with this name, or the default one if no name is given.

    Raises UnknownAccount.
    """
    prefix = f"{CURRENT}_{name}" if name else CURRENT
    configured = next(
        (configured for configured in all_settings() if configured.prefix == prefix), None
    )
    if configured is None:
        older = ", ".join(settings.OLDER_CARRIERS) or "none"
        second = "".join(f" SECOND_CARRIER names: {name}." for name in settings.SECOND_CARRIER)
        raise UnknownAccount(
            f"{name} is no carrier account here. OLDER_CARRIERS names: {older}.{second}"
        )
    return configured


def all_secrets() -> list[str]:
    """Return every account's keys and webhook secrets, which no log line or page may show."""
    configured = all_settings()
    keys = [key for one in configured for key in (one.key, one.link_key, one.webhook_key)]
    proxy = urlsplit(settings.CARRIER_PROXY).password or ""
    return [
        proxy,
        *keys,
        *(pair.partition(":")[2] for one in configured for pair in one.webhook_secrets),
    ]


def _read_settings(prefix: str, named: Mapping[str, Any]) -> CarrierSettings:
    return CarrierSettings(
        prefix=prefix,
        base_url=named["BASE_URL"],
        account=named["ACCOUNT"],
        key=named["KEY"],
        partner_id=named["PARTNER_ID"],
        contract_file=named["CONTRACT"],
        link_key=named["LINK_KEY"],
        webhook_secrets=tuple(named["WEBHOOK_SECRETS"]),
        ca_bundle=named["CA_BUNDLE"],
        client=named["CLIENT"],
        webhook_key=named["WEBHOOK_KEY"],
        given_title=named["TITLE"],
    )


@lru_cache(maxsize=64)
def _fingerprint(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


@lru_cache(maxsize=8)
def _load_contract(path: str, client: str) -> Contract:
    try:
        points = _load_client_class(client).points
    except (ImportError, TypeError):
        points = {}  # portal.E018 reports the class
    return Contract.load(path or None, points)


def _load_client_class(name: str) -> type[Carrier]:
    found = import_string(name) if name else Carrier
    if not (isinstance(found, type) and issubclass(found, Carrier)):
        raise TypeError(f"{name} is no kind of shipping_portal.carrier.client.Carrier")
    return found
