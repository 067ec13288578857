"""The modules of billing whose functions are jobs or chores."""

from shipping_portal.billing import checking, erasing, fields, folder, matching, week_sums

__all__ = ["checking", "erasing", "fields", "folder", "matching", "week_sums"]
