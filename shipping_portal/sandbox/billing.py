"""The weekly billing report (section 2.5 of the interface; the columns are the family's, as far as known)."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from shipping_portal.sandbox.asking import CENTIMETRES, KILOGRAMS, SIZES
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig

COLUMNS = ("Type", "Reference", "Customer Reference", "Order Date", "Paid", "Price", "Currency",
           "Refund Date", "Warranty Price", "Declared Max Weight", "Declared Max Volume", "Measured Weight",
           "Measured Volume")  # fmt: skip

# The words of the report for each kind of charge.
KINDS = {
    "under-declared": "Adjustment: Incorrect size declared",
    "under-declared-refund": "Size adjustment charge refunded",
    "oversize": "Adjustment: Oversize penalty",
    "packaging": "Adjustment: Package Type",
    "packaging-refund": "Package type adjustment refunded",
    "uncancellation": "Order Invoiced",
    "refund": "Order Invoiced",
}


def write_report(depot: Depot) -> Path:
    """Bill everything since the last report and write it as CSV; gives the file's path.

    An order cancelled before it was ever billed leaves no row. Refund rows show the original positive price.
    """
    with depot.lock:
        lines = list(depot.ledger.lines())
        invoiced = {
            reference for line in lines if line["effect"] == "invoiced" for reference in line["references"]
        }
        billed = max((line["upto"] for line in lines if line["effect"] == "invoiced"), default=0)
        rows, fresh = _rows(lines[billed:], depot, invoiced)
        number = sum(line["effect"] == "invoiced" for line in lines) + 1
        path = depot.config.state / "billing" / f"billing-{number:03}-{depot.now():%Y-%m-%d}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_as_csv(rows), encoding="utf-8", newline="")
        depot.record("invoiced", references=fresh, upto=len(lines) + 1, file=path.name)
    return path


def _rows(
    lines: list[dict[str, Any]], depot: Depot, invoiced: set[str]
) -> tuple[list[dict[str, str]], list[str]]:
    rows, fresh = [], []
    for line in lines:
        parcel = depot.parcels.get(line.get("reference", ""))
        if parcel is None or parcel.is_foreign:
            continue
        if line["effect"] == "booked" and (parcel.cancelled_at is None or parcel.is_moving):
            rows.append(_row("Order Invoiced", parcel, depot.contract))
            fresh.append(parcel.reference)
        elif line["effect"] == "cancelled" and parcel.reference in invoiced:
            rows.append(_refund(_row("Order Invoiced", parcel, depot.contract), line))
        elif line["effect"] == "charge" and (
            line["kind"] != "uncancellation" or parcel.reference not in fresh
        ):
            rows.append(_charge(line, parcel, depot.contract))
    return rows, fresh


def _row(kind: str, parcel: Parcel, contract: Contract) -> dict[str, str]:
    weight = _declared(parcel, contract, "weight", "weight_units", KILOGRAMS)
    volume = Decimal(1)
    for key in SIZES:
        volume *= _declared(parcel, contract, key, "dimension_units", CENTIMETRES) / 100
    return dict.fromkeys(COLUMNS, "") | {
        "Type": kind,
        "Reference": parcel.reference,
        "Customer Reference": str(dig(parcel.body, contract["customer_reference"]) or ""),
        "Order Date": _day(parcel.created_at),
        "Paid": "Paid",
        "Price": parcel.quote["gross"],
        "Currency": parcel.quote["currency"],
        "Warranty Price": str(sum(map(Decimal, parcel.quote["cover"]))),
        "Declared Max Weight": f"{weight:.3f}",
        "Declared Max Volume": f"{volume:.4f}",
    }


def _refund(row: dict[str, str], line: dict[str, Any]) -> dict[str, str]:
    return row | {"Paid": "Refunded", "Refund Date": _day(line["at"])}


def _charge(line: dict[str, Any], parcel: Parcel, contract: Contract) -> dict[str, str]:
    row = _row(KINDS[line["kind"]], parcel, contract) | {
        "Price": line["amount"],
        "Currency": line["currency"],
    }
    if line["kind"] != "uncancellation":
        row["Warranty Price"] = ""
    row["Measured Weight"] = str(line.get("measured_weight") or "")
    row["Measured Volume"] = str(line.get("measured_volume") or "")
    return _refund(row, line) if line["kind"].endswith("refund") else row


def _declared(
    parcel: Parcel, contract: Contract, key: str, units_key: str, table: dict[str, Decimal]
) -> Decimal:
    return Decimal(str(dig(parcel.body, contract[key]))) * table[dig(parcel.body, contract[units_key])]


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _as_csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
