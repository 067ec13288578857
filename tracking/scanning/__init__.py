"""Scans: read from stored deliveries, stored once, folded into progress."""
