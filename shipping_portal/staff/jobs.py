"""The modules of staff whose functions are chores or retention terms."""

from shipping_portal.staff import erasing, health, pausing

__all__ = ["erasing", "health", "pausing"]
