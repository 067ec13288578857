"""A portal with so many rows: one sender's orders, scans and charges, the carrier's places, and rows of imports."""

import datetime as dt
import itertools
import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Max
from django.utils import timezone

from orders.booking.limits import NOT_COUNTED
from orders.models import Order
from orders.models.statuses import Progress, Status
from shipping_portal.accounts.models import Locality, LocalityList, Sender, User
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import BillingReport, Charge, week_of
from shipping_portal.billing.pages import statements
from shipping_portal.billing.reports.balancing import keep_tally
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tools.bench import others
from tools.bench.pages import OPERATOR, SENDER
from tracking.models import Parcel, TrackingEvent

BATCH = 2000
SCANS = 60
ROWS_OF_A_FILE = 200
FILES = 60  # at least, of which a page lists fifty
FIRST = ("Priya", "Noor", "Dan", "Claire", "Avery", "Mia", "Jo", "Sam", "Ira", "Wren")
LAST = ("Nair", "Tamsin", "Webb", "Ono", "Lund", "Marlow", "Quill", "Sato", "Byrne", "Okoye")
SOUNDS = ("BRUN", "FITZ", "HOB", "KAL", "MOUNT ", "PORT ", "SANDY ", "WAR", "YAR", "GLEN ")
ENDS = ("SWICK", "ROY", "ART", "GOORLIE", "MACEDON", "DOUGLAS", "BAY", "RNAMBOOL", "RAVILLE", "WAVERLEY")
STATES = ("ACT", "NSW", "NT", "QLD", "SA", "TAS", "VIC", "WA")
STANDINGS = [
    *[(Status.BOOKED, Progress.DELIVERED)] * 90,
    *[(Status.BOOKED, Progress.IN_TRANSIT)] * 5,
    *[(Status.CANCELLED, Progress.NONE)] * 4,
    (Status.BOOKED, Progress.DELIVERY_ATTEMPTED),
]


DAYS = 139  # that the orders spread over, however many they are
WAITING = 400  # one in so many: the newest ones, for which the driver has not come yet


@dataclass(frozen=True)
class Cast:
    people: dict[str, User]
    order: uuid.UUID  # a parcel with sixty scans
    key: int  # of the same one
    sender: int
    file: uuid.UUID  # an import of two hundred rows
    week: str  # a whole week that is billed
    middle: int  # the key of the order in the middle


