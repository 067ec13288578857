"""The modules of importing whose functions are jobs, chores or retention terms."""

from shipping_portal.importing import booking, checking, finishing

__all__ = ["booking", "checking", "finishing"]
