"""The modules of accounts whose functions are jobs or retention terms."""

from shipping_portal.accounts import erasing, mailing, sessions, signing_up

__all__ = ["erasing", "mailing", "sessions", "signing_up"]
