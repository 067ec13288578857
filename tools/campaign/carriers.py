"""The sandbox carriers of a campaign: how each is set up, what goes wrong there, and its ledger in one form."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tools.dev import sandboxes
from tools.dev.sandboxes import Sandbox

Line = dict[str, Any]
# A parcel for which the sandboxes of both classes have prices; its sender is in the USA too.
US_PARCEL = {
    "receiver_name": "Priya Nair", "receiver_country": "US", "receiver_line1": "4 Sample Street",
    "receiver_suburb": "New York", "receiver_state": "NY", "receiver_postcode": "10001",
    "receiver_email": "priya@example.net", "receiver_phone": "212 555 0156", "delivery_choice": "none",
    "description": "Ceramic mugs", "weight_lb": "5.3", "length_in": "12", "width_in": "9", "height_in": "4",
}  # fmt: skip
# Shares of requests that the carrier always answers badly. Drawn by order key and ordinal.
INTERFACE_TROUBLES = {
    "book": {
        "commit-close": 0.03, "commit-rst": 0.02, "accept-close": 0.02, "truncate": 0.01, "partial-headers": 0.01,
        "garbage": 0.01, "html200": 0.01, "empty201": 0.01, "no-ref": 0.01, "500": 0.01, "502": 0.01, "503": 0.02,
        "429": 0.02, "409": 0.01, "202": 0.01, "replay-other": 0.004, "return-cancelled": 0.004,
    },
    "cancel": {"commit-close": 0.05, "accept-close": 0.05, "500": 0.03},
    "label": {"accept-close": 0.02, "500": 0.02},
    "file": {"html": 0.02, "truncated": 0.02},
    "track": {"500": 0.05, "truncate": 0.02},
    "webhook": {
        "dup": 0.08, "reorder": 0.08, "delay": 0.05, "drop": 0.05, "mutate": 0.01, "storm": 0.003,
        "before-response": 0.05, "after-cancel": 0.1,
    },
}  # fmt: skip
PREPARE_TROUBLES = {"commit-close": 0.02, "accept-close": 0.01, "truncate": 0.01, "500": 0.01, "429": 0.01}
CLASS_TROUBLES = {
    "book": {
        "commit-close": 0.03, "commit-rst": 0.02, "accept-close": 0.02, "truncate": 0.01, "partial-headers": 0.01,
        "garbage": 0.01, "html200": 0.01, "empty201": 0.01, "no-ref": 0.01, "500": 0.01, "502": 0.01, "503": 0.02,
        "429": 0.02, "409": 0.01, "202": 0.01,
    },
    "view": {"accept-close": 0.05, "truncate": 0.02, "500": 0.05},
    "cancel": {"commit-close": 0.05, "accept-close": 0.05, "500": 0.03},
    "file": {"accept-close": 0.02, "500": 0.02, "html200": 0.02, "truncate": 0.02},
    "track": {"500": 0.05, "truncate": 0.02},
}  # fmt: skip
UNCLEAR = {"in-progress": 0.02, "timed-out": 0.02, "no-response": 0.01}
# What goes wrong in an operation, at 3,000 orders: (the same four fields as a strike of tools/campaign/plan.py).
INTERFACE_STRIKES = (
    ("trouble", "book:commit-hang", 10, 0.0),
    ("trouble", "book:sleep-commit", 6, 0.0),
    ("trouble", "book:drip-body", 4, 0.0),
    ("trouble", "book:307", 4, 0.0),
    ("trouble", "book:504", 4, 0.0),
    ("trouble", "cancel:commit-close", 6, 0.0),
    ("trouble", "label:redirect-elsewhere", 4, 0.0),
)
CLASS_STRIKES = (*INTERFACE_STRIKES[:-1], ("trouble", "view:commit-hang", 6, 0.0), ("trouble", "file:307", 4, 0.0))


@dataclass(frozen=True)
class Kind:
    """One carrier's rules. `read` rewrites its `ledger`; `options` are those of its sandbox: enough money.

    `product` is what the beginner books, `label` the address of an order's label. `looks_only`: a purchase whose reply
    was lost is looked for and never sent again, so it may wait for an operator.
    """

    sandbox: Sandbox
    ledger: str
    read: Callable[[Iterable[Line]], Iterator[Line]]
    troubles: dict[str, dict[str, float]]
    strikes: tuple[tuple[str, str, int, float], ...]
    product: str = "STANDARD-PICKUP"
    options: dict[str, str] = field(default_factory=dict)
    label: str = ""
    looks_only: bool = False

    @property
    def name(self) -> str:
        return self.sandbox.name

    @property
    def is_interface(self) -> bool:
        """Return whether it is the carrier that the interface describes, which keeps keys and writes bills."""
        return not self.sandbox.client

    def background(self) -> str:
        """Return its own shares of faults, as its sandbox takes them."""
        return ",".join(
            f"{operation}:{verb}={share}" for operation, verbs in self.troubles.items() for verb, share in verbs.items()
        )


def _as_written(lines: Iterable[Line]) -> Iterator[Line]:
    yield from lines


def read_easypost(lines: Iterable[Line]) -> Iterator[Line]:
    """Return what was bought, given back and scanned, as the other sandbox's ledger has it."""
    for line in lines:
        shipment, key = line.get("shipment") or {}, {"t": line["t"], "order_key": line.get("order_key", "")}
        key["reference"] = line["reference"]
        if line["effect"] == "bought":
            facts = {"order_id": line["id"], "amount": line["amount"], "body_sha256": line["body_sha256"]}
            yield {"effect": "booked", **key, **facts}
        elif line["effect"] == "refund ended" and line["status"] == "refunded":
            yield {"effect": "cancelled", **key, "by": "portal"}
        elif line["effect"] == "scanned":
            scan = shipment["details"][-1]
            kind = scan["status_detail"] if scan["status_detail"] in EASYPOST_PROGRESS else scan["status"]
            yield _scan(key, kind, scan["datetime"], EASYPOST_PROGRESS[kind])


