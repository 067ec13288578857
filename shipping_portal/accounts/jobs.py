"""The modules of accounts whose functions are jobs or retention terms."""

from shipping_portal.accounts import erasing
from shipping_portal.accounts.login import sessions, signing_up
from shipping_portal.accounts.mail import mailing

__all__ = ["erasing", "mailing", "sessions", "signing_up"]
