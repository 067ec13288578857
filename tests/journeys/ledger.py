"""The carrier as a dictionary: what it holds, and how its next answer goes wrong."""

import datetime as dt
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from orders import gateway
from orders.models import Order
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Booked, Cancelled, Money, Product, Quoted, Scan, Shipment, Tracked
from shipping_portal.carrier.writing import order_key_of
from tests.factories import OFFER
from tests.journeys.workers import Clock


class Fault(StrEnum):
    """How a call ends. Those of `AFTER` happen when the carrier has acted already."""

    NONE = "it answers"
    LOST_AFTER = "it acts, and the reply is lost"
    BROKEN_AFTER = "it acts, and says 500"
    LOST_BEFORE = "the request is lost"
    BROKEN_BEFORE = "it does nothing, and says 500"
    LATE = "it acts long after everybody gave up waiting"
    UNREACHABLE = "nothing leaves this machine"
    TOO_MANY = "it says 429"
    REFUSED = "it refuses"
    KEY_REFUSED = "it refuses the key of a booking it has"
    STOPPED = "it refuses the account"
    ANOTHERS = "it answers with another order"
    CANCELLED = "it answers with a cancelled order"


AFTER = {Fault.LOST_AFTER, Fault.BROKEN_AFTER}
BEFORE = {Fault.LOST_BEFORE, Fault.BROKEN_BEFORE}
MOVING = {"Pickup", "In Transit", "Delivered"}


@dataclass
class Held:
    """One order in the carrier's books."""

    number: int
    order_key: str
    key: str
    sha256: str
    is_made: bool = True  # False while a late one is still to come
    cancels: int = 0
    scans: list[Scan] = field(default_factory=list)

    @property
    def reference(self) -> str:
        return f"SLEDGER{self.number:03d}"

    @property
    def order_id(self) -> str:
        return f"id-{self.number}"

    @property
    def order(self) -> str:
        """The portal's order, whichever its generation."""
        return self.order_key[:36]

    @property
    def is_live(self) -> bool:
        return self.is_made and not self.cancels


