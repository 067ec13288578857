"""Hold shipments, labels and the funds, and keep the rules of buying and voiding.

A rate can be bought again and makes another label: nothing in its documentation says otherwise.
"""

import hashlib
import secrets
import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.ledger import Ledger
from shipping_portal.sandbox.pdf import Page
from shipping_portal.sandbox.shipstation.config import Config, Settings
from shipping_portal.sandbox.wire import Reply, json_reply


class Refusal(Exception):
    """A refusal: status, code, sentence, and the field it is about."""

    def __init__(
        self, status: int, code: str, text: str, field_name: str = "", kind: str = "validation"
    ) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.field_name = status, code, text, field_name
        self.kind = kind

    def reply(self) -> Reply:
        """Return the refusal as it goes over the wire."""
        error = {"error_source": "shipengine", "error_type": self.kind, "error_code": self.code}
        about = {"field_name": self.field_name} if self.field_name else {}
        document = {"request_id": "sandbox", "errors": [error | {"message": self.text} | about]}
        reply = json_reply(self.status, document)
        reply.headers += [("Retry-After", "1")] if self.status == 429 else []
        return reply


@dataclass
class Label:
    """One bought label."""

    id: str
    mode: str
    external_id: str
    rate: dict[str, Any]
    number: str
    status: str
    created_at: str
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def cost(self) -> Decimal:
        names = ("shipping_amount", "confirmation_amount", "other_amount", "insurance_amount")
        return sum((Decimal(str(self.rate[name]["amount"])) for name in names), Decimal(0))

    @property
    def is_used(self) -> bool:
        """Return whether a carrier has scanned its parcel."""
        return any(event["status_code"] not in ("AC", "NY", "UN") for event in self.events)


class Labels:
    """All state. Every method may be called from any thread."""

    def __init__(self, config: Config) -> None:
        self.settings = Settings(speed=config.speed)
        self.lock = threading.RLock()
        self.funds = Decimal(config.funds)
        self.shipments: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.still: set[str] = set()  # the external ids of parcels that nobody collects
        self.labels: list[Label] = []
        config.state.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(config.state / "shipstation.jsonl", is_synced=False)
        for line in self.ledger.lines():
            self._restore(line)

    def record(self, effect: str, order_key: str, **facts: Any) -> None:
        """Record an effect."""
        line = {"t": time.time(), "effect": effect, "order_key": order_key}
        self.ledger.write(line | facts | {"funds": str(self.funds)})

    def record_label(self, effect: str, label: Label, **facts: Any) -> None:
        """Record an effect and the resulting label."""
        facts |= {"mode": label.mode, "reference": label.number, "label": asdict(label)}
        self.record(effect, label.external_id, **facts)

    def _restore(self, line: dict[str, Any]) -> None:
        self.funds = Decimal(line["funds"])
        if line["effect"] == "created":
            self.shipments[line["mode"], line["order_key"]] = line["rates"]
            self.still |= {line["order_key"]} if line["is_still"] else set()
        if "label" in line:
            label = Label(**line["label"])
            self.labels = [one for one in self.labels if one.id != label.id] + [label]

    def create(
        self, mode: str, external_id: str, rates: list[dict[str, Any]], *, is_still: bool
    ) -> None:
        """Keep a shipment's rates. An external id is accepted once. Raises Refusal."""
        with self.lock:
            if (mode, external_id) in self.shipments:
                name = "shipment.external_shipment_id"
                raise Refusal(400, "identifier_conflict", "It is used already.", name)
            self.shipments[mode, external_id] = rates
            self.still |= {external_id} if is_still else set()
            self.record("created", external_id, mode=mode, rates=rates, is_still=is_still)

    def buy(self, mode: str, rate_id: str, body: bytes = b"") -> Label:
        """Buy a label. Raises Refusal, in which case nothing was bought."""
        with self.lock:
            for (owner, external_id), rates in self.shipments.items():
                rate = next((rate for rate in rates if rate["rate_id"] == rate_id), None)
                if rate is not None and owner == mode:
                    return self._make(mode, external_id, rate, body)
        raise Refusal(404, "invalid_identifier", "The rate is not known.", "rate_id")

    def _make(self, mode: str, external_id: str, rate: dict[str, Any], body: bytes) -> Label:
        number = "9400" + "".join(secrets.choice("0123456789") for _ in range(18))
        status, now = self.settings.label_status, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        label_id = f"se-{secrets.randbelow(10**12)}"
        label = Label(label_id, mode, external_id, rate, number, status, now)
        if mode == "live":
            if label.cost > self.funds:
                text = "The account has too little money."
                raise Refusal(402, "insufficient_funds", text, kind="account_status")
            self.funds -= label.cost
        self.labels.append(label)
        sent = hashlib.sha256(body).hexdigest()
        self.record_label("bought", label, amount=str(label.cost), body_sha256=sent)
        return label

    def void(self, label: Label) -> tuple[bool, str]:
        """Void a label that no carrier has scanned.

        Return whether it was voided, and if not, why.
        """
        with self.lock:
            if label.status == "voided" or label.is_used:
                is_used = label.status != "voided"
                return False, "label_already_used" if is_used else "label_already_voided"
            label.status = "voided"
            self.funds += label.cost if label.mode == "live" else 0
            self.record_label("voided", label)
            return True, ""

    def add_event(self, label: Label, event: dict[str, Any]) -> None:
        """Put a scan at the end of a label's history."""
        with self.lock:
            label.events.append(event)
            self.record_label("scanned", label)

    def finish_processing(self) -> None:
        """Finish the labels in progress, unless new ones still take time."""
        with self.lock:
            for label in self.labels:
                waits = label.status == "processing"
                label.status = self.settings.label_status if waits else label.status

    def newest(self) -> list[Label]:
        """Return every label, newest first."""
        with self.lock:
            return list(reversed(self.labels))

    def of_mode(self, mode: str, **facts: str) -> list[Label]:
        """Return the labels of a kind of key with these facts, newest first."""
        return [
            label
            for label in self.newest()
            if label.mode == mode
            and all(getattr(label, name) == value for name, value in facts.items())
        ]


