"""A billing report in the format carriers of this kind write, line by line."""

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from orders.calling import gateway
from shipping_portal.billing.models import BillingReport
from shipping_portal.billing.reports import checking, uploads

HEADER = ["Type", "Reference", "Customer Reference", "Order Date", "Paid", "Price", "Currency", "Refund Date",
          "Refund Reason", "Warranty Price", "Declared Max Weight", "Declared Max Volume", "Measured Weight",
          "Measured Volume", "Line"]  # fmt: skip


def line(reference: str, price: str = "12.08", **cells: str) -> dict[str, str]:
    """Return one row. Cells are named by their header, with underscores for spaces."""
    values = {"Type": "Order Invoiced", "Reference": reference, "Order Date": "2026-11-18", "Paid": "Paid",
              "Price": price, "Currency": "AUD"}  # fmt: skip
    return values | {name.replace("_", " "): text for name, text in cells.items()}


def refund(reference: str, price: str = "12.08", **cells: str) -> dict[str, str]:
    """Return a refund row, which shows the original price as a positive amount."""
    return line(reference, price, **{"Paid": "Refunded", "Refund_Date": "2026-11-20", **cells})


def total(amount: str, currency: str = "AUD") -> dict[str, str]:
    return {"Type": "Total", "Price": amount, "Currency": currency}


def written(*rows: dict[str, str]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def summed(*rows: dict[str, str]) -> bytes:
    """Return the rows with the total the carrier would write below them."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        sign = -1 if row["Paid"] == "Refunded" else 1
        sums[row["Currency"]] = sums.get(row["Currency"], Decimal(0)) + sign * Decimal(row["Price"])
    return written(*rows, *(total(str(amount), currency) for currency, amount in sums.items()))


@pytest.fixture
def take(db: None) -> Callable[..., BillingReport]:
    """`take(content)` uploads a report and reads it completely."""

    def read(content: bytes, *, name: str = "billing-2026-11-23.csv", **more: Any) -> BillingReport:
        report = uploads.store_report(gateway.current_account(), name, content, by=None, now=timezone.now(), **more)
        checking.read_due_report(report.pk)
        report.refresh_from_db()
        return report

    return read
