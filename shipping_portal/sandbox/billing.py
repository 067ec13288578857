"""Write and record the weekly billing report of the ledger's effects since the last one."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shipping_portal.sandbox.bill_rows import (
    Entry,
    as_csv,
    cancel_entry,
    charge_entry,
    order_entry,
    stray_entry,
    totals,
)
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.measuring import charge_sizes
from shipping_portal.sandbox.parcels import Parcel


def write_report(depot: Depot) -> Path:
    """Bill everything since the last report as CSV; return the file's path.

    The ledger's `invoiced` line has every row's signed amount, so that totals can be checked
    without the file.
    """
    with depot.lock:
        charge_sizes(depot)
        lines = list(depot.ledger.lines())
        reports = [line for line in lines if line["effect"] == "invoiced"]
        cycle = Cycle(depot, invoiced={name for report in reports for name in report["references"]})
        entries = list(
            cycle.entries(lines[max((report["upto"] for report in reports), default=0) :])
        )
        path = (
            depot.config.state
            / "billing"
            / f"billing-{len(reports) + 1:03}-{depot.now():%Y-%m-%d}.csv"
        )
        path.parent.mkdir(exist_ok=True)
        path.write_text(as_csv(entries, totals(entries)), encoding="utf-8", newline="")
        depot.record(
            "invoiced",
            references=cycle.fresh,
            upto=len(lines) + 1,
            file=path.name,
            lines=[entry.as_line() for entry in entries],
            totals={currency: str(net) for currency, net in totals(entries).items()},
        )
    return path


class Cycle:
    """One billing cycle. `fresh` holds orders billed for the first time, `invoiced` earlier ones.

    An order cancelled before it was billed has no row, or both rows if the setting
    `bills_cancelled` is on. If its label was used anyway, it is billed as if it had never been
    cancelled.
    """

    def __init__(self, depot: Depot, *, invoiced: set[str]) -> None:
        self.depot, self.contract, self.invoiced = depot, depot.contract, invoiced
        self.both = depot.settings.bills_cancelled
        self.fresh: list[str] = []

    def entries(self, lines: Iterable[dict[str, Any]]) -> Iterator[Entry]:
        """Yield the rows of these effects, in their order."""
        for line in lines:
            if line["effect"] == "stray":
                yield stray_entry(line)
                continue
            parcel = self.depot.parcels.get(line.get("reference", ""))
            if parcel is not None and not parcel.is_foreign:
                yield from self._entry(line, parcel)

    def _entry(self, line: dict[str, Any], parcel: Parcel) -> Iterator[Entry]:
        effect = line["effect"]
        if effect == "booked" and (self.both or parcel.cancelled_at is None or parcel.is_moving):
            self.fresh.append(parcel.reference)
            yield order_entry(parcel, self.contract)
        elif effect == "cancelled" and self._is_billed(parcel):
            yield cancel_entry(line, parcel, self.contract)
        elif effect == "charge" and not self._is_as_never_cancelled(line, parcel):
            yield charge_entry(line, parcel, self.contract)

    def _is_billed(self, parcel: Parcel) -> bool:
        return parcel.reference in self.invoiced or (self.both and parcel.reference in self.fresh)

    def _is_as_never_cancelled(self, line: dict[str, Any], parcel: Parcel) -> bool:
        return line["kind"] == "uncancellation" and not self.both and parcel.reference in self.fresh
