"""The modules of the desk whose functions are chores."""

from shipping_portal.desk import gaps, pausing

__all__ = ["gaps", "pausing"]