EASYPOST_PROGRESS = {
    "received_at_origin_facility": "collected", "pre_transit": "", "in_transit": "in_transit",
    "out_for_delivery": "out_for_delivery", "delivered": "delivered",
}  # fmt: skip


def read_shipstation(lines: Iterable[Line]) -> Iterator[Line]:
    """Return what was bought, voided and scanned, as the other sandbox's ledger has it."""
    for line in lines:
        label, key = line.get("label") or {}, {"t": line["t"], "order_key": line["order_key"].partition(".")[0]}
        key["reference"] = line.get("reference", "")
        if line["effect"] == "bought":
            facts = {"order_id": label["id"], "amount": line["amount"], "body_sha256": line["body_sha256"]}
            yield {"effect": "booked", **key, **facts}
        elif line["effect"] == "voided":
            yield {"effect": "cancelled", **key, "by": "portal"}
        elif line["effect"] == "scanned":
            scan = label["events"][-1]
            detail, status = scan.get("status_detail_code", "").lower(), scan["status_code"].lower()
            kind = detail if detail in SHIPSTATION_PROGRESS else status
            yield _scan(key, kind, scan["occurred_at"], SHIPSTATION_PROGRESS[kind])


SHIPSTATION_PROGRESS = {
    "picked_up": "collected", "out_for_delivery": "out_for_delivery", "ac": "", "it": "in_transit", "de": "delivered",
}  # fmt: skip


def _scan(key: Line, kind: str, at: str, progress: str) -> Line:
    scan = {"event_type": kind, "scan_time": at, "progress": progress}
    return {"effect": "scan", **key, "after_cancel": False, "scan": scan}


INTERFACE = Kind(sandboxes.INTERFACE, "ledger.jsonl", _as_written, INTERFACE_TROUBLES, INTERFACE_STRIKES)
EASYPOST = Kind(
    sandboxes.EASYPOST, "easypost.jsonl", read_easypost,
    CLASS_TROUBLES | {"quote": PREPARE_TROUBLES, "book": CLASS_TROUBLES["book"] | UNCLEAR},
    (*CLASS_STRIKES, ("trouble", "quote:commit-hang", 6, 0.0)),
    product="USPS:GroundAdvantage", options={"wallet": "1000000.00"}, label="/files/postage_label/{}.pdf",
)  # fmt: skip
SHIPSTATION = Kind(
    sandboxes.SHIPSTATION, "shipstation.jsonl", read_shipstation,
    CLASS_TROUBLES | {"quote_contents": PREPARE_TROUBLES},
    (*CLASS_STRIKES, ("trouble", "quote_contents:commit-hang", 6, 0.0)),
    product="usps:usps_ground_advantage", options={"funds": "1000000.00"}, label="/v1/downloads/{}.pdf",
    looks_only=True,
)  # fmt: skip
KINDS = {kind.sandbox: kind for kind in (INTERFACE, EASYPOST, SHIPSTATION)}
CHOICES = {name: tuple(KINDS[one] for one in chosen) for name, chosen in sandboxes.CHOICES.items()}
