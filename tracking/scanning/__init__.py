"""Scans: read from stored deliveries, stored once, projected to progress."""