def fill(rows: int, accounts: int = 1) -> Cast:
    """`rows` of each kind for one sender, the same every time, and as many for each of the other accounts."""
    mia = factories.user("mia@bench.example", name="Mia")
    sam = factories.user("sam@bench.example", is_staff=True, is_superuser=True)
    factories.second_factor(sam)
    marlow = factories.sender(name="Marlow Candles")
    factories.member(marlow, mia)
    factories.pickup_address(marlow, email=mia.email)
    one = factories.order(marlow, mia, status="booked")
    parcel = factories.parcel(one)
    TrackingEvent.objects.bulk_create(_scan(parcel, dt.timedelta(minutes=n)) for n in range(SCANS))
    dice = random.Random(1)
    _places(rows, dice)
    files = [_file(marlow, mia, like=one) for _ in range(max(rows // ROWS_OF_A_FILE + 1, FILES))]
    reports: dict[dt.date, BillingReport] = {}
    spaced, apart = others.Spaced(accounts), dt.timedelta(days=DAYS) / (rows or 1)
    for numbers in _batches(range(rows - 1, -1, -1)):  # the newest last, as it happens
        made = spaced.create(Order, (_order(one, n, n * apart, dice, is_waiting=n < rows // WAITING) for n in numbers))
        parcels = spaced.create(Parcel, map(_parcel, made))
        spaced.create(TrackingEvent, (_scan(each, n * apart) for each, n in zip(parcels, numbers, strict=True)))
        spaced.create(Charge, _charges(made, reports, like=one))
    week_sums.add_up(week_sums.weeks_of(Charge.objects.posted()))
    spaced.add_others(marlow)
    for report in reports.values():
        keep_tally(report)
    _take_statistics()
    factories.count_days(marlow)
    _take_statistics()
    week, middle = _billed_week(one), spaced.middle(rows)
    return Cast({SENDER: mia, OPERATOR: sam}, one.uuid, one.pk, marlow.pk, files[-1].uuid, week, middle)


def _take_statistics() -> None:
    """Do what PostgreSQL does of its own a minute later. Until then it plans as if the tables were empty."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE" if connection.in_atomic_block else "VACUUM ANALYZE")


def _batches(numbers: Iterable[int]) -> Iterable[tuple[int, ...]]:
    numbers = iter(numbers)
    while batch := tuple(itertools.islice(numbers, BATCH)):
        yield batch


def _places(rows: int, dice: random.Random) -> None:
    loaded = LocalityList.objects.create(
        country="AU", source="bench", sha256="0" * 64, rows=rows, loaded_at=timezone.now(), is_active=True
    )
    pairs = [("BRUNSWICK", "3056"), ("FITZROY", "3065")]
    pairs += [(dice.choice(SOUNDS) + dice.choice(ENDS) + f" {n}", f"{dice.randrange(10000):04d}") for n in range(rows)]
    Locality.objects.bulk_create(
        (
            Locality(list=loaded, country="AU", suburb=name, state="VIC", postcode=code, normalised=name.casefold())
            for name, code in pairs
        ),
        batch_size=BATCH,
    )


def _file(of: Sender, by: User, *, like: Order) -> Import:
    """An import with a fourth of its rows to be fixed; the others share one quote."""
    file = factories.import_file(of, by)
    to_fix = factories.import_row(of, by, file=file)
    fields = {"file": file, "cells": to_fix.cells}
    ready = {"state": "ready", "quote": like.quote}
    fix = {"state": "fix", "problems": to_fix.problems}
    ImportRow.objects.bulk_create(
        ImportRow(**fields, number=number, **(ready if number % 4 else fix)) for number in range(3, ROWS_OF_A_FILE + 2)
    )
    return file


def _order(like: Order, number: int, ago: dt.timedelta, dice: random.Random, *, is_waiting: bool) -> Order:
    status, progress = (Status.BOOKED, Progress.NONE) if is_waiting else dice.choice(STANDINGS)
    name = f"{dice.choice(FIRST)} {dice.choice(LAST)}"
    at = like.created_at - ago
    is_delivered = progress == Progress.DELIVERED
    took = dt.timedelta(days=dice.uniform(0.8, 5.3)) if is_delivered else dt.timedelta()
    values: dict[str, Any] = {
        field.attname: getattr(like, field.attname) for field in Order._meta.concrete_fields if not field.primary_key
    }
    values |= {
        "uuid": uuid.uuid4(), "form_token": uuid.uuid4(), "status": status, "progress": progress,
        "carrier_reference": f"SB{number:07d}", "carrier_order_id": f"b-{number}", "receiver_name": name,
        "search": f"{name.lower()} brunswick 3056 b{number}", "created_at": at, "booked_at": at,
        "progress_at": min(at + took, timezone.now()), "receiver_state": dice.choice(STATES),
        "eta_to": (at + dt.timedelta(days=5)).date() if is_delivered else like.eta_to,
        "cancelled_at": at if status == Status.CANCELLED else None, "submitted_at": at, **NOT_COUNTED,
    }  # fmt: skip
    return Order(**values)


def _billed_week(one: Order) -> str:
    """The newest; of the empty portal it is the week before, with one line."""
    newest = Charge.objects.aggregate(newest=Max("week"))["newest"]
    if newest is None:
        newest = week_of(one.created_at.date()) - dt.timedelta(days=7)
        factories.charge(one, week=newest)
    return statements.week_name(newest)


def _charges(orders: list[Order], reports: dict[dt.date, BillingReport], *, like: Order) -> Iterator[Charge]:
    """The cost of each in its week's report, and of one in twenty what the carrier measured; this week is open."""
    for order in orders:
        week = week_of(order.created_at.date())
        if week == week_of(timezone.now().date()):
            continue
        report = reports.get(week) or reports.setdefault(week, factories.billing_report(week=week))
        fields = {"account": report.account, "report": report, "week": week, "posted_at": report.ended_at,
                  "reference": order.carrier_reference, "order": order, "sender": like.sender, "currency": "AUD",
                  "line": int(order.carrier_reference[2:]) + 2}  # fmt: skip
        yield Charge(**fields, kind="order", key=uuid.uuid4().hex, stated=like.price, amount=like.price)
        if fields["line"] % 20 == 0:
            yield Charge(**fields, part=1, kind="under-declared", key=uuid.uuid4().hex, stated=4, amount=4)


def _parcel(order: Order) -> Parcel:
    return Parcel(
        reference=order.carrier_reference, order=order, account_id=order.account_id, created_at=order.created_at
    )


def _scan(parcel: Parcel, ago: dt.timedelta) -> TrackingEvent:
    at = timezone.now() - ago
    return TrackingEvent(
        parcel=parcel, account_id=parcel.account_id, event_id=uuid.uuid4(), fingerprint=uuid.uuid4().hex,
        event_type="In Transit", scan_time=at,
        description="In transit", suburb="Fitzroy", state="VIC", postcode="3065", country="AU", raw=b"{}",
        source="push", received_at=at,
    )  # fmt: skip
