"""The modules of accounts whose functions are jobs or retention terms."""

from shipping_portal.accounts import mailing, sessions, signing_up

__all__ = ["mailing", "sessions", "signing_up"]
