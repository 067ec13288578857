"""The desk's pages by noun; importing them registers them on the desk's site."""

from shipping_portal.desk.admin import (
    attempts,
    audit,
    calls,
    carrier,
    imports,
    labels,
    localities,
    orders,
    parked,
    people,
    senders,
    tracking,
    webhooks,
    words,
)

__all__ = [
    "attempts",
    "audit",
    "calls",
    "carrier",
    "imports",
    "labels",
    "localities",
    "orders",
    "parked",
    "people",
    "senders",
    "tracking",
    "webhooks",
    "words",
]
