"""Add scans to a label's history: by hand, or along a two-minute journey."""

import functools
from datetime import UTC, datetime

from shipping_portal.sandbox.shipstation.labels import Label, Labels
from shipping_portal.sandbox.shipstation.webhooks import Events
from shipping_portal.sandbox.timeline import Timeline

STANDS_STILL = "SIM-NONE"  # the beginning of a reference whose parcel nobody collects
STATUSES = {"UN", "NY", "AC", "IT", "DE", "EX", "AT", "SP"}
JOURNEY = (
    (2, "AC", "", "Label created"),
    (20, "IT", "PICKED_UP", "Picked up"),
    (50, "IT", "", "Arrived at a facility"),
    (80, "IT", "", "Left a facility"),
    (100, "IT", "OUT_FOR_DELIVERY", "Out for delivery"),
    (120, "DE", "DELIVERED", "Delivered"),
)


class Tracking:
    """Creates histories and announces each change."""

    def __init__(self, labels: Labels, timeline: Timeline, events: Events) -> None:
        self.labels, self.timeline, self.events = labels, timeline, events
        self.base_url = ""

    def start(self, label: Label, step: int = 0) -> None:
        """Start the journey of a bought label's parcel, unless parcels stay in place."""
        speed = self.labels.settings.speed
        is_still = label.external_id in self.labels.still
        if speed > 0 and not is_still and step < len(JOURNEY):
            seconds = JOURNEY[step][0] - (JOURNEY[step - 1][0] if step else 0)
            self.timeline.after(seconds / speed, functools.partial(self._go, label, step))

    def _go(self, label: Label, step: int) -> None:
        _, status_code, detail, text = JOURNEY[step]
        if label.status != "voided":
            details = {"status_detail_code": detail} if detail else {}
            self.add_scan(label, status_code, description=text, **details)
            self.start(label, step + 1)

    def add_scan(self, label: Label, status_code: str, **facts: str) -> None:
        """Add one scan. Raises ValueError for a code that isn't ShipStation's."""
        if status_code not in STATUSES:
            raise ValueError(f"{status_code} is not one of {', '.join(sorted(STATUSES))}.")
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        event = {"occurred_at": now, "description": "Scanned", "status_code": status_code}
        self.labels.add_event(label, event | facts)
        self.events.announce(label, self.base_url)
