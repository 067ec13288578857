"""The modules of exporting whose functions are jobs or retention terms."""

from shipping_portal.exporting import erasing, packing

__all__ = ["erasing", "packing"]
