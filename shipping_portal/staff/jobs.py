"""The modules of the desk whose functions are chores."""

from shipping_portal.staff import gaps, pausing

__all__ = ["gaps", "pausing"]
