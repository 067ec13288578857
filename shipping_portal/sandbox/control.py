"""Control the sandbox under /_sandbox/, for the demo and tests, from this machine only."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from shipping_portal.sandbox.bill_rows import KINDS
from shipping_portal.sandbox.billing import write_report
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.contract import PROGRESS
from shipping_portal.sandbox.control_requests import answer_control
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.journeys import JOURNEYS, Journeys, step_after
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.places import as_csv
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.trouble import Troubles
from shipping_portal.sandbox.wire import Reply, json_reply


class Control:
    """Each endpoint is a method: its name is the path, its arguments the JSON body's members."""

    def __init__(
        self, config: Config, troubles: Troubles, depot: Depot, journeys: Journeys
    ) -> None:
        self.config, self.troubles, self.depot, self.journeys = config, troubles, depot, journeys
        self._reads: dict[str, Callable[[], Any]] = {
            "ledger": lambda: list(self.depot.ledger.lines()),
            "requests": lambda: list(self.depot.requests),
            "deliveries": lambda: list(self.depot.deliveries),
            "settings": lambda: vars(self.depot.settings),
            "localities.csv": lambda: Reply(200, as_csv().encode(), "text/csv; charset=utf-8"),
        }
        self._writes: dict[str, Callable[..., Any]] = {
            "trouble": self.trouble,
            "clear": self.clear,
            "scan": self.scan,
            "journey": self.journey,
            "prices": self.prices,
            "withdraw": self.withdraw,
            "foreign": self.foreign,
            "charge": self.charge,
            "stray": self.stray,
            "driver": self.driver,
            "drop_off": self.drop_off,
            "listener": self.listener,
            "report": self.report,
            "refund": self.refund,
            "settings": self.settings,
        }

    def answer(self, request: Request) -> Reply:
        """Read, write or clear; an invalid body gets a 400 that says why."""
        if request.is_local and (request.method, request.path) == ("DELETE", "/_sandbox/requests"):
            self.depot.requests.clear()
            return json_reply(200, {})
        return answer_control(request, self._reads, self._writes)

    def trouble(self, operation: str, verb: str, **facts: Any) -> None:
        """Ask for a fault. See `Troubles.ask_for`."""
        if verb == "slow-tls" and not self.config.certificate:
            raise ValueError("slow-tls needs a carrier that speaks TLS.")
        self.troubles.ask_for(operation, verb, **facts)

    def clear(self) -> None:
        """Remove all faults; restore prices and products."""
        self.troubles.clear()
        self.depot.raised_percent = 0.0
        self.depot.withdrawn.clear()

    def scan(
        self,
        reference: str,
        event_type: str = "",
        progress: str = "",
        description: str = "Scanned",
        location: dict[str, str | None] | None = None,
        **more: Any,
    ) -> dict[str, str]:
        """Add a scan. ``more``: scan_time, event_id, push (default true)."""
        if unknown := set(more) - {"scan_time", "event_id", "push"}:
            raise ValueError(f"{', '.join(unknown)} is not known here.")
        if progress not in PROGRESS:
            raise ValueError(f"{progress} is not a progress.")
        meaning = progress or self.depot.contract.meaning(event_type) or ""
        parcel = self._parcel(reference)
        made = self.journeys.add_scan(
            parcel, meaning, description, location, event_type=event_type, **more
        )
        return {"event_id": made.event_id, "scan_time": made.scan_time}

    def journey(self, name: str, reference: str = "default") -> None:
        """Use another script for one parcel, or for all booked from now on."""
        if name not in JOURNEYS:
            raise ValueError(f"{name} is not a journey; known are {', '.join(JOURNEYS)}.")
        if reference == "default":
            self.depot.default_journey = name
            return
        parcel = self._parcel(reference)
        self.depot.record(
            "routed", **self.depot.names(parcel), journey=name, step=step_after(parcel, name)
        )
        self.journeys.start(parcel)

    def driver(self, *, missed: bool = False) -> dict[str, int]:
        """Collect all waiting parcels or make their pickup fail; return how many."""
        return self._take(missed=missed, is_pickup=True)

    def drop_off(self) -> dict[str, int]:
        """Hand in all parcels waiting to be dropped off; return how many."""
        return self._take(missed=False, is_pickup=False)

    def _take(self, *, missed: bool, is_pickup: bool) -> dict[str, int]:
        parcels = list(self.depot.by_id.values())
        waiting = [one for one in parcels if one.is_pickup == is_pickup and one.is_cancellable]
        for parcel in waiting:
            self.journeys.take(parcel, missed=missed)
        return {"parcels": len(waiting)}

    def prices(self, percent: float) -> None:
        """Raise all base prices by a percentage; 0 restores the list prices."""
        self.depot.raised_percent = float(percent)

    def withdraw(self, code: str) -> None:
        """Stop selling a product."""
        self.depot.withdrawn.add(code)

    def foreign(self, reference: str) -> None:
        """Create a reference that somebody else booked."""
        self.depot.add_foreign(reference.upper())

    def listener(self, url: str) -> None:
        """Set the listener URL; the previous one is kept for the fault old-secret."""
        self.depot.previous_listener, self.depot.listener = self.depot.listener, url

    def charge(
        self,
        reference: str,
        kind: str,
        amount: str,
        measured_weight: str = "",
        measured_volume: str = "",
        words: str = "",
    ) -> None:
        """Put an adjustment or refund on the next report; ``words`` are the type of a novelty."""
        if kind not in KINDS:
            raise ValueError(f"{kind} is not a charge; known are {', '.join(KINDS)}.")
        if (kind == "novelty") != bool(words):
            raise ValueError("A novelty brings its own words, and nothing else does.")
        parcel = self._parcel(reference)
        if parcel.is_foreign:
            raise ValueError("A foreign parcel is not on this account's bill; a stray line is.")
        self.depot.record(
            "charge",
            **self.depot.names(parcel),
            kind=kind,
            amount=_money(amount),
            currency=parcel.quote["currency"],
            measured_weight=measured_weight,
            measured_volume=measured_volume,
            words=words,
        )

    def stray(self, reference: str, amount: str, currency: str = "AUD") -> None:
        """Put a line for somebody else's parcel on the next billing report."""
        parcel = self.depot.parcel(reference)
        if parcel is not None and not parcel.is_foreign:
            raise ValueError(f"{reference} is this account's own.")
        self.depot.record(
            "stray", reference=reference.upper(), amount=_money(amount), currency=currency
        )

    def report(self) -> dict[str, str]:
        """Write the billing report of everything since the last one."""
        path = write_report(self.depot)
        return {"path": str(path), "csv": path.read_text(encoding="utf-8")}

    def refund(self, reference: str, *, granted: bool) -> None:
        """Decide about a requested cancellation: cancel the order, or leave it booked."""
        parcel = self._parcel(reference)
        if parcel.refund != "asked":
            raise ValueError(f"No cancellation of {reference} is asked for.")
        if granted:
            self.depot.cancel(parcel, by="carrier")
        else:
            self.depot.refuse_refund(parcel)

    def settings(self, **wanted: Any) -> dict[str, Any]:
        """Change settings; return all of them."""
        was_standing = self.depot.settings.speed <= 0
        self.depot.settings.change(wanted)
        if was_standing and self.depot.settings.speed > 0:
            self.journeys.resume()
        return vars(self.depot.settings)

    def _parcel(self, reference: str) -> Parcel:
        parcel = self.depot.parcel(reference)
        if parcel is None:
            raise LookupError(f"{reference} is not known.")
        return parcel


def _money(amount: str) -> str:
    """Return a positive amount: its kind decides the sign."""
    try:
        money = Decimal(amount)
    except InvalidOperation as error:
        raise ValueError(f"{amount} is not an amount.") from error
    if not money.is_finite() or money <= 0:
        raise ValueError(f"{amount} is not an amount above zero.")
    return f"{money:.2f}"