class Ledger:
    """What the carrier knows. `breaches` are requests that should never have come."""

    def __init__(self, clock: Clock, wait: Callable[[], None], contract: Contract) -> None:
        self.clock, self.wait, self.contract = clock, wait, contract
        self.keeps_keys = contract.replays  # and goes on doing so, whatever the contract says later
        self.held: list[Held] = []
        self.faults: dict[str, Fault] = {}
        self.sent: Counter[str] = Counter()
        self.breaches: list[str] = []
        self.price = Decimal(OFFER["amount"])

    # -- What it is asked --------------------------------------------------------------------

    def quote(self) -> Quoted:
        self.wait()
        self._before(self.faults.pop("quote", Fault.NONE))
        price = Money(self.price, "AUD")
        code, name = OFFER["code"], OFFER["name"]
        only = Product(code, name, "pickup", "", price, (), (), "", None, None, None, False, None, raw={})
        return Quoted((only,))

    def book(self, body: bytes, *, key: str, not_after: float | None) -> Booked:
        self._note_sending(key)
        self._leave(not_after)
        fault = self.faults.pop("book", Fault.NONE)
        known = next((held for held in self.held if held.key == key and self.keeps_keys), None)
        if known and fault == Fault.KEY_REFUSED:
            raise Rejected(422, "idempotency_key", "This idempotency key was used already.")
        self._before(fault, refusing=known is None)
        if known is None and fault in {Fault.ANOTHERS, Fault.CANCELLED}:
            return self._not_ours(fault)
        held = known or self._make(body, key, late=fault == Fault.LATE)
        if not held.is_made:
            raise OutcomeUnknown("still in progress", 425)
        self.wait()
        self._after(fault)
        return self.as_booked(held)

    def cancel(self, order_id: str, *, not_after: float | None) -> Cancelled:
        self._leave(not_after)
        fault = self.faults.pop("cancel", Fault.NONE)
        self._before(fault)
        held = self._by_id(order_id)
        if any(scan.event_type in MOVING for scan in held.scans):
            raise Rejected(422, "collected", "The driver has it.")
        if not (held.cancels and self.contract.cancel_repeatable):
            held.cancels += 1
        self.wait()
        self._after(fault)
        return Cancelled("Cancelled", "", 200, b"{}")

    def view(self, order_id: str) -> Booked:
        self.wait()
        self._before(self.faults.pop("view", Fault.NONE))
        return self.as_booked(self._by_id(order_id))

    def track(self, reference: str) -> Tracked:
        self.wait()
        self._before(self.faults.pop("track", Fault.NONE))
        held = self.by_reference(reference)
        if held is None:
            raise Rejected(404, "", "There is no such parcel.")
        return Tracked("", tuple(held.scans), (), None, b"{}")

    # -- What is asked of it by tests --------------------------------------------------------

    def of(self, order: str) -> list[Held]:
        """Everything it made, or will make, of one order of the portal."""
        return [held for held in self.held if held.order == order and not held.cancels]

    def by_reference(self, reference: str) -> Held | None:
        return next((held for held in self.held if held.is_made and held.reference == reference), None)

    def scan(self, held: Held, word: str) -> Scan:
        event_id = str(uuid.UUID(int=1 + sum(len(each.scans) for each in self.held)))
        row: dict[str, Any] = {
            "carrier_reference": held.reference,
            "event_id": event_id,
            "event_type": word,
            "scan_time": self.clock.now().isoformat(),
            "description": f"{word} scan",
            "location_data": None,
        }
        held.scans.append(
            Scan(held.reference, event_id, word, self.clock.now(), f"{word} scan", "", "", "", "", raw=row)
        )
        return held.scans[-1]

    def as_booked(self, held: Held) -> Booked:
        state, price = ("Cancelled" if held.cancels else "Booked"), Money(self.price, "AUD")
        ids = held.order_id, held.reference
        return Booked(*ids, state, (), None, price, (), "", held.order_key, 201, b"{}")

    # -- How it answers ----------------------------------------------------------------------

    def _note_sending(self, key: str) -> None:
        self.sent[key] += 1
        if self.sent[key] > 1 and not gateway.replays_allowed(gateway.account()):
            self.breaches.append(f"{key} was sent again while nobody may resend")

    def _leave(self, not_after: float | None) -> None:
        """The worker may fall asleep before its first byte; afterwards that byte may be too late."""
        latest = None if not_after is None else dt.timedelta(seconds=not_after - time.monotonic())
        began_at = self.clock.now()
        self.wait()
        if latest is not None and self.clock.now() - began_at > latest:
            raise NotSent("too late to be sent")

    def _before(self, fault: Fault, *, refusing: bool = True) -> None:
        if fault == Fault.UNREACHABLE:
            raise NotSent("refused")
        if fault == Fault.TOO_MANY:
            raise NotSent("429", retry_after=30)
        if fault == Fault.STOPPED:
            raise AccountStopped(402, "No payment method.")
        if fault in BEFORE:
            raise OutcomeUnknown(fault, 500 if fault == Fault.BROKEN_BEFORE else None)
        if fault == Fault.REFUSED and refusing:
            raise Rejected(422, "", "The carrier will not.")

    def _after(self, fault: Fault) -> None:
        if fault in AFTER:
            raise OutcomeUnknown(fault, 500 if fault == Fault.BROKEN_AFTER else None)

    def _not_ours(self, fault: Fault) -> Booked:
        """An order that is somebody's already. With its echo of another key, unless the portal knows it."""
        stored = Order.objects.exclude(carrier_reference=None).values_list("carrier_reference", flat=True)
        known = self.by_reference(stored.first() or "")
        if known is None or fault == Fault.CANCELLED:
            raise OutcomeUnknown(fault, 201, reference="SELSEWHERE", conflict=True)
        return self.as_booked(known)

    def _make(self, body: bytes, key: str, *, late: bool) -> Held:
        order_key = order_key_of(body, self.contract)
        sha256 = hashlib.sha256(body).hexdigest()
        self.held.append(Held(len(self.held) + 1, order_key, key, sha256, is_made=not late))
        return self.held[-1]

    def _by_id(self, order_id: str) -> Held:
        return self.held[int(order_id.removeprefix("id-")) - 1]


class LedgerCarrier(Carrier):
    """The client that CARRIER_CLIENT names: the portal's own, with the ledger in place of HTTP."""

    ledger: ClassVar[Ledger]

    def quote(self, shipment: Shipment) -> Quoted:
        return self.ledger.quote()

    def book(self, body: bytes, *, key: str, not_after: float | None = None) -> Booked:
        return self.ledger.book(body, key=key, not_after=not_after)

    def cancel(self, order_id: str, *, not_after: float | None = None) -> Cancelled:
        return self.ledger.cancel(order_id, not_after=not_after)

    def view(self, order_id: str) -> Booked:
        return self.ledger.view(order_id)

    def track(self, reference: str) -> Tracked:
        return self.ledger.track(reference)
