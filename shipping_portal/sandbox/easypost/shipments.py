"""Hold the shipments, the wallet and the clock, and keep the rules of buying and refunding."""

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.easypost.config import Config, Settings
from shipping_portal.sandbox.easypost.rates import lacks_customs_at_home, rates_for
from shipping_portal.sandbox.easypost.wire import Refusal, not_found
from shipping_portal.sandbox.ledger import Ledger

INSURANCE = (Decimal("0.01"), Decimal("1.00"))  # the share of the insured amount, and the minimum
TRACKER_FEE = "0.02"


@dataclass
class Shipment:
    """One shipment. It is free until it has a rate; ``is_busy`` while somebody is buying it."""

    id: str
    mode: str
    created_at: str
    body: dict[str, Any]
    rates: list[dict[str, Any]]
    rate: dict[str, Any] | None = None
    tracking_code: str | None = None
    tracker_id: str = ""
    details: list[dict[str, Any]] = field(default_factory=list)
    insurance: str | None = None
    label_type: str = ""
    converted: list[str] = field(default_factory=list)
    refund_status: str | None = None
    refund_asked_at: float = 0.0
    is_busy: bool = False

    @property
    def reference(self) -> str:
        return str(self.body.get("reference") or "")

    @property
    def status(self) -> str:
        return str(self.details[-1]["status"]) if self.details else "unknown"

    @property
    def fee(self) -> Decimal:
        """Return the cost of the insurance."""
        share, least = INSURANCE
        return (
            max(least, (Decimal(self.insurance) * share).quantize(Decimal("0.01")))
            if self.insurance
            else Decimal(0)
        )


