"""What must hold after every step, whatever happened: the portal's rows against the carrier's ledger."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

from orders import recounting
from orders.models import BookingAttempt, CancelAttempt, Order, OrderChange
from orders.models.statuses import HELD, Status
from orders.progress import Step, fold
from shipping_portal.accounts.adminkit.filters import now_of
from shipping_portal.carrier.points import WORDS
from shipping_portal.staff import queues
from tests.journeys.ledger import Ledger
from tracking.models import Parcel, TrackingEvent

ORDER = ("id", "uuid", "status", "due_at", "carrier_reference", "progress")
PARCEL = ("id", "order_id", "progress", "due_at")
UNSURE = {Status.UNCONFIRMED, Status.CONFLICT}


@dataclass
class Books:
    """Every row that tells of orders, read once."""

    orders: dict[int, dict[str, Any]]
    attempts: list[dict[str, Any]]
    cancels: Counter[int]
    changes: dict[int, list[tuple[str, str]]]
    parcels: dict[int, dict[str, Any]]
    events: list[dict[str, Any]]

    @classmethod
    def read(cls) -> "Books":
        changes: dict[int, list[tuple[str, str]]] = {}
        for order, old, new in OrderChange.objects.order_by("pk").values_list("order_id", "old", "new"):
            changes.setdefault(order, []).append((old, new))
        live = CancelAttempt.objects.filter(state__in=CancelAttempt.LIVE)
        return cls(
            {row["id"]: row for row in Order.objects.values(*ORDER)},
            list(BookingAttempt.objects.values("order_id", "key", "state", "body_sha256")),
            Counter(live.values_list("order_id", flat=True)),
            changes,
            {row["order_id"]: row for row in Parcel.objects.values(*PARCEL)},
            list(TrackingEvent.objects.values("parcel_id", "event_id", "event_type", "scan_time")),
        )


def hold(ledger: Ledger, *, told: set[str], misled: set[str], now: dt.datetime) -> None:
    """Raises AssertionError. `told`: ids of scans the webhook took; `misled`: orders an operator was wrong about."""
    books = Books.read()
    assert not recounting.miscounted(now), "the limits count something else than their orders"
    assert ledger.breaches == []
    assert told <= {str(event["event_id"]) for event in books.events}, "a scan that was taken is lost"
    for order in books.orders.values():
        _one_order_at_the_carrier(order, books, ledger, misled)
        _a_reference_is_its_own(order, books, ledger)
        _somebody_moves_next(order, books, now)
        _every_change_is_written_down(order, books)
        _progress_is_the_fold_of_its_scans(order, books, now)


def _one_order_at_the_carrier(order: dict[str, Any], books: Books, ledger: Ledger, misled: set[str]) -> None:
    """What the carrier holds is attached here or in somebody's hands; and it is one, unless a person was wrong."""
    live = [held for held in ledger.held if held.order == str(order["uuid"]) and held.is_live]
    in_the_air = any(
        attempt["order_id"] == order["id"] and attempt["state"] == "in_flight" for attempt in books.attempts
    )
    if str(order["uuid"]) in misled:
        return
    assert len(live) <= 1, "the carrier holds it twice"
    if live and not in_the_air:
        assert order["status"] in HELD | UNSURE, f"the carrier holds it and it is {order['status']}"
        assert order["carrier_reference"] in {None, live[0].reference}


def _a_reference_is_its_own(order: dict[str, Any], books: Books, ledger: Ledger) -> None:
    assert (order["carrier_reference"] is not None) == (order["status"] in HELD)
    if order["carrier_reference"] is None:
        return
    held = ledger.by_reference(order["carrier_reference"])
    assert held is not None, "its reference is nobody's"
    sent = {(str(a["key"]), a["body_sha256"]) for a in books.attempts if a["order_id"] == order["id"]}
    assert (held.key, held.sha256) in sent, "the carrier has other bytes than we wrote down"
    assert held.cancels <= 1, "it was cancelled twice"
    if order["status"] == Status.BOOKED:
        assert held.is_live, "it is shown as booked and the carrier has cancelled it"
    if order["status"] == Status.CANCELLED:
        assert not held.is_live, "it is shown as cancelled and the carrier will collect it"


def _somebody_moves_next(order: dict[str, Any], books: Books, now: dt.datetime) -> None:
    """An outcome without a next mover is a defect: a due time, or a queue on the operator's desk."""
    status, pk = order["status"], order["id"]
    if status in {Status.BOOKING, Status.CANCELLING}:
        assert order["due_at"], f"{status} and never due"
    if status in {Status.CANCELLING, Status.CANCEL_UNCONFIRMED}:
        assert books.cancels[pk] == 1, f"{status} with no cancellation to settle"
    if status in UNSURE | {Status.CANCEL_UNCONFIRMED} and not order["due_at"]:
        rules = [now_of(queues.ORDERS[name].rule, now) for name in ("unconfirmed", "conflict", "cancel-stuck")]
        waiting = Order.objects.filter(rules[0] | rules[1] | rules[2], pk=pk)
        assert waiting.exists(), f"{status} and on nobody's desk"
    if status in {Status.BOOKED, Status.CANCELLED}:
        assert order["due_at"] or pk in books.parcels, "nobody watches its parcel"
    if status in UNSURE and not order["due_at"]:
        assert any(a["order_id"] == pk for a in books.attempts), "a case without evidence"


def _every_change_is_written_down(order: dict[str, Any], books: Books) -> None:
    changes = books.changes.get(order["id"], [])
    assert [old for old, _ in changes] == [Status.DRAFT, *(new for _, new in changes[:-1])]
    assert changes[-1][1] == order["status"]


def _progress_is_the_fold_of_its_scans(order: dict[str, Any], books: Books, now: dt.datetime) -> None:
    parcel = books.parcels.get(order["id"])
    if parcel is None or parcel["due_at"]:
        return
    steps = [
        Step(event["scan_time"], str(event["event_id"]), WORDS[event["event_type"].lower()])
        for event in books.events
        if event["parcel_id"] == parcel["id"]
    ]
    assert order["progress"] == parcel["progress"] == fold(steps, now=now).progress
