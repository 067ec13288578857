"""The modules of tracking whose functions are jobs."""

from tracking import erasing, intake, polling, scans

__all__ = ["erasing", "intake", "polling", "scans"]
