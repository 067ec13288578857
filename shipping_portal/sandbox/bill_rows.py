"""Build the rows of the weekly billing report (section 2.5 of the interface)."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.asking import CENTIMETRES, KILOGRAMS, METRIC, SIZES
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig

COLUMNS = (
    "Type",
    "Reference",
    "Customer Reference",
    "Order Date",
    "Paid",
    "Price",
    "Currency",
    "Refund Date",
    "Refund Reason",
    "Warranty Price",
    "Declared Max Weight",
    "Declared Max Volume",
    "Measured Weight",
    "Measured Volume",
)
ORDER = "Order Invoiced"
TOTAL = "Total"

# The report's words for each kind of charge; a novelty brings its own.
KINDS = {
    "under-declared": "Adjustment: Incorrect size declared",
    "under-declared-refund": "Size adjustment charge refunded",
    "oversize": "Adjustment: Oversize penalty",
    "packaging": "Adjustment: Package Type",
    "packaging-refund": "Package type adjustment refunded",
    "uncancellation": ORDER,
    "refund-delay": ORDER,
    "refund-loss": ORDER,
    "refund": ORDER,
    "novelty": "",
}
REASONS = {"refund-delay": "Delay", "refund-loss": "Loss", "refund": "Other"}
REFUNDS = {*REASONS, "under-declared-refund", "packaging-refund"}


@dataclass(frozen=True)
class Entry:
    """One row, and its ledger entry. Refund rows show the original positive price."""

    kind: str
    row: dict[str, str]
    order_key: str = ""

    @property
    def net(self) -> Decimal:
        """Return the amount: above zero is charged, below is refunded."""
        price = Decimal(self.row["Price"])
        return -price if self.row["Paid"] == "Refunded" else price

    def as_line(self) -> dict[str, str]:
        """Return the ledger's part: owner, amount and sign."""
        return {
            "kind": self.kind,
            "reference": self.row["Reference"],
            "order_key": self.order_key,
            "amount": str(self.net),
            "currency": self.row["Currency"],
        }


def order_entry(parcel: Parcel, contract: Contract) -> Entry:
    """Return an order's cost with its cover, as calculated when it was made."""
    return Entry("order", _row(ORDER, parcel, contract), parcel.order_key)


def cancel_entry(line: dict[str, Any], parcel: Parcel, contract: Contract) -> Entry:
    """Return the same price refunded because the order was cancelled."""
    return Entry("cancellation", _refunded(_row(ORDER, parcel, contract), line), parcel.order_key)


def charge_entry(line: dict[str, Any], parcel: Parcel, contract: Contract) -> Entry:
    """Return an adjustment or some other refund, with the measures."""
    kind = line["kind"]
    row = _row(KINDS[kind] or line["words"], parcel, contract) | {
        "Price": line["amount"],
        "Currency": line["currency"],
        "Refund Reason": REASONS.get(kind, ""),
        "Measured Weight": str(line.get("measured_weight") or ""),
        "Measured Volume": str(line.get("measured_volume") or ""),
    }
    if kind != "uncancellation":
        row["Warranty Price"] = ""
    return Entry(kind, _refunded(row, line) if kind in REFUNDS else row, parcel.order_key)


def stray_entry(line: dict[str, Any]) -> Entry:
    """Return a row billed to this account by mistake, with an unknown reference."""
    row = dict.fromkeys(COLUMNS, "") | {
        "Type": ORDER,
        "Reference": line["reference"],
        "Order Date": _day(line["at"]),
        "Paid": "Paid",
        "Price": line["amount"],
        "Currency": line["currency"],
    }
    return Entry("stray", row)


def totals(entries: Iterable[Entry]) -> dict[str, Decimal]:
    """Return charges minus refunds, by currency."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for entry in entries:
        sums[entry.row["Currency"]] += entry.net
    return dict(sorted(sums.items()))


def as_csv(entries: Iterable[Entry], sums: dict[str, Decimal]) -> str:
    """Return the file: a row for each entry, and at the end a total for each currency."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(entry.row for entry in entries)
    writer.writerows(
        {"Type": TOTAL, "Price": f"{sums[name]:.2f}", "Currency": name} for name in sums
    )
    return text.getvalue()


def declared_weight(parcel: Parcel, contract: Contract) -> Decimal:
    """Return the declared weight in kilograms."""
    return _declared(parcel, contract, "weight", "weight_units", KILOGRAMS)


def declared_volume(parcel: Parcel, contract: Contract) -> Decimal:
    """Return the declared volume in cubic metres."""
    volume = Decimal(1)
    for key in SIZES:
        volume *= _declared(parcel, contract, key, "dimension_units", CENTIMETRES) / 100
    return volume


def _row(kind: str, parcel: Parcel, contract: Contract) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, "") | {
        "Type": kind,
        "Reference": parcel.reference,
        "Customer Reference": str(dig(parcel.body, contract["customer_reference"]) or ""),
        "Order Date": _day(parcel.created_at),
        "Paid": "Paid",
        "Price": parcel.quote["gross"],
        "Currency": parcel.quote["currency"],
        "Warranty Price": str(sum(map(Decimal, parcel.quote["cover"]))),
        "Declared Max Weight": f"{declared_weight(parcel, contract):.3f}",
        "Declared Max Volume": f"{declared_volume(parcel, contract):.4f}",
    }


def _refunded(row: dict[str, str], line: dict[str, Any]) -> dict[str, str]:
    return row | {"Paid": "Refunded", "Refund Date": _day(line["at"])}


def _declared(
    parcel: Parcel, contract: Contract, key: str, units_key: str, table: dict[str, Decimal]
) -> Decimal:
    units = dig(parcel.body, contract[units_key], METRIC[units_key])
    return Decimal(str(dig(parcel.body, contract[key]))) * table[units]


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
