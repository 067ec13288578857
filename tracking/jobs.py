"""The modules of tracking whose functions are jobs."""

from tracking import erasing, polling
from tracking.scanning import reading, scans

__all__ = ["erasing", "polling", "reading", "scans"]
