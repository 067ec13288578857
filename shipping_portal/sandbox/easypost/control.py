"""Control the sandbox EasyPost under /_sandbox/, from this machine only."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.control_requests import answer_control
from shipping_portal.sandbox.easypost.config import REFUND_ENDS
from shipping_portal.sandbox.easypost.shipments import Shipments
from shipping_portal.sandbox.easypost.tracking import Tracking
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.trouble import Troubles
from shipping_portal.sandbox.wire import Reply


class Control:
    """Each endpoint is a method: its name is the path, its arguments the JSON body's members."""

    def __init__(self, shipments: Shipments, tracking: Tracking, troubles: Troubles) -> None:
        self.shipments, self.tracking, self.troubles = shipments, tracking, troubles
        self._reads: dict[str, Callable[[], Any]] = {
            "ledger": lambda: list(shipments.ledger.lines()),
            "requests": lambda: list(shipments.requests),
            "deliveries": lambda: list(shipments.deliveries),
            "settings": lambda: vars(shipments.settings),
            "wallet": lambda: {"amount": str(shipments.wallet)},
        }
        self._writes: dict[str, Callable[..., Any]] = {
            "trouble": troubles.ask_for,
            "clear": self.clear,
            "advance": self.advance,
            "wallet": self.wallet,
            "scan": self.scan,
            "refund": self.refund,
            "listener": self.listener,
            "settings": self.settings,
        }

    def answer(self, request: Request) -> Reply:
        """Read or write; an invalid body gets a 400 that says why."""
        return answer_control(request, self._reads, self._writes)

    def clear(self) -> None:
        """Remove all faults, and restore list prices."""
        self.troubles.clear()
        self.shipments.settings.price_change = 0.0

    def advance(self, days: float) -> dict[str, str]:
        """Move the sandbox's clock forward."""
        self.shipments.offset += timedelta(days=days)
        return {"now": self.shipments.stamp()}

    def wallet(self, amount: str) -> None:
        """Set the wallet's balance."""
        self.shipments.wallet = Decimal(amount)

    def scan(self, reference: str, status: str, **facts: str) -> None:
        """Add a scan. ``facts``: status_detail, message, datetime, city, state, zip, country."""
        self.tracking.add_scan(self.shipments.of_code(reference), status, **facts)

    def refund(self, reference: str, status: str) -> None:
        """End a requested refund now."""
        shipment = self.shipments.of_code(reference)
        if status not in REFUND_ENDS or shipment.refund_status != "submitted":
            raise ValueError(f"A refund that was submitted ends as {' or '.join(REFUND_ENDS)}.")
        self.shipments.end_refund(shipment, status)

    def listener(self, url: str) -> None:
        """Set the address that events are sent to."""
        self.shipments.listener = url

    def settings(self, **wanted: Any) -> dict[str, Any]:
        """Change settings; return all of them."""
        self.shipments.settings.change(wanted)
        return vars(self.shipments.settings)
