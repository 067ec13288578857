"""Stored webhooks: many are read together, each once, and none holds up the others."""

import datetime as dt
import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from celery.signals import worker_ready, worker_shutting_down
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.calling import carrier_settings, gateway
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.erasing import MARK
from shipping_portal.jobs.models import DeadLetter
from tests import factories
from tests.catalogue.pushing import event
from tracking import erasing
from tracking.models import EventWord, Parcel, TrackingEvent, WebhookDelivery
from tracking.receiving import intake
from tracking.scanning import reading, scans, statements

pytestmark = pytest.mark.django_db

WORDS = ["Pickup", "In Transit", "Out for Delivery", "Delivered", "Info", "Teleported", "teleported"]


def body(number: int, **changes: Any) -> bytes:
    facts = {"event_id": f"00000000-0000-4000-8000-{number:012d}", "event_type": WORDS[number % len(WORDS)]}
    return json.dumps(event(**{**facts, "carrier_reference": f"SMANY{number % 9:03d}", **changes})).encode()


def just_now() -> str:
    """Return the current time as a scan time. A scan from over a month before the booking would change nothing."""
    return f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"


def stored(*bodies: bytes) -> list[int]:
    return [intake.receive_delivery(one, carrier_settings.current_settings(), now=timezone.now()) for one in bodies]


def rows(*fields: str, of: Any = WebhookDelivery) -> list[Any]:
    return list(of.objects.order_by("pk").values_list(*fields, flat=len(fields) == 1))


def lies_overdue(**since: float) -> None:
    WebhookDelivery.objects.update(due_at=timezone.now() - dt.timedelta(**since))


# -- Stored by one statement -----------------------------------------------------------------------


def test_storing_a_webhook_takes_one_statement(django_assert_num_queries: Callable[..., CaptureQueriesContext]) -> None:
    gateway.current_account()
    with django_assert_num_queries(1):
        stored(body(1))


def test_the_statement_stores_the_same_as_the_orm() -> None:
    said, now = body(1, scan_time="2026-11-18T21:21:05+10:00"), timezone.now()
    factories.deliver(b"{}")  # the account is known
    pk = intake.receive_delivery(said, carrier_settings.current_settings(), now=now)
    [ours] = WebhookDelivery.objects.filter(pk=pk).values()
    made = WebhookDelivery.objects.create(
        account=gateway.current_account(), received_at=now, body=said, sha256=ours["sha256"], due_at=now, reference="SMANY001",
        carrier_event_id="00000000-0000-4000-8000-000000000001", scan_time="2026-11-18T11:21:05Z",
    )  # fmt: skip
    [theirs] = WebhookDelivery.objects.filter(pk=made.pk).values()
    same = {name: bytes(value) if name == "body" else value for name, value in theirs.items() if name != "id"}
    assert {name: bytes(ours[name]) if name == "body" else ours[name] for name in same} == same


def test_the_first_webhook_of_an_account_makes_its_row() -> None:
    assert not CarrierAccount.objects.exists()
    stored(body(1))
    assert WebhookDelivery.objects.get().account == CarrierAccount.objects.get()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, ("SMANY001", "00000000-0000-4000-8000-000000000001", True)),
        ({"event_type": 7}, ("SMANY001", "00000000-0000-4000-8000-000000000001", True)),
        ({"carrier_reference": "S1"}, ("", "00000000-0000-4000-8000-000000000001", True)),
        ({"event_id": "no"}, ("SMANY001", "None", True)),
        ({"scan_time": "soon"}, ("SMANY001", "00000000-0000-4000-8000-000000000001", False)),
    ],
)
def test_readable_values_of_a_webhook_are_kept(changes: Any, named: Any) -> None:
    stored(body(1, **changes))
    [(reference, event_id, scan_time)] = rows("reference", "carrier_event_id", "scan_time")
    assert (reference, str(event_id), scan_time is not None) == named


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="nobody restarts SQLite")
def test_a_lost_connection_loses_no_webhook(transactional_db: None) -> None:
    stored(body(1))
    connection.connection.close()
    stored(body(2))
    assert WebhookDelivery.objects.count() == 2


# -- Read together ---------------------------------------------------------------------------------


def test_many_webhooks_are_read_in_as_many_statements_as_one() -> None:
    counts = []
    for first, many in ((0, 9), (100, 90)):
        stored(*(body(number) for number in range(first, first + many)))
        with CaptureQueriesContext(connection) as found:
            assert reading.read_due() == many
        counts.append(len(found))
    assert counts[1] <= counts[0]
    assert counts[0] <= 27


