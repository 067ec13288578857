"""Fill a portal with history: many orders of one sender and of others, and everything that such orders leave behind.

The rows are written by SQL (rows.py), and are always the same except for random keys.
"""

import datetime as dt
import itertools
import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.utils import timezone

from orders.models import Order, Quote
from shipping_portal.accounts.models import Locality, LocalityList, Sender, User
from shipping_portal.billing.pages import statements
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tools.bench import life
from tools.bench.pages import OPERATOR, SENDER
from tools.bench.rows import continue_keys, execute, insert, one_of
from tracking.models import TrackingEvent

BATCH = 2000
SCANS = 60
ROWS_OF_A_FILE = 200
FILES = 60  # at least; a page lists fifty of them
FIRST = ("Priya", "Noor", "Dan", "Claire", "Avery", "Mia", "Jo", "Sam", "Ira", "Wren")
LAST = ("Nair", "Tamsin", "Webb", "Ono", "Lund", "Marlow", "Quill", "Sato", "Byrne", "Okoye")
SOUNDS = ("BRUN", "FITZ", "HOB", "KAL", "MOUNT ", "PORT ", "SANDY ", "WAR", "YAR", "GLEN ")
ENDS = ("SWICK", "ROY", "ART", "GOORLIE", "MACEDON", "DOUGLAS", "BAY", "RNAMBOOL", "RAVILLE", "WAVERLEY")
STATES = ("ACT", "NSW", "NT", "QLD", "SA", "TAS", "VIC", "WA")
DAYS = 139  # over which the orders are spread, however many there are
WAITING = 400  # one in this many: the newest ones, which the driver hasn't collected yet
# Of the others, 90 % are delivered, 5 % on their way, 4 % cancelled, and 1 % had a failed delivery.
IS_CANCELLED = "NOT waits AND luck BETWEEN 0.95 AND 0.99"
IS_MOVING = "CASE WHEN luck < 0.9 THEN 'delivered' WHEN luck < 0.95 THEN 'in_transit' ELSE 'delivery_attempted' END"
PROGRESS = f"CASE WHEN waits OR {IS_CANCELLED} THEN '' ELSE {IS_MOVING} END"
STATUS = f"CASE WHEN {IS_CANCELLED} THEN 'cancelled' ELSE 'booked' END"


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
    """Write `rows` orders of one sender and as many of each other account, interleaved as in production."""
    mia = factories.user("mia@bench.example", name="Mia")
    sam = factories.user("sam@bench.example", is_staff=True, is_superuser=True)
    factories.second_factor(sam)
    marlow = factories.sender(name="Marlow Candles")
    factories.member(marlow, mia)
    factories.pickup_address(marlow, email=mia.email)
    one = factories.order(marlow, mia, status="booked")
    parcel = factories.parcel(one)
    TrackingEvent.objects.bulk_create(
        factories.scan(parcel, event_type="In Transit", scan_time=timezone.now() - dt.timedelta(minutes=n))
        for n in range(SCANS)
    )
    _places(rows, random.Random(1))
    files = [_file(marlow, mia, like=one) for _ in range(max(rows // ROWS_OF_A_FILE + 1, FILES))]
    senders = [marlow, *(factories.sender(name=f"Marlow Candles {number}") for number in range(1, accounts))]
    # The limit for the portal's own role is too short for these statements.
    execute("SET statement_timeout = 0")
    _orders(one, rows, senders)
    _take_statistics()
    life.live(one, parcel)
    _take_statistics()
    factories.count_days(marlow)
    _take_statistics()
    execute("RESET statement_timeout")
    week = statements.week_name(one.charges.get().week)
    middle = marlow.orders.order_by("pk").values_list("pk", flat=True)[rows // 2]
    return Cast({SENDER: mia, OPERATOR: sam}, one.uuid, one.pk, marlow.pk, files[-1].uuid, week, middle)


def _orders(one: Order, rows: int, senders: list[Sender]) -> None:
    """Store the orders, newest last, as in production. Each of the last days has its own quote."""
    execute("SELECT setseed(0.5)")
    luck = ", ".join(f"random() AS {name}" for name in ("luck", "luck2", "luck3", "luck4", "luck5"))
    apart = dt.timedelta(days=DAYS) / (rows or 1)
    dice = (
        f"SELECT n, place, n < {rows // WAITING} AS waits, "
        f"timestamptz '{one.created_at}' - n * interval '{apart.total_seconds()} seconds' AS at, {luck} "
        f"FROM generate_series({rows - 1}, 0, -1) n, generate_series(0, {len(senders) - 1}) place"
    )
    key = f"{one.quote_id} + 1 + new.n * {len(senders)} + new.place"
    is_new = f"new.at > now() - interval '{settings.QUOTE_DAYS} days'"
    source = f"SELECT *, {STATUS} AS status, {PROGRESS} AS progress FROM ({dice}) dice"
    sender = f"(ARRAY{[sender.pk for sender in senders]})[1 + new.place]"
    assert one.quote
    insert(one.quote, f"SELECT * FROM ({dice}) new WHERE {is_new}",
           {"id": key, "uuid": "gen_random_uuid()", "sender_id": sender, "made_at": "new.at"},
           order_by="new.n DESC")  # fmt: skip
    name = f"{one_of(FIRST, 'new.luck2')} || ' ' || {one_of(LAST, 'new.luck3')}"
    is_delivered = "new.progress = 'delivered'"
    took = f"CASE WHEN {is_delivered} THEN (0.8 + 4.5 * new.luck4) * interval '1 day' ELSE interval '0' END"
    values = {
        "uuid": "gen_random_uuid()", "form_token": "gen_random_uuid()", "sender_id": sender,
        "status": "new.status", "progress": "new.progress", "quote_id": f"CASE WHEN {is_new} THEN {key} END",
        "carrier_reference": "'S' || chr(66 + new.place) || lpad(new.n::text, 7, '0')",
        "carrier_order_id": "'b-' || new.n", "receiver_name": name, "receiver_state": one_of(STATES, "new.luck5"),
        "search": f"lower({name}) || E'\\n brunswick 3056 b' || new.n",
        **dict.fromkeys(("created_at", "submitted_at", "booked_at", "quoted_at"), "new.at"),
        "progress_at": f"least(new.at + {took}, now())",
        "eta_to": f"CASE WHEN {is_delivered} THEN (new.at + interval '5 days')::date ELSE old.eta_to END",
        "cancelled_at": "CASE WHEN new.status = 'cancelled' THEN new.at END",
        "printed_at": "CASE WHEN NOT new.waits THEN new.at + interval '1 hour' END",
        "reserved_on": "NULL", "reserved": "0", "unbilled": "0",
    }  # fmt: skip
    insert(one, source, values, order_by="new.n DESC, new.place")
    continue_keys(Quote)


def _take_statistics() -> None:
    """Do what PostgreSQL would do by itself a minute later. Until then it plans as if the tables were empty."""
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
