"""The modules of billing whose functions are jobs or chores."""

from shipping_portal.billing import erasing
from shipping_portal.billing.charges import matching, week_sums
from shipping_portal.billing.reports import checking, fields, folder

__all__ = ["checking", "erasing", "fields", "folder", "matching", "week_sums"]
