"""A proof pack: all that is known of one parcel, for a claim. To read, to compute with, and the carrier's own label."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from orders.models import Label, Order
from orders.offers import money_lines
from orders.originals import FOLDERS, why_none
from shipping_portal.exporting import rows, summary
from shipping_portal.exporting.archive import Archive
from shipping_portal.exporting.leasing import Lease
from shipping_portal.exporting.rows import CHARGE_HEADS, SCAN_HEADS, Row


@dataclass(frozen=True)
class Proof:
    """What the pack says, gathered once for its three ways of saying it."""

    order: Order
    labels: list[Label]
    scans: list[Row]
    charges: list[Row]
    at: dt.datetime


def pack(archive: Archive, lease: Lease, *, at: dt.datetime) -> int:
    """Write it; how many parcels it holds: one."""
    order = lease.export.order
    if order is None:
        raise ValueError("a proof pack is of an order")  # the database says so too
    lease.renew(total=1)
    found = _gathered(order, at)
    archive.add_text("summary.txt", summary.text(found))
    archive.add_text(
        "proof.json", json.dumps(as_json(found), indent=2, ensure_ascii=False, default=str) + "\n"
    )
    _add_sheet(archive, "scans.csv", SCAN_HEADS, found.scans)
    _add_sheet(archive, "charges.csv", CHARGE_HEADS, found.charges)
    _add_labels(archive, found)
    return 1


def _gathered(order: Order, at: dt.datetime) -> Proof:
    charges = order.charges.posted().select_related("account").order_by("week", "pk")
    return Proof(
        order,
        list(order.labels.order_by("-size")),  # full page first
        list(rows.scans([order.pk], order.sender.tzinfo)),
        [rows.charge(line) for line in charges],
        at,
    )


def _add_sheet(archive: Archive, path: str, heads: tuple[str, ...], found: list[Row]) -> None:
    sheet = archive.sheet(heads)
    sheet.add_all(row.values() for row in found)
    archive.add_sheet(path, sheet)


def _add_labels(archive: Archive, found: Proof) -> None:
    """While it is booked: a label that must not be used any more is proved by its checksum alone."""
    order = found.order
    ready = [label for label in found.labels if label.is_ready and order.status == Order.Status.BOOKED]
    for label in ready:
        archive.add_label(label, order, label_name(order))
    if not ready:
        archive.labels.missing.append(f"{order}: {why_none(order)}")


def label_name(order: Order) -> str:
    return f"{order.carrier_reference}.pdf"


def as_json(found: Proof) -> dict[str, Any]:
    """Everything as one object. Money and measures are strings, moments are UTC, days are ISO dates."""
    order = found.order
    return {
        "reference": order.carrier_reference,
        "made_at": rows.utc(found.at),
        "sender": {"name": order.sender.name, "number": order.sender.number, "time_zone": order.sender.zone},
        "from": order.pickup,
        "to": {name: getattr(order, f"receiver_{name}") for name in summary.PARTY},
        "parcel": {
            "description": order.description, "declared": order.entered, "weight_kg": order.weight_kg,
            "length_cm": order.length_cm, "width_cm": order.width_cm, "height_cm": order.height_cm,
            "your_order_number": order.customer_reference, "status": order.status, "progress": order.progress,
            "booked_at": rows.utc(order.booked_at) if order.booked_at else None,
            "cancelled_at": rows.utc(order.cancelled_at) if order.cancelled_at else None,
        },
        "quote": _quote(order),
        "labels": [_label(label) for label in found.labels if label.sha256],
        "scans": found.scans,
        "charges": found.charges,
        "net": {currency: f"{net:.2f}" for currency, net in order.charges.posted().net().items()},
    }  # fmt: skip


def _quote(order: Order) -> dict[str, Any]:
    return {
        "quoted_at": rows.utc(order.quoted_at), "product_code": order.product_code,
        "product_name": order.product_name, "first_mile": order.first_mile, "plan": order.plan,
        "price": order.price, "currency": order.currency,
        "breakdown": [
            {"name": name, "amount": amount, "currency": currency}
            for name, amount, currency in money_lines(order.breakdown)
        ],
        "price_at_booking": order.charged_price, "duties_paid": order.duties_paid,
        "arrives_from": order.eta_from, "arrives_by": order.eta_to,
    }  # fmt: skip


def _label(label: Label) -> dict[str, Any]:
    return {
        "size": FOLDERS[label.size], "sha256": label.sha256, "bytes": label.length,
        "stored_at": rows.utc(label.stored_at) if label.stored_at else None,
    }  # fmt: skip
