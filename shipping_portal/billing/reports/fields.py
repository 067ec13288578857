"""Map a report's columns. Interface §2.5 names the items but no format, so operators map them."""

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any, Self

from orders.models import CarrierAccount
from shipping_portal.billing.models import BillingProfile
from shipping_portal.jobs.registry import chore

FIELDS = {
    "type": "Line type",
    "paid": "Paid or refunded",
    "reason": "Refund reason",
    "line_id": "Carrier's line number",
    "reference": "Carrier reference",
    "customer_reference": "Customer reference",
    "price": "Amount",
    "currency": "Currency",
    "order_date": "Order date",
    "refund_date": "Refund date",
    "cover": "Extra Cover",
    "declared_kg": "Declared weight (kg)",
    "declared_m3": "Declared volume (m³)",
    "measured_kg": "Measured weight (kg)",
    "measured_m3": "Measured volume (m³)",
}
NEEDED = ("type", "reference", "price", "currency")
DEFAULT_COLUMNS = {
    "type": "Type",
    "paid": "Paid",
    "reason": "Refund Reason",
    "reference": "Reference",
    "customer_reference": "Customer Reference",
    "price": "Price",
    "currency": "Currency",
    "order_date": "Order Date",
    "refund_date": "Refund Date",
    "cover": "Warranty Price",
    "declared_kg": "Declared Max Weight",
    "declared_m3": "Declared Max Volume",
    "measured_kg": "Measured Weight",
    "measured_m3": "Measured Volume",
}


@dataclass(frozen=True)
class Profile:
    """How one file is read: its account's profile at the time of the upload."""

    delimiter: str
    columns: dict[str, str]
    date_form: str
    refunds_positive: bool
    cover_inside: bool
    total_word: str
    decimal_sign: str = ""  # empty for older files

    @classmethod
    def of(cls, row: BillingProfile) -> Self:
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@chore("report columns", every=60)
def give_profiles(now: dt.datetime) -> None:
    """Create each new account's profile, for an operator to check before the first report."""
    for account in CarrierAccount.objects.filter(billing_profile=None):
        profile_of(account)


def profile_of(account: CarrierAccount) -> BillingProfile:
    """Return the account's profile.

    It has the family's usual columns until an operator changes it.
    """
    made, _ = BillingProfile.objects.get_or_create(
        account=account, defaults={"columns": DEFAULT_COLUMNS, "total_word": "Total"}
    )
    return made
