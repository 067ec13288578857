"""Money: weekly reports, their lines, and senders' disputes (interface §2.5)."""

from shipping_portal.billing.models.charges import PLACE, Charge, ChargeQuerySet, WeekSum
from shipping_portal.billing.models.disputes import Dispute, DisputePhoto, DisputeQuerySet
from shipping_portal.billing.models.kinds import (
    CANCEL_REFUNDS,
    COSTS,
    GIVEN_BACK,
    REFUNDS,
    SIZE_CHARGES,
    STALE,
    ChargeKind,
    Hold,
    round_cents,
    week_of,
)
from shipping_portal.billing.models.reports import (
    BillingProfile,
    BillingReport,
    ChargeWord,
    ReportFile,
)
