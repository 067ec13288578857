"""The modules of billing whose functions are jobs or chores."""

from shipping_portal.billing import checking, erasing, fields, matching

__all__ = ["checking", "erasing", "fields", "matching"]
