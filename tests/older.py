"""An older carrier account next to the one that takes new orders, as in OLDER_CARRIERS."""

from typing import Any

from orders.calling import carrier_settings, gateway
from orders.models import CarrierAccount

WEBHOOK_SECRET = "canary-webhook-secret-of-the-older-account"
KEY = "canary-key-of-the-older-account"
LINK_KEY = "canary-link-key-of-the-older-account"
LINKED = 'link = "signed"\nlink_page = "https://track.older.example/t/"\nlink_hosts = "track.older.example"\n'


def described(**parts: Any) -> dict[str, Any]:
    """Return the settings CARRIER_OLD_…, as settings.py reads them."""
    return {
        "BASE_URL": "https://older.example/api",
        "ACCOUNT": "older-account",
        "KEY": KEY,
        "PARTNER_ID": "PRT-0000",
        "CONTRACT": "",
        "LINK_KEY": LINK_KEY,
        "CA_BUNDLE": "",
        "CLIENT": "",
        "WEBHOOK_KEY": "",
        "TITLE": "",
        "WEBHOOK_SECRETS": [f"carrier:{WEBHOOK_SECRET}"],
        **parts,
    }


def named(settings: Any, **parts: Any) -> CarrierAccount:
    """Make an account an older one in the settings, and return its row. This needs a database."""
    settings.OLDER_CARRIERS = {"OLD": described(**parts)}
    return gateway.account_of(carrier_settings.all_settings()[1])


def unnamed() -> CarrierAccount:
    """Return the row of an account without settings."""
    return CarrierAccount.objects.create(name="gone-account at https://gone.example", fingerprint="0" * 64)
