"""The carrier's weekly billing report: taken, read, checked, posted, matched and explained (interface §2.5)."""
