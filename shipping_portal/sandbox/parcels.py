"""A parcel in the carrier's books: this account's order, or a foreign reference."""

from dataclasses import asdict, dataclass, field
from typing import Any

COLLECTED = ("collected", "dropped_off")
MOVING = (
    *COLLECTED,
    "in_transit",
    "out_for_delivery",
    "delivery_attempted",
    "held",
    "delivered",
    "lost",
    "damaged",
    "cannot_deliver",
    "returning",
)

STATES = {
    "pickup_futile": "Pickup Attempted",
    "pickup_missed": "Pickup",
    "delivered": "Delivered",
    "lost": "Lost",
    "returning": "Return to Sender",
    "expired": "Expired",
    "damaged": "Damaged",
    "dropped_off": "Dropped Off",
}


@dataclass
class Scan:
    """One tracking event.

    ``scan_time`` is RFC 3339 in UTC; ``location`` has our member names or is None.
    """

    event_id: str
    event_type: str
    progress: str
    scan_time: str
    description: str
    location: dict[str, str | None] | None = None


@dataclass
class Parcel:
    """A parcel at the carrier. ``quote`` is the booked price as JSON with decimals as text.

    Times are seconds since the epoch.
    """

    reference: str
    order_id: str = ""
    order_key: str = ""
    partner_id: str = ""
    account: str = ""
    body: dict[str, Any] = field(default_factory=dict)
    quote: dict[str, Any] = field(default_factory=dict)
    origin: str = "AU"
    destination: str = "AU"
    created_at: float = 0.0
    labels_due_at: float = 0.0
    expires_at: float = 0.0
    pickup_date: str | None = None
    cancelled_at: float | None = None
    # For a carrier whose cancellations are requests: "asked", then "refused" or cancelled.
    refund: str = ""
    journey: str = "normal"
    journey_step: int = 0
    scans: list[Scan] = field(default_factory=list)

    @property
    def is_foreign(self) -> bool:
        return not self.order_id

    @property
    def is_pickup(self) -> bool:
        return bool(self.quote) and self.quote["first_mile"] == "pickup"

    @property
    def is_moving(self) -> bool:
        return any(scan.progress in MOVING for scan in self.scans)

    @property
    def is_cancellable(self) -> bool:
        return self.cancelled_at is None and not self.is_moving

    def first_scan_of(self, *progress: str) -> Scan | None:
        """Return the earliest scan that means one of ``progress``."""
        return next((scan for scan in self.scans if scan.progress in progress), None)

    def state(self, *, now: float, words: dict[str, str]) -> str:
        """Return the state: cancelled unless the label was used, else by the last telling scan."""
        if self.cancelled_at is not None and not self.is_moving:
            return words["cancelled"]
        if self.refund and words[self.refund]:
            return words[self.refund]
        known = [scan.progress for scan in self.scans if scan.progress]
        if not known:
            waiting = "Pickup" if self.is_pickup else "Drop Off"
            return "Booking" if now < self.labels_due_at else waiting
        return STATES.get(known[-1], "In Transit")

    def as_line(self) -> dict[str, Any]:
        """Return the parcel for the ledger's booked line."""
        return asdict(self)

    @classmethod
    def from_line(cls, line: dict[str, Any]) -> "Parcel":
        scans = [Scan(**scan) for scan in line["scans"]]
        return cls(**{**line, "scans": scans})