def label_document(label: Label, base_url: str) -> dict[str, Any]:
    """Return a label as every operation on it returns it."""
    address = f"{base_url}/v1/downloads/{label.id}"
    is_made = label.status in ("completed", "voided")
    currency = label.rate["shipping_amount"]["currency"]
    insurance = label.rate["insurance_amount"]["amount"]
    return {
        "label_id": label.id,
        "status": label.status,
        "shipment_id": f"se-{label.external_id[-8:]}",
        "external_shipment_id": label.external_id,
        "created_at": label.created_at,
        "shipment_cost": {"currency": currency, "amount": float(label.cost) - insurance},
        "insurance_cost": {"currency": currency, "amount": insurance},
        "tracking_number": label.number,
        "carrier_id": label.rate["carrier_id"],
        "service_code": label.rate["service_code"],
        "voided": label.status == "voided",
        "label_format": "pdf",
        "label_layout": "4x6",
        "carrier_code": label.rate["carrier_code"],
        "label_download": (
            {kind: f"{address}.{kind}" for kind in ("pdf", "png", "zpl")}
            | {"href": f"{address}.pdf"}
            if is_made
            else None
        ),
        "form_download": None,
        "insurance_claim": None,
        "packages": [],
    }


def history_document(label: Label) -> dict[str, Any]:
    """Return a label's history, newest scan first."""
    status = label.events[-1]["status_code"] if label.events else "UN"
    events = list(reversed(label.events))
    return {"tracking_number": label.number, "status_code": status, "events": events}


def label_file(label: Label) -> Reply:
    """Return the label's PDF. Anybody with its address may read it."""
    page = Page(288.0, 432.0)
    page.text(16, 400, 14, label.rate["service_type"], bold=True)
    if label.mode == "test":
        page.text(16, 380, 12, "SAMPLE - DO NOT MAIL", bold=True)
    page.text(16, 40, 12, label.number, bold=True)
    return Reply(200, page.file(f"Label {label.number}"), "application/pdf")
