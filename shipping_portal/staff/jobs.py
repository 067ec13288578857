"""The modules of staff whose functions are chores."""

from shipping_portal.staff import health, pausing

__all__ = ["health", "pausing"]