class Shipments:
    """All state of one sandbox EasyPost. Every method may be called from any thread."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.settings = Settings(speed=config.speed)
        self.lock = threading.RLock()
        self.listener = config.listener
        self.wallet = Decimal(config.wallet)
        self.offset = timedelta()
        self.by_id: dict[str, Shipment] = {}
        self.requests: deque[dict[str, Any]] = deque(maxlen=20_000)
        self.deliveries: deque[dict[str, Any]] = deque(maxlen=20_000)
        config.state.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(config.state / "easypost.jsonl", is_synced=False)
        for line in self.ledger.lines():
            self._restore(line)

    def now(self) -> datetime:
        """Return the sandbox's time, which tests can move forward."""
        return self.config.clock() + self.offset

    def stamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def record(self, effect: str, shipment: Shipment, **facts: Any) -> None:
        """Record an effect and the resulting shipment."""
        line = {
            "t": time.time(),
            "effect": effect,
            "id": shipment.id,
            "order_key": shipment.reference,
            **facts,
        }
        line |= {
            "mode": shipment.mode,
            "reference": shipment.tracking_code,
            "wallet": str(self.wallet),
        }
        self.ledger.write(line | {"shipment": asdict(shipment) | {"is_busy": False}})

    def create(self, body: dict[str, Any], mode: str) -> Shipment:
        """Make a shipment with its rates. It costs nothing.

        A return is requested with the addresses of the outward trip, and goes the other way.
        """
        if body.get("is_return") is True:
            body |= {"from_address": body["to_address"], "to_address": body["from_address"]}
        made = Shipment(f"shp_{secrets.token_hex(16)}", mode, self.stamp(), body, [])
        change = Decimal(str(self.settings.price_change))
        made.rates = rates_for(body, made.id, mode, made.created_at, change)
        with self.lock:
            self.by_id[made.id] = made
            self.record("created", made)
        return made

    def shipment(self, name: str, mode: str) -> Shipment:
        """Return a shipment that this kind of key may see. Raises Refusal."""
        found = self.by_id.get(name)
        if found is None or found.mode != mode:
            raise not_found()
        with self.lock:
            self._end_refund(found)
        return found

    def buy(
        self,
        shipment: Shipment,
        body: dict[str, Any],
        before_commit: Callable[[], None],
        *,
        sent: bytes,
    ) -> None:
        """Buy a shipment, once. Raises Refusal, in which case this call bought nothing.

        The ledger keeps a hash of the bytes that were ``sent``.
        """
        with self.lock:
            rate = self._take_rate(shipment, body)
            shipment.is_busy = True
        try:
            before_commit()
            with self.lock:
                self._pay(shipment, rate, body)
                shipment.rate = rate
                shipment.tracking_code, shipment.tracker_id = (
                    _new_code(rate),
                    f"trk_{secrets.token_hex(16)}",
                )
                wanted = shipment.body.get("options", {}).get("label_format", "PNG")
                made = {"PDF": "application/pdf", "ZPL": "application/zpl"}.get(wanted, "image/png")
                shipment.label_type = self.settings.label_type or made
                facts = {"amount": rate["rate"], "currency": rate["currency"]}
                facts["body_sha256"] = hashlib.sha256(sent).hexdigest()
                self.record("bought", shipment, **facts)
        finally:
            shipment.is_busy = False

    def _take_rate(self, shipment: Shipment, body: dict[str, Any]) -> dict[str, Any]:
        if shipment.rate:
            raise Refusal(
                422, "SHIPMENT.POSTAGE.EXISTS", "Postage already exists for this shipment."
            )
        if shipment.is_busy:
            raise Refusal(422, "SHIPMENT.PURCHASE.IN_PROGRESS", "This shipment is being purchased.")
        wanted = body.get("rate")
        name = wanted.get("id") if isinstance(wanted, dict) else None
        rate = next((rate for rate in shipment.rates if rate["id"] == name), None)
        if rate is None:
            errors = (("rate", "is not a rate of this shipment"),)
            raise Refusal(422, "SHIPMENT.MISSING_RATE", "Missing rate parameter.", errors)
        if not all(
            shipment.body.get(side, {}).get("name") for side in ("from_address", "to_address")
        ):
            errors = (("to_address.name", "or company is required"),)
            raise Refusal(
                422, "SHIPMENT.MISSING_INFORMATION", "Address information is missing.", errors
            )
        if lacks_customs_at_home(shipment.body):
            errors = (("customs_info", "is required"),)
            raise Refusal(
                422, "SHIPMENT.POSTAGE.FAILURE", "Customs information is required.", errors
            )
        return rate

    def _pay(self, shipment: Shipment, rate: dict[str, Any], body: dict[str, Any]) -> None:
        shipment.insurance = (
            f"{Decimal(str(body['insurance'])):.2f}" if body.get("insurance") else None
        )
        due = shipment.fee + (Decimal(rate["rate"]) if rate["billing_type"] == "easypost" else 0)
        if shipment.mode == "production":
            if due > self.wallet:
                shipment.insurance = None
                text = "Insufficient funds in your account. Please add funds and try again."
                raise Refusal(402, "PAYMENT_REQUIRED", text)
            self.wallet -= due

    def refund(self, shipment: Shipment) -> None:
        """Ask for a refund. A refused refund may be requested again. Raises Refusal."""
        with self.lock:
            if shipment.rate is None:
                raise Refusal(
                    422, "SHIPMENT.REFUND.UNAVAILABLE", "This shipment has no postage to refund."
                )
            if shipment.refund_status in ("submitted", "refunded", "not_applicable"):
                return
            if shipment.rate["billing_type"] == "carrier":
                shipment.refund_status = "not_applicable"  # billed once it is scanned
            elif shipment.status not in ("unknown", "pre_transit"):
                shipment.refund_status = "rejected"
            else:
                shipment.refund_status, shipment.refund_asked_at = (
                    "submitted",
                    self.now().timestamp(),
                )
            self.record("refund asked", shipment, status=shipment.refund_status)
            self._end_refund(shipment)

    def _end_refund(self, shipment: Shipment) -> None:
        waited = self.now().timestamp() - shipment.refund_asked_at
        if shipment.refund_status == "submitted" and waited >= self.settings.refund_days * 86_400:
            self.end_refund(shipment, self.settings.refund_end)

    def end_refund(self, shipment: Shipment, status: str) -> None:
        """End a requested refund."""
        with self.lock:
            shipment.refund_status = status
            if status == "refunded" and shipment.mode == "production" and shipment.rate:
                self.wallet += Decimal(shipment.rate["rate"]) + shipment.fee
            self.record("refund ended", shipment, status=status)

    def add_detail(self, shipment: Shipment, detail: dict[str, Any]) -> None:
        """Put a scan at the end of a shipment's history."""
        with self.lock:
            shipment.details.append(detail)
            self.record("scanned", shipment, status=detail["status"])

    def tracked(self, code: str, mode: str) -> list[Shipment]:
        """Return the bought shipments with a tracking code, or all without one, newest first."""
        with self.lock:
            bought = [one for one in self.by_id.values() if one.rate and one.mode == mode]
        return [one for one in reversed(bought) if not code or one.tracking_code == code]

    def of_code(self, code: str) -> Shipment:
        """Return the shipment with this tracking code. Raises LookupError."""
        with self.lock:
            found = next((one for one in self.by_id.values() if one.tracking_code == code), None)
        if found is None:
            raise LookupError(f"{code} is not known.")
        return found

    def charge_tracker(self, code: str) -> None:
        """Charge for a tracker that somebody created for their own number."""
        with self.lock:
            self.wallet -= Decimal(TRACKER_FEE)
            self.ledger.write(
                {
                    "t": time.time(),
                    "effect": "tracker fee",
                    "reference": code,
                    "amount": TRACKER_FEE,
                }
            )

    def _restore(self, line: dict[str, Any]) -> None:
        if "shipment" in line:
            shipment = Shipment(**line["shipment"])
            self.by_id[shipment.id] = shipment
            self.wallet = Decimal(line["wallet"])


def _new_code(rate: dict[str, Any]) -> str:
    start = {"USPS": "9400", "AustraliaPost": "34SBX", "CanadaPost": "7023"}[rate["carrier"]]
    return start + "".join(secrets.choice("0123456789") for _ in range(22 - len(start)))
