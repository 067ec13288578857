"""Pack everything known about a parcel for a claim: text, JSON, CSV and the label."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from orders.calling import gateway
from orders.labels.originals import FOLDERS, why_none
from orders.models import Label, Order
from orders.quoting.offers import money_lines
from orders.status.status_labels import status_label
from shipping_portal.accounts.formatting import local_word, money, money_in, plain
from shipping_portal.exporting import rows
from shipping_portal.exporting.archive import Archive
from shipping_portal.exporting.parts import Lease
from shipping_portal.exporting.rows import CHARGE_HEADS, SCAN_HEADS, Row

Facts = dict[str, Any]  # a part of proof.json

PARTY = (
    "name",
    "company",
    "line1",
    "line2",
    "suburb",
    "state",
    "postcode",
    "country",
    "email",
    "phone",
    "instructions",
)


@dataclass(frozen=True)
class Proof:
    """The pack's content, gathered once for its three formats."""

    order: Order
    labels: list[Label]
    scans: list[Row]
    charges: list[Row]
    at: dt.datetime


def pack_proof(archive: Archive, lease: Lease, *, at: dt.datetime) -> int:
    """Write the pack; return how many parcels it has: one."""
    order = lease.export.order
    if order is None:
        raise ValueError("a proof pack is of an order")  # the database enforces this too
    lease.renew(total=1)
    found = _gather_facts(order, at)
    archive.add_text("summary.txt", proof_text(found))
    archive.add_text(
        "proof.json", json.dumps(as_json(found), indent=2, ensure_ascii=False, default=str) + "\n"
    )
    _add_sheet(archive, "scans.csv", SCAN_HEADS, found.scans)
    _add_sheet(archive, "charges.csv", CHARGE_HEADS, found.charges)
    _add_labels(archive, found)
    return 1


def _gather_facts(order: Order, at: dt.datetime) -> Proof:
    charges = order.charges.posted().select_related("account").order_by("week", "pk")
    return Proof(
        order,
        list(order.labels.order_by("-size")),  # the full page first
        list(rows.scan_rows([order.pk], order.sender.tzinfo)),
        [rows.charge_row(line) for line in charges],
        at,
    )


def _add_sheet(archive: Archive, path: str, heads: tuple[str, ...], found: list[Row]) -> None:
    sheet = archive.sheet(heads)
    sheet.add_all(row.values() for row in found)
    archive.add_sheet(path, sheet)


def _add_labels(archive: Archive, found: Proof) -> None:
    """Add the labels while the parcel is booked.

    For an unusable label, the checksum is proof enough.
    """
    order = found.order
    ready = [label for label in found.labels if label.is_printable and order.is_booked]
    for label in ready:
        archive.add_label(label, order, f"{order.carrier_reference}.pdf")
    if not ready:
        archive.labels.missing.append(f"{order}: {why_none(order)}")


def as_json(found: Proof) -> Facts:
    """Return everything as one object.

    Amounts and measures are strings, times are in UTC, and days are ISO dates.
    """
    order = found.order
    return {
        "reference": order.carrier_reference,
        "made_at": rows.utc_time(found.at),
        "sender": {
            "name": order.sender.name,
            "number": order.sender.number,
            "time_zone": order.sender.zone,
        },
        "from": order.pickup,
        "to": {name: getattr(order, f"receiver_{name}") for name in PARTY},
        "parcel": {
            "description": order.description,
            "declared": order.entered,
            "weight_kg": order.weight_kg,
            "length_cm": order.length_cm,
            "width_cm": order.width_cm,
            "height_cm": order.height_cm,
            "your_order_number": order.customer_reference,
            "status": order.status,
            "progress": order.progress,
            "booked_at": rows.utc_time(order.booked_at) if order.booked_at else None,
            "cancelled_at": rows.utc_time(order.cancelled_at) if order.cancelled_at else None,
        },
        "quote": _quote_facts(order),
        "labels": [_label_facts(label) for label in found.labels if label.sha256],
        "scans": found.scans,
        "charges": found.charges,
        "net": {currency: f"{net:.2f}" for currency, net in order.charges.posted().net().items()},
    }


def _quote_facts(order: Order) -> Facts:
    return {
        "quoted_at": rows.utc_time(order.quoted_at),
        **({"carrier": carrier} if (carrier := _carrier_of(order)) else {}),
        "product_code": order.product_code,
        "product_name": order.product_name,
        "first_mile": order.first_mile,
        "plan": order.plan,
        "price": order.price,
        "currency": order.currency,
        "breakdown": [
            {"name": name, "amount": amount, "currency": currency}
            for name, amount, currency in money_lines(order.breakdown)
        ],
        "price_at_booking": order.charged_price,
        "duties_paid": order.duties_paid,
        "arrives_from": order.eta_from,
        "arrives_by": order.eta_to,
    }


def _carrier_of(order: Order) -> str:
    """Return its carrier's name, or "" unless two carriers take new orders."""
    return gateway.carrier_titles().get(order.account_id, "")


def _label_facts(label: Label) -> Facts:
    return {
        "size": FOLDERS[label.size],
        "sha256": label.sha256,
        "bytes": label.length,
        "stored_at": rows.utc_time(label.stored_at) if label.stored_at else None,
    }


