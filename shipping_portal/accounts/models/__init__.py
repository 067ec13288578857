"""Define who may do what for which sender, and where parcels start."""

from shipping_portal.accounts.models.api_tokens import ApiToken
from shipping_portal.accounts.models.audit import Audit
from shipping_portal.accounts.models.book import ParcelSize, Receiver, ReceiverKey
from shipping_portal.accounts.models.entry import EntryLink
from shipping_portal.accounts.models.localities import Locality, LocalityAlias, LocalityList
from shipping_portal.accounts.models.senders import (
    Membership,
    OwnedQuerySet,
    PickupAddress,
    Role,
    Sender,
    belongs_to,
)
from shipping_portal.accounts.models.team import (
    ApprovalRequest,
    Invitation,
    Notification,
    NotificationChoice,
)
from shipping_portal.accounts.models.users import Session, User
from shipping_portal.accounts.models.webhooks import WebhookEndpoint, WebhookEvent, WebhookKind
