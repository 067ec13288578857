"""The modules of tracking whose functions are jobs."""

from tracking import erasing, polling, reading, scans

__all__ = ["erasing", "polling", "reading", "scans"]
