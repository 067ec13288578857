"""The modules of staff whose functions are jobs, chores or retention terms."""

from shipping_portal.staff import alerting, casework, certificates, erasing, health, pausing

__all__ = ["alerting", "casework", "certificates", "erasing", "health", "pausing"]
