"""The modules of tracking whose functions are jobs."""

from tracking import intake, polling, scans
from tracking.exporting import packing

__all__ = ["intake", "packing", "polling", "scans"]
