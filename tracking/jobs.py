"""The modules of tracking whose functions are jobs."""

from tracking import intake, polling, scans

__all__ = ["intake", "polling", "scans"]
