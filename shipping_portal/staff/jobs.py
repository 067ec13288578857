"""The modules of staff whose functions are jobs, chores or retention terms."""

from shipping_portal.staff import casework, erasing
from shipping_portal.staff.alerts import alerting, certificates, health
from shipping_portal.staff.carrier import pausing

__all__ = ["alerting", "casework", "certificates", "erasing", "health", "pausing"]
