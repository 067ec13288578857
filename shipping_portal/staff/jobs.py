"""The modules of staff whose functions are jobs, chores or retention terms."""

from shipping_portal.staff import alerting, casework, erasing, health, pausing

__all__ = ["alerting", "casework", "erasing", "health", "pausing"]
