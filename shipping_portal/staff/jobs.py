"""The modules of staff whose functions are jobs or chores."""

from shipping_portal.staff import casework, health, pausing

__all__ = ["casework", "health", "pausing"]