def test_reading_webhooks_together_gives_the_same_result_as_one_by_one(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known and unknown parcels, duplicates, reused ids, upper and lower case, new words, and nonsense."""
    for number in range(4):
        factories.parcel(factories.order(quill, alice, status="booked", carrier_reference=f"SMANY{number:03d}"))
    chosen = random.Random(7)  # noqa: S311  (any order)
    bodies = [body(number, scan_time=f"2026-11-18T{number % 24:02d}:00:00Z") for number in range(60)]
    bodies += [chosen.choice(bodies) for _ in range(20)]
    bodies += [body(number, description="Something else") for number in range(5)]
    bodies += [b"junk", body(3, event_id="no"), body(70).replace(b"SMANY", b"smany"), body(70)]
    chosen.shuffle(bodies)
    stored(*bodies)
    found = []
    for size in (1, 2, 7, 1000):
        monkeypatch.setattr(reading, "BATCH", size)
        with transaction.atomic():
            while reading.read_due():
                pass
            found.append(recorded())
            transaction.set_rollback(True)
    assert {state for state, *_ in found[0][0]} == {"stored", "duplicate", "differs", "quarantined"}
    assert found[1:] == found[:1] * 3


def recorded() -> Any:
    """Return everything the webhooks became, without keys."""
    deliveries = rows("state", "reason", "event__event_id", "due_at", "failures")
    events = sorted(map(str, rows("event_id", "parcel__reference", "event_type", "description", of=TrackingEvent)))
    parcels = sorted(map(str, rows("reference", "progress", "progress_at", "last_scan_at", "due_at", of=Parcel)))
    orders = sorted(map(str, rows("carrier_reference", "progress", "progress_at", of=Order)))
    return deliveries, events, parcels, orders, rows("word", "scans", "spellings", of=EventWord)


def test_a_pushed_scan_and_its_polled_copy_in_one_batch_are_one(quill: Sender, alice: User) -> None:
    parcel = factories.parcel(factories.order(quill, alice, status="booked", carrier_reference="SMANY001"))
    without_id = json.loads(body(1))
    del without_id["event_id"]
    now = timezone.now()
    factories.delivery(body=json.dumps(without_id).encode(), polled_for="SMANY001", due_at=now)
    stored(body(1))
    assert reading.read_due() == 2
    made = parcel.events.get()
    assert (made.source, made.polled_at is not None, made.pushed_at is not None) == ("poll", True, True)
    assert str(made.event_id).endswith("001")
    assert rows("state") == ["stored", "duplicate"]


def test_an_order_matched_during_a_batch_still_gets_its_scans(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="SMANY001")
    parcel = factories.parcel(reference="SMANY001")
    orders_of = scans._orders_of

    def given_meanwhile(parcels: Any) -> Any:
        found = orders_of(parcels)
        Parcel.objects.update(order=order)
        return found

    stored(body(1, scan_time=just_now()))
    with django_capture_on_commit_callbacks() as afterwards:
        with monkeypatch.context() as patched:
            patched.setattr(scans, "_orders_of", given_meanwhile)
            reading.read_due()
        parcel.refresh_from_db()
        assert parcel.due_at  # should this process die now
    for each in afterwards:
        each()
    order.refresh_from_db()
    parcel.refresh_from_db()
    assert (order.progress, parcel.due_at) == ("in_transit", None)


def test_a_word_is_counted_once_per_batch() -> None:
    stored(*(body(number, event_type="Teleported") for number in range(20)))
    with CaptureQueriesContext(connection) as found:
        reading.read_due()
    assert EventWord.objects.get().scans == 20
    assert sum('UPDATE "tracking_eventword"' in query["sql"] for query in found) == 1


def test_a_word_that_is_too_long_in_lower_case_is_quarantined() -> None:
    """A column holds its lower case. On PostgreSQL the delivery failed again and again, and so did the parcel's poll."""
    stored(*(body(number, event_type="ß" * letters) for number, letters in enumerate((50, 51))))
    reading.read_due()
    assert rows("state") == ["stored", "quarantined"]
    assert [len(word) for word in rows("word", of=EventWord)] == [100]


def test_each_row_is_written_as_the_orm_would_write_it() -> None:
    parcels = [factories.parcel(reference=f"SEACH{number:03d}") for number in range(3)]
    for number, parcel in enumerate(parcels):
        parcel.progress_at = timezone.now() - dt.timedelta(days=number) if number else None
        parcel.progress, parcel.tries = "delivered", number
    columns = ("progress", "progress_at", "tries")
    statements.update_each(Parcel, parcels, columns)
    ours = rows(*columns, of=Parcel)
    Parcel.objects.bulk_update(parcels, columns)
    assert rows(*columns, of=Parcel) == ours
    statements.update_each(Parcel, [], columns)


# -- Those that fail -------------------------------------------------------------------------------


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch with one scan in the middle that triggers an error of ours."""
    store = scans.store_scans

    def breaks(arrivals: Any, held: Any) -> Any:
        if any(arrival.scan.event_id.endswith("5") for arrival in arrivals):
            raise ZeroDivisionError
        return store(arrivals, held)

    monkeypatch.setattr(scans, "store_scans", breaks)


def works_alone(*keys: int) -> None:
    """Do what a worker does when the sweep sends it these deliveries."""
    for key in keys:
        with suppress(ZeroDivisionError):
            reading.read_due_delivery(key)


def test_a_webhook_that_breaks_a_batch_is_retried_alone_and_becomes_a_dead_letter(poisoned: None) -> None:
    keys = stored(*(body(number) for number in range(9)))
    reading.read_due()
    assert set(rows("state")) == {"new"}
    assert reading.read_due() == 0  # not together once more
    broken = keys[5]
    for _ in range(6):
        works_alone(*keys)
        lies_overdue(minutes=5)
    assert rows("state") == ["stored"] * 5 + ["new"] + ["stored"] * 3
    assert (DeadLetter.objects.get().job, DeadLetter.objects.get().row) == ("read", broken)


def test_webhooks_of_a_dead_process_are_read_once_its_lease_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """The process is killed."""

    def dies(*_: Any) -> None:
        raise Killed

    stored(body(1), body(2))
    with monkeypatch.context() as patched:
        patched.setattr(reading, "read_deliveries", dies)
        with pytest.raises(Killed):
            reading.read_due()
    assert reading.read_due() == 0
    works_alone(*rows("pk"))
    assert rows("state", "failures") == [("new", 1)] * 2
    lies_overdue(seconds=1)
    works_alone(*rows("pk"))
    assert rows("state", "failures", "due_at") == [("stored", 0, None)] * 2


def test_the_sweep_reads_only_webhooks_no_worker_has_taken() -> None:
    stored(body(1))
    reading.read_overdue(timezone.now())
    assert rows("state") == ["new"]
    lies_overdue(seconds=3)
    reading.read_overdue(timezone.now())
    assert rows("state") == ["stored"]


def test_a_worker_keeps_checking_until_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a database that is down nor an error of ours ends it."""
    reader, looks = reading.WebhookReader(), iter([OperationalError, ZeroDivisionError, 3, reading.BATCH, 0])

    def read_due() -> int:
        look = next(looks, None)
        if look is None:
            reader.stopped.set()
            return 0
        if not isinstance(look, int):
            raise look
        return look

    waits: list[float] = []
    monkeypatch.setattr(reading, "read_due", read_due)
    monkeypatch.setattr(reading, "close_old_connections", lambda: None)
    monkeypatch.setattr(reader.stopped, "wait", waits.append)
    monkeypatch.setattr(reading.connection, "close", lambda: None)
    reader.run()
    assert waits == [1.0, 0.25, 1.0, 0.25, 0.25, 0.25, 0.25]


def test_the_reader_runs_as_long_as_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(reading._reader, "start", lambda: seen.append("started"))
    monkeypatch.setattr(reading._reader, "stop", lambda: seen.append("stopped"))
    worker_ready.send(sender=None)
    worker_shutting_down.send(sender=None)
    assert seen == ["started", "stopped"]


@pytest.mark.parametrize(
    ("named", "state"), [("SMANY002", "quarantined"), ("SMANY0011", "quarantined"), ("SMANY001", "stored")]
)
def test_a_polled_scan_that_names_another_reference_is_set_aside(
    quill: Sender, alice: User, named: str, state: str
) -> None:
    """The carrier mixed up two replies. The scan changes neither parcel, and it isn't lost."""
    parcel = factories.parcel(factories.order(quill, alice, status="booked", carrier_reference="SMANY001"))
    factories.parcel(reference="SMANY002")
    scan = body(2, carrier_reference=named, event_type="Delivered", scan_time=just_now())
    factories.delivery(body=scan, polled_for="SMANY001", due_at=timezone.now())
    assert reading.read_due() == 1
    is_set_aside = state == "quarantined"
    assert rows("state", "reason") == [(state, f"the scan names {named}" if is_set_aside else "")]
    assert TrackingEvent.objects.count() == (0 if is_set_aside else 1)
    parcel.refresh_from_db()
    assert parcel.progress == ("" if is_set_aside else "delivered")


def test_a_polled_scan_without_a_reference_belongs_to_the_polled_parcel() -> None:
    parcel = factories.parcel(reference="SMANY001")
    scan = json.loads(body(3))
    del scan["carrier_reference"]
    factories.delivery(body=json.dumps(scan).encode(), polled_for="SMANY001", due_at=timezone.now())
    assert reading.read_due() == 1
    assert parcel.events.count() == 1


def test_erasing_a_parcel_leaves_the_unread_webhook_of_one_whose_reference_begins_alike(
    quill: Sender, alice: User
) -> None:
    erased = factories.parcel(factories.order(quill, alice, status="booked", carrier_reference="SMANY00"))
    stored(body(1, carrier_reference="SMANY001"), body(2, carrier_reference="smany00"), b'{"parcel": "SMANY00"')
    erasing.erase_scans([erased.order_id])
    assert [bytes(one).startswith(MARK) for one in rows("body")] == [False, True, True]
    reading.read_due()
    assert rows("state") == ["stored", "quarantined", "quarantined"]
