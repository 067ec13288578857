"""The modules of staff whose functions are jobs, chores or retention terms."""

from shipping_portal.staff import casework, erasing, health, pausing

__all__ = ["casework", "erasing", "health", "pausing"]
