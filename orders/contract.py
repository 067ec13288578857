"""The contract in force: what this carrier is assumed or known to do."""

from functools import lru_cache

from django.conf import settings

from shipping_portal.carrier.contract import Contract


def contract() -> Contract:
    """Read once per file; the file is named by the settings."""
    return _load(settings.CARRIER_CONTRACT)


@lru_cache(maxsize=8)
def _load(path: str) -> Contract:
    return Contract.load(path or None)
