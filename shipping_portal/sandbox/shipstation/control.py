"""Control the sandbox ShipStation under /_sandbox/, from this machine only."""

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.control_requests import answer_control
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.shipstation.labels import Labels
from shipping_portal.sandbox.shipstation.tracking import Tracking
from shipping_portal.sandbox.shipstation.webhooks import public_keys
from shipping_portal.sandbox.trouble import Troubles
from shipping_portal.sandbox.wire import Reply


class Control:
    """Each endpoint is a method: its name is the path, its arguments the JSON body's members."""

    def __init__(
        self,
        labels: Labels,
        tracking: Tracking,
        troubles: Troubles,
        requests: deque[dict[str, Any]],
    ) -> None:
        self.labels, self.tracking, self.troubles = labels, tracking, troubles
        self._reads: dict[str, Callable[[], Any]] = {
            "ledger": lambda: list(labels.ledger.lines()),
            "requests": lambda: list(requests),
            "deliveries": lambda: list(tracking.events.deliveries),
            "settings": lambda: vars(labels.settings),
            "jwks": lambda: public_keys(tracking.events.state),
        }
        self._writes: dict[str, Callable[..., Any]] = {
            "trouble": troubles.ask_for,
            "clear": self.clear,
            "funds": self.funds,
            "scan": self.scan,
            "listener": self.listener,
            "settings": self.settings,
        }

    def answer(self, request: Request) -> Reply:
        """Read or write; an invalid body gets a 400 that says why."""
        return answer_control(request, self._reads, self._writes)

    def clear(self) -> None:
        """Remove all faults, and restore list prices."""
        self.troubles.clear()
        self.labels.settings.price_change = 0.0

    def funds(self, amount: str) -> None:
        """Set the funds from which labels are bought."""
        self.labels.funds = Decimal(amount)

    def scan(self, reference: str, status_code: str, **facts: str) -> None:
        """Add a scan to the newest label with this number."""
        found = next((one for one in self.labels.newest() if one.number == reference), None)
        if found is None:
            raise LookupError(f"{reference} is not known.")
        self.tracking.add_scan(found, status_code, **facts)

    def listener(self, url: str) -> None:
        """Set the address that events are sent to."""
        self.tracking.events.listener = url

    def settings(self, **wanted: Any) -> dict[str, Any]:
        """Change settings; return all of them."""
        self.labels.settings.change(wanted)
        self.labels.finish_processing()
        return vars(self.labels.settings)
