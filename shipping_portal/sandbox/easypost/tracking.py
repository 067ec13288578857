"""Add scans to a shipment's history: by hand, or along a two-minute journey."""

import functools

from shipping_portal.sandbox.easypost.documents import detail_document
from shipping_portal.sandbox.easypost.shipments import Shipment, Shipments
from shipping_portal.sandbox.easypost.webhooks import Events
from shipping_portal.sandbox.timeline import Timeline

FACTS = {"status_detail", "message", "datetime", "city", "state", "zip", "country"}
STATUSES = {
    *(
        "unknown",
        "pre_transit",
        "in_transit",
        "out_for_delivery",
        "delivered",
        "available_for_pickup",
    ),
    *("return_to_sender", "failure", "cancelled", "error"),
}
STANDS_STILL = "SIM-NONE"  # the beginning of a reference whose parcel nobody collects
JOURNEY = (
    (2, "pre_transit", "label_created", "Label created"),
    (20, "in_transit", "received_at_origin_facility", "Picked up"),
    (50, "in_transit", "arrived_at_facility", "Arrived at a facility"),
    (80, "in_transit", "departed_facility", "Left a facility"),
    (100, "out_for_delivery", "out_for_delivery", "Out for delivery"),
    (120, "delivered", "arrived_at_destination", "Delivered"),
)


class Tracking:
    """Creates histories and announces each change."""

    def __init__(self, shipments: Shipments, timeline: Timeline, events: Events) -> None:
        self.shipments, self.timeline, self.events = shipments, timeline, events
        self.base_url = ""

    def start(self, shipment: Shipment, step: int = 0) -> None:
        """Start a bought shipment's journey, unless parcels stay in place."""
        speed = self.shipments.settings.speed
        reference = (shipment.body.get("options") or {}).get("print_custom_1") or ""
        is_still = reference.startswith(STANDS_STILL)
        if speed > 0 and not is_still and step < len(JOURNEY):
            seconds = JOURNEY[step][0] - (JOURNEY[step - 1][0] if step else 0)
            self.timeline.after(seconds / speed, functools.partial(self._go, shipment, step))

    def _go(self, shipment: Shipment, step: int) -> None:
        _, status, detail, message = JOURNEY[step]
        if shipment.refund_status is None:
            self.add_scan(shipment, status, status_detail=detail, message=message)
            self.start(shipment, step + 1)

    def add_scan(self, shipment: Shipment, status: str, **facts: str) -> None:
        """Add one scan. Raises ValueError for a word that isn't EasyPost's."""
        if status not in STATUSES or set(facts) - FACTS:
            raise ValueError(f"{status} is not a status, or {', '.join(facts)} are not its facts.")
        scan = {
            "message": "Scanned",
            "status_detail": "unknown",
            "datetime": self.shipments.stamp(),
        } | facts
        source = shipment.rate["carrier"] if shipment.rate else ""
        before = shipment.status
        self.shipments.add_detail(
            shipment, detail_document(source, status=status, carrier_code="", **scan)
        )
        self.events.announce(shipment, before, self.base_url)
