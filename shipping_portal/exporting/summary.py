"""The proof pack's page to read: plain text, times in the sender's zone and in UTC, money as the statement shows it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from orders.meaning import standing
from orders.models import Label, Order
from orders.offers import money_lines
from orders.originals import FOLDERS
from shipping_portal.accounts.templatetags.words import money, money_in, plain, say
from shipping_portal.exporting import rows
from shipping_portal.exporting.rows import Row

if TYPE_CHECKING:
    from shipping_portal.exporting.proof import Proof

PARTY = (
    "name", "company", "line1", "line2", "suburb", "state", "postcode", "country", "email", "phone", "instructions",
)  # fmt: skip


def text(found: Proof) -> str:
    """All of it, in sections with a line under each title."""
    order = found.order
    noun = say("Parcel", order.sender.country)
    title = f"{noun} {order.carrier_reference} to {order.receiver_name}"
    sections = [
        (title, _head(found)),
        (noun, _parcel(order, found.at)),
        ("Price seen at booking", _quote(order)),
        ("Label", _labels(found.labels)),
        ("Scans", _scans(found.scans)),
        ("Charges", _charges(found)),
    ]
    return "\n".join(_section(title, lines) for title, lines in sections)


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([rows.plain(title), "-" * len(rows.plain(title)), *map(str.rstrip, lines), ""])


def _head(found: Proof) -> Iterator[str]:
    sender = found.order.sender
    yield f"Sent by {sender.name} ({sender.number})."
    yield f"Written {_moment(found.at, found.order)}."
    yield f"Times are in {sender.zone}, with UTC beside them. CHECKSUMS.txt proves each file of this pack."


def _parcel(order: Order, at: dt.datetime) -> Iterator[str]:
    yield _fact("Standing", standing(order, at)[1])
    yield _fact("From", _party(order.pickup))
    yield _fact("To", _party({name: getattr(order, f"receiver_{name}") for name in PARTY}))
    yield _fact("Inside", order.description)
    entered = order.entered
    yield _fact("Declared weight", f"{plain(entered['weight'])} {entered['weight_units']}")
    sides = " × ".join(plain(entered[side]) for side in ("length", "width", "height"))
    yield _fact("Declared size", f"{sides} {entered['dimension_units']}")
    yield _fact("Your order number", order.customer_reference or "None")
    yield _fact("Booked", _moment(order.booked_at, order) if order.booked_at else "No")
    if order.cancelled_at:
        yield _fact("Cancelled", _moment(order.cancelled_at, order))
    if order.cover_amount:
        yield _fact("Extra Cover", f"up to {money(order.cover_amount)}")


def _party(party: dict[str, Any]) -> str:
    return ", ".join(str(party[name]) for name in PARTY if party.get(name))


def _quote(order: Order) -> Iterator[str]:
    yield _fact("Quoted", _moment(order.quoted_at, order))
    yield _fact("Service", f"{order.product_name} ({order.product_code})")
    for name, amount, currency in money_lines(order.breakdown):
        yield _fact(f"  {name}", money(amount, currency))
    yield _fact("Total", money_in(order.price, order.currency))
    if order.charged_price is not None and order.charged_price != order.price:
        yield _fact(
            "Carrier's price",
            f"{money_in(order.charged_price, order.currency)}, in its answer to the booking",
        )
    days = " to ".join(dict.fromkeys(str(day) for day in (order.eta_from, order.eta_to) if day))
    yield _fact("Expected arrival", days or "Not given")
    if order.duties_paid:
        yield _fact("Duties and taxes", "Included")


def _labels(labels: list[Label]) -> Iterator[str]:
    stored = [label for label in labels if label.sha256]
    for label in stored:
        yield _fact(FOLDERS[label.size], f"{label.length} bytes, SHA-256 {label.sha256}")
    if not stored:
        yield "The carrier hasn't given us its label."


def _scans(scans: list[Row]) -> Iterator[str]:
    for scan in scans:
        yield f"{scan['Time']}  ({scan['Time, UTC']})  {scan['What']}"
        yield "    " + ". ".join(str(scan[head]) for head in ("Place", "Description") if scan[head])
    if not scans:
        yield "The carrier has sent no scan."


def _charges(found: Proof) -> Iterator[str]:
    for line in found.charges:
        yield f"{line['Date'] or line['Week']}  {line['What']}: {money_in(line['Amount'], str(line['Currency']))}"
        yield from _measured(line)
        if line["Reason"]:
            yield f"    {line['Reason']}"
    for currency, net in sorted(found.order.charges.posted().net().items()):
        yield f"Net: {money_in(net, currency)}"
    if not found.charges:
        yield "The carrier's billing report has no line for it yet."


def _measured(line: Row) -> Iterator[str]:
    for unit in ("kg", "m³"):
        declared, measured = line[f"Declared, {unit}"], line[f"Measured, {unit}"]
        if measured is not None:
            said = f"    Measured {plain(measured)} {unit}"
            yield f"{said}; declared {plain(declared)} {unit}" if declared is not None else said


def _fact(name: str, value: str) -> str:
    return f"{name + ':':<20} {rows.plain(value)}"


def _moment(at: dt.datetime, order: Order) -> str:
    return f"{rows.local(at, order.sender.tzinfo)} ({rows.utc(at)})"
