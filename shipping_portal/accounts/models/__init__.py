"""Who may do what for whom, and where parcels start."""

from shipping_portal.accounts.models.audit import Audit
from shipping_portal.accounts.models.localities import Locality, LocalityAlias, LocalityList
from shipping_portal.accounts.models.senders import Membership, PickupAddress, Role, Sender
from shipping_portal.accounts.models.users import User

__all__ = [
    "Audit",
    "Locality",
    "LocalityAlias",
    "LocalityList",
    "Membership",
    "PickupAddress",
    "Role",
    "Sender",
    "User",
]