def proof_text(found: Proof) -> str:
    """Return all of it, in sections with underlined titles."""
    order = found.order
    noun = local_word("Parcel", order.sender.country)
    title = f"{noun} {order.carrier_reference} to {order.receiver_name}"
    sections = [
        (title, _head_lines(found)),
        (noun, _parcel_lines(order, found.at)),
        ("Price seen at booking", _quote_words(order)),
        ("Label", _label_lines(found.labels)),
        ("Scans", _scan_lines(found.scans)),
        ("Charges", _charge_lines(found)),
    ]
    return "\n".join(_section_text(title, lines) for title, lines in sections)


def _section_text(title: str, lines: Iterable[str]) -> str:
    return "\n".join(
        [rows.one_line(title), "-" * len(rows.one_line(title)), *map(str.rstrip, lines), ""]
    )


def _head_lines(found: Proof) -> Iterator[str]:
    sender = found.order.sender
    yield f"Sent by {sender.name} ({sender.number})."
    yield f"Written {_write_moment(found.at, found.order)}."
    yield (
        f"Times are in {sender.zone}, with UTC beside them. CHECKSUMS.txt proves each file of this"
        " pack."
    )


def _parcel_lines(order: Order, at: dt.datetime) -> Iterator[str]:
    yield _fact_line("Standing", status_label(order, at)[1])
    yield _fact_line("From", _party_line(order.pickup))
    yield _fact_line(
        "To", _party_line({name: getattr(order, f"receiver_{name}") for name in PARTY})
    )
    yield _fact_line("Inside", order.description)
    entered = order.entered
    yield _fact_line("Declared weight", f"{plain(entered['weight'])} {entered['weight_units']}")
    sides = " × ".join(plain(entered[side]) for side in ("length", "width", "height"))
    yield _fact_line("Declared size", f"{sides} {entered['dimension_units']}")
    yield _fact_line("Your order number", order.customer_reference or "None")
    yield _fact_line("Booked", _write_moment(order.booked_at, order) if order.booked_at else "No")
    if order.cancelled_at:
        yield _fact_line("Cancelled", _write_moment(order.cancelled_at, order))
    if order.cover_amount:
        yield _fact_line("Extra Cover", f"up to {money(order.cover_amount)}")


def _party_line(party: Facts) -> str:
    return ", ".join(str(party[name]) for name in PARTY if party.get(name))


def _quote_words(order: Order) -> Iterator[str]:
    yield _fact_line("Quoted", _write_moment(order.quoted_at, order))
    if carrier := _carrier_of(order):
        yield _fact_line("Carrier", carrier)
    yield _fact_line("Service", f"{order.product_name} ({order.product_code})")
    for name, amount, currency in money_lines(order.breakdown):
        yield _fact_line(f"  {name}", money(amount, currency))
    yield _fact_line("Total", money_in(order.price, order.currency))
    if order.charged_price is not None and order.charged_price != order.price:
        yield _fact_line(
            "Carrier's price",
            f"{money_in(order.charged_price, order.currency)}, in its answer to the booking",
        )
    days = " to ".join(dict.fromkeys(str(day) for day in (order.eta_from, order.eta_to) if day))
    yield _fact_line("Expected arrival", days or "Not given")
    if order.duties_paid:
        yield _fact_line("Duties and taxes", "Included")


def _label_lines(labels: list[Label]) -> Iterator[str]:
    stored = [label for label in labels if label.sha256]
    for label in stored:
        yield _fact_line(FOLDERS[label.size], f"{label.length} bytes, SHA-256 {label.sha256}")
    if not stored:
        yield "The carrier hasn't given us its label."


def _scan_lines(scans: list[Row]) -> Iterator[str]:
    for scan in scans:
        yield f"{scan['Time']}  ({scan['Time, UTC']})  {scan['What']}"
        yield "    " + ". ".join(
            str(scan[head]) for head in ("Place", "Description", "Carrier's clock") if scan[head]
        )
    if not scans:
        yield "The carrier has sent no scan."


def _charge_lines(found: Proof) -> Iterator[str]:
    for line in found.charges:
        yield (
            f"{line['Date'] or line['Week']}  {line['What']}:"
            f" {money_in(line['Amount'], str(line['Currency']))}"
        )
        yield from _measures_in_words(line)
        if line["Reason"]:
            yield f"    {line['Reason']}"
    for currency, net in sorted(found.order.charges.posted().net().items()):
        yield f"Net: {money_in(net, currency)}"
    if not found.charges:
        yield "The carrier's billing report has no line for it yet."


def _measures_in_words(line: Row) -> Iterator[str]:
    """Yield measures in words, with volumes in litres as in statements."""
    for unit, shown, times in (("kg", "kg", 1), ("m³", "L", 1000)):
        measured, declared = (line[f"{what}, {unit}"] for what in ("Measured", "Declared"))
        if isinstance(measured, Decimal):
            words = f"    Measured {plain(measured * times)} {shown}"
            if isinstance(declared, Decimal):
                words += f", declared {plain(declared * times)} {shown}"
            yield words


def _fact_line(name: str, value: str) -> str:
    return f"{name + ':':<20} {rows.one_line(value)}"


def _write_moment(at: dt.datetime, order: Order) -> str:
    return f"{rows.local_time(at, order.sender.tzinfo)} ({rows.utc_time(at)})"
