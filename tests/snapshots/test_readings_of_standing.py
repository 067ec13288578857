"""An order's next statuses, its status label, whether it may be cancelled, and the questions its contents raise."""

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from orders.cancelling.cancel_rules import can_cancel, refuse_cancel_unless_allowed
from orders.drafting import contents_form
from orders.drafting import parcel_details as parcels
from orders.models import CarrierAccount, Order
from orders.models.statuses import (
    BEFORE_COLLECTION,
    BEING_CANCELLED,
    HELD,
    MAY_COST,
    MOVES,
    STILL_AT_SENDER,
    UNDECIDED,
    Progress,
    Status,
)
from orders.status import progress, status_labels
from shipping_portal.carrier.messages import Measures
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of
from tracking import timeline

T = dt.datetime(2026, 11, 23, 10, tzinfo=dt.UTC)
WHERE = {"country": "AU", "state": "VIC", "postcode": "3065"}
BOX = (("10", "10", "10", "cm"), ("4", "4", "4", "in"), ("1", "1", "1", "cm"), ("100", "100", "100", "cm"))


def order_of(status: str, word: str = "", **values: Any) -> Order:
    made = Order(
        pk=1,
        uuid="00000000-0000-0000-0000-000000000001",
        status=status,
        progress=word,
        carrier_order_id="A-1",
        first_mile="pickup",
        **values,
    )
    made.booked_at, made.pickup, made.account = (
        dt.datetime(2026, 11, 19, tzinfo=dt.UTC),
        WHERE,
        CarrierAccount(pk=1, name="A"),
    )
    return made


def cancels(made: Order, now: dt.datetime) -> str:
    try:
        refuse_cancel_unless_allowed(made, now)
    except Exception as error:  # noqa: BLE001 - it is written down
        return text_of(error)
    return f"may be cancelled{'' if can_cancel(made, now) else ', or not'}"


def stands(status: str, word: str, **values: Any) -> str:
    made = order_of(status, word, **values)
    shown = [made.shown_progress(T), made.missed_twice(T), made.progress_before_cancelling(T)]
    return f"{list(map(str, status_labels.status_label(made, T)))}; {list(map(str, shown))}; {cancels(made, T)}"


def reason(status: str, problem: dict[str, str], is_refused: bool) -> str:
    return status_labels.reason_to_look(order_of(status, problem=problem, cancel_refused_at=T if is_refused else None))


GROUPS = {
    "held": HELD,
    "being cancelled": BEING_CANCELLED,
    "may cost": MAY_COST,
    "undecided": UNDECIDED,
    "before collection": BEFORE_COLLECTION,
    "still at the sender": STILL_AT_SENDER,
    "terminal": progress.TERMINAL,
}


@pytest.mark.django_db
def test_each_order_has_the_expected_label_and_next_statuses() -> None:
    ahead = {"carrier_pickup_date": dt.date(2026, 11, 30)}
    odd = [{"cancel_refused_at": T}, {"used_after_cancel_at": T}, {"is_cancellable": False}, {"is_cancellable": True}]
    days = list(product((None, dt.date(2026, 11, 20)), (None, dt.date(2026, 11, 23)), (None, dt.date(2026, 11, 24))))
    problems: list[Any] = [{}, {"text": "Too heavy"}, {"text": "No!"}, {"text": ""}]
    compare(
        "reads-orders-standing",
        [
            *(f"{old.value} -> {', '.join(new.value for new in Status if new in MOVES[old])}" for old in Status),
            *(f"{name}: {', '.join(sorted(group))}" for name, group in GROUPS.items()),
            *(f"{status.value} -> {stands(status, '', **ahead)}" for status in Status),
            *(f"booked, {word or 'none'} -> {stands('booked', word, **ahead)}" for word in Progress.values),
            *(f"cancelled, {word} -> {stands('cancelled', word, **ahead)}" for word in ("", "in_transit")),
            *(f"{status}, {what} -> {stands(status, '', **ahead, **what)}" for status in ("booked",
            "cancelled") for what in odd),
            *(f"late: {status.value} -> {stands(status, '', pickup_date=dt.date(2026, 11, 20))}" for status in Status),
            *lines(lambda *how: order_of("booked", carrier_pickup_date=how[0], pickup_date=how[1],
            quoted_pickup_date=how[2]).expected_pickup(), days, "expected_pickup"),
            *lines(reason, list(product(("draft", "rejected", "booked", "unconfirmed", "cancelled"), problems[1:3],
            (False, True)))),
            *lines(reason, [("draft", {}, False), ("draft", problems[3], False)]),
            *lines(lambda generation: order_of("booked", generation=generation).order_key(), [1, 2, 10]),
        ],
    )  # fmt: skip


GOODS = (
    "Book",
    "LITHIUM battery",
    "batteryless",
    "power  bank",
    "Power bank and perfume",
    "gas",
    "gasket",
    "paint brush",
    "Spray paint",
    "nail polish",
    "dry ice",
    "eau de toilette",
    "lighter",
    "lighter,matches",
    "Magnets",
)


def test_sizes_goods_and_places_of_scans_are_read_as_expected() -> None:
    boxes = [
        Measures(Decimal(weight), unit, *map(parcels.Decimal, box[:3]), box[3])
        for box in BOX
        for weight, unit in (("0.005", "kg"), ("4.999", "g"), ("5", "kg"), ("5001", "g"), ("11", "lb"), ("16", "oz"))
    ]
    scans = [
        ("Carlton", "VIC", "3053", "AU"),
        ("", "", "", "au "),
        ("Carlton", "", "", ""),
        ("", "VIC", "3053", "new zealand"),
        ("", "", "", ""),
        ("Bonn", "", "53111", "DE"),
        ("X", "", "", "united states"),
    ]
    compare(
        "reads-goods",
        [
            *lines(lambda box: (f"{parcels.density_of(box):.4f}", parcels.odd_weight(box), parcels.describe_doubt(box)), boxes,
            "density"),
            *lines(parcels.is_likely, [Decimal(text) for text in ("4.99", "5", "5000", "5000.01")]),
            *lines(lambda *texts: [one.word + ": " + one.question for one in contents_form.contents_questions(texts)],
            [(text,) for text in GOODS] + [("power", "bank"), ("gas", "gas")], "questions"),
            *lines(timeline.place_line, scans),
        ],
    )  # fmt: skip
