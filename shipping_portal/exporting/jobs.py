"""The modules of exporting whose functions are jobs or retention terms."""

from shipping_portal.exporting import packing

__all__ = ["packing"]
