"""The modules of importing whose functions are jobs, chores or retention terms."""

from shipping_portal.importing import booking, checking, erasing, finishing

__all__ = ["booking", "checking", "erasing", "finishing"]
