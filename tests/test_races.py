"""Races, on PostgreSQL, where they are real; SQLite's BEGIN IMMEDIATE would hide them."""

import datetime as dt
import hashlib
import json
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction
from django.utils import timezone

from orders.booking import bookings, recording
from orders.booking.limits import LimitReached
from orders.calling import gateway, turns
from orders.calling.turns import APART
from orders.cancelling import cancels
from orders.drafting import returning
from orders.drafting.parcel_details import Box
from orders.models import Order, OrderChange
from orders.models.statuses import Progress
from orders.quoting import asking, consignments
from orders.status import transitions
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export
from shipping_portal.importing import checking, finishing
from shipping_portal.importing.models import Import
from shipping_portal.staff import erasing
from shipping_portal.staff.alerts import alerting
from shipping_portal.staff.models import Alert, AlertMessage
from shipping_portal.staff.resolution import deciding, verifying
from shipping_portal.staff.resolution.verifying import Confirmed
from tests import factories
from tests.racing import at_once
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery
from tracking.receiving import looks
from tracking.scanning import scans

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]


def submitted(quill: Sender, alice: User) -> Order:
    now = timezone.now()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    return bookings.submit(
        quote=quote, code="STANDARD-PICKUP", by=alice, form_token=uuid.uuid4(), pickup_date=None, now=now
    )


def test_ten_tabs_that_return_one_parcel_book_one_return(quill: Sender, alice: User) -> None:
    """Each tab has its own prices and form, and none knows about another return."""
    sent, now = factories.order(quill, alice, status="booked", progress="delivered"), timezone.now()
    quotes = [factories.quote(quill, alice, parcel=returning.return_of(sent, quill)) for _ in range(10)]
    chosen: dict[str, Any] = {"code": "STANDARD-PICKUP", "by": alice, "pickup_date": None, "now": now}
    gateway.current_account()
    presses = [partial(bookings.submit, quote=quote, form_token=quote.uuid, **chosen) for quote in quotes]
    answers = at_once(*presses)
    assert [type(one) for one in answers].count(Order.Duplicate) == 9
    assert sent.sent_back.count() == 1


def test_ten_tabs_with_their_own_prices_of_one_parcel_book_it_once(quill: Sender, alice: User) -> None:
    each, now = [factories.quote(quill, alice) for _ in range(10)], timezone.now()
    chosen: dict[str, Any] = {"code": "STANDARD-PICKUP", "by": alice, "pickup_date": None, "now": now}
    gateway.current_account()
    chosen["asks_first"] = True
    answers = at_once(*[partial(bookings.submit, quote=quote, form_token=quote.uuid, **chosen) for quote in each])
    assert [type(one) for one in answers].count(Order.Duplicate) == 9
    assert Order.objects.count() == Sender.objects.get(pk=quill.pk).booked_today == 1


def test_ten_tabs_with_the_same_three_parcels_book_one_set(carrier: SandboxCarrier, quill: Sender, alice: User) -> None:
    """The same prices in ten tabs, and two workers on each order."""
    details = factories.details(quill)
    parcels = replace(details, more=(Box(details.measures), Box(details.measures)))
    quote, now = asking.ask_for_prices(quill, parcels, by=alice, now=timezone.now()), timezone.now()
    chosen: dict[str, Any] = {"code": "STANDARD-PICKUP", "by": alice, "pickup_date": None, "now": now}
    answers = at_once(*[partial(bookings.submit, quote=quote, form_token=quote.uuid, **chosen)] * 10)
    orders = list(Order.objects.order_by("pk"))
    assert {answer.pk for answer in answers} == {orders[0].pk}
    assert [order.parcel_number for order in orders] == [1, 2, 3]
    at_once(*[partial(bookings.process_booking, order.pk) for order in orders * 2])
    assert len(carrier.ledger("booked")) == 3
    assert [order.attempts.count() for order in orders] == [1, 1, 1]
    assert Sender.objects.get(pk=quill.pk).booked_today == 3


def test_ten_sets_of_three_parcels_exceed_no_limit(quill: Sender, alice: User) -> None:
    """Each tab has its own form. The limit has room for seven parcels, so for two sets."""
    Sender.objects.filter(pk=quill.pk).update(bookings_a_day=7)
    quill.refresh_from_db()
    details = factories.details(quill)
    parcels = replace(details, more=(Box(details.measures), Box(details.measures)))
    each = [factories.quote(quill, alice, parcel=details) for _ in range(3)]
    quotes, now = [consignments.quote_of(parcels, each) for _ in range(10)], timezone.now()
    chosen: dict[str, Any] = {"code": "STANDARD-PICKUP", "by": alice, "pickup_date": None, "now": now}
    gateway.current_account()
    answers = at_once(*[partial(bookings.submit, quote=quote, form_token=quote.uuid, **chosen) for quote in quotes])
    assert [type(answer) for answer in answers].count(LimitReached) == 8
    assert Order.objects.count() == Sender.objects.get(pk=quill.pk).booked_today == 6


def test_fifty_presses_of_one_button_make_one_order(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No constraint fails, since the database's log would quote the receiver (docs/database.md)."""
    begun: list[str] = []
    saved: list[tuple[str, bool]] = []
    insert_row = transitions.insert_row

    def counted(row: Order | OrderChange, **how: str) -> bool:
        begun.append(type(row).__name__)
        is_new = insert_row(row, **how)
        saved.append((type(row).__name__, is_new))
        return is_new

    monkeypatch.setattr(transitions, "insert_row", counted)
    quote, token, now = factories.quote(quill, alice), uuid.uuid4(), timezone.now()
    gateway.current_account()

    def press() -> Order:
        return bookings.submit(
            quote=quote, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None, now=now
        )

    orders = at_once(*[press] * 50)
    assert {order.pk for order in orders} == {Order.objects.get().pk}
    assert [name for name, is_new in saved if is_new] == ["Order", "OrderChange"]
    assert len(saved) == len(begun)


def test_eight_workers_on_one_order_book_once(carrier: SandboxCarrier, quill: Sender, alice: User) -> None:
    order = submitted(quill, alice)
    at_once(*[lambda: bookings.process_booking(order.pk)] * 8)
    order.refresh_from_db()
    assert order.status == "booked"
    assert len(carrier.ledger("booked")) == 1
    assert order.attempts.count() == 1


def test_a_receiver_is_erased_or_booked_to_and_never_both(quill: Sender, alice: User, sam: User) -> None:
    gateway.current_account()
    for _ in range(6):
        order = factories.order(quill, alice, status="draft")
        chosen, now = {"order": {order.pk}}, timezone.now()
        found = at_once(
            lambda chosen=chosen, now=now: erasing.erase_chosen(chosen, by=sam, reason="asked", now=now),
            lambda order=order, now=now: bookings.confirm(order, by=alice, now=now),
        )
        order.refresh_from_db()
        assert (order.status == "booking") is (order.erased_at is None), found


def test_one_scan_delivered_thirty_times_at_once_is_one_event() -> None:
    body = scan("Pickup", "2026-11-18T21:21:05Z")
    found = at_once(*[lambda: factories.deliver(body)] * 30)
    assert not [error for error in found if isinstance(error, Exception)]
    assert TrackingEvent.objects.count() == 1
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {"stored", "duplicate"}


def test_scans_that_arrive_at_once_end_in_the_latest_status() -> None:
    words = ["Pickup", "In Transit", "Out for Delivery", "Delivered"] * 3
    bodies = [scan(word, f"2026-11-18T{hour:02}:00:00Z") for hour, word in enumerate(words)]
    at_once(*[lambda body=body: factories.deliver(body) for body in bodies])
    assert TrackingEvent.objects.count() == 12
    assert Parcel.objects.get().progress == Progress.DELIVERED


def scan(word: str, when: str) -> bytes:
    event = {
        "carrier_reference": "SRACE01",
        "event_id": str(uuid.uuid4()),
        "event_type": word,
        "scan_time": when,
        "description": word,
    }
    return json.dumps(event).encode()


def test_scans_and_the_opening_of_their_parcel_never_deadlock(quill: Sender, alice: User) -> None:
    """Locks are taken Order, Parcel, then the rest; a deadlock would lose one of the two for a while."""
    for number in range(10):
        order = factories.order(
            quill, alice, status="booked", carrier_reference=f"SLOCK{number:02}", due_at=timezone.now()
        )
        bodies = [
            scan(word, f"2026-11-18T{hour:02}:00:00Z").replace(b"SRACE01", f"SLOCK{number:02}".encode())
            for hour, word in enumerate(["Pickup", "In Transit", "Out for Delivery", "Delivered"])
        ]
        found = at_once(
            *[lambda body=body: factories.deliver(body) for body in bodies],
            *[lambda order=order: polling.open_parcel(order.pk)] * 2,
        )
        assert not [error for error in found if isinstance(error, Exception)]
        assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {"stored"}
        order.refresh_from_db()
        assert order.progress == Progress.DELIVERED


def test_a_poll_and_the_opening_of_its_parcel_never_deadlock(quill: Sender, alice: User) -> None:
    """A webhook came before its order was opened: both create the parcel's poll, and lock the parcel first."""
    order = factories.order(quill, alice, status="booked", carrier_reference="SLOOK01", due_at=timezone.now())
    parcel = scans.parcel_for("SLOOK01", account=order.account, at=timezone.now())
    now, is_locked = timezone.now(), threading.Event()

    def open_it() -> None:
        with transaction.atomic():
            Parcel.objects.filter(pk=parcel.pk).update(order=order)
            is_locked.set()
            time.sleep(0.5)  # until the other one waits for the parcel
            Poll.schedule(parcel, now)

    def look() -> None:
        is_locked.wait(10)
        looks.request_poll(parcel.pk, now=now)

    assert at_once(open_it, look) == [None, None]
    assert Poll.objects.get().due_at == now


def test_two_cancellations_at_once_are_one(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    copies = [Order.objects.get(pk=order.pk) for _ in range(6)]
    found = at_once(*[lambda it=it: cancels.ask_to_cancel(it, by=alice, why="-", now=timezone.now()) for it in copies])
    assert sum(error is None for error in found) == 1
    assert all(isinstance(error, Order.WrongStatus) for error in found if error)
    assert order.cancels.count() == 1


def test_a_reply_that_races_its_expired_lease_books_the_order(
    carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    for _ in range(5):
        order = submitted(quill, alice)
        attempt = bookings._write_down(order, timezone.now())
        assert attempt
        answer = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
        at_once(
            lambda attempt=attempt, answer=answer: recording.record_outcome(attempt, answer),
            lambda attempt=attempt: recording.record_unknown(attempt, "lease expired", at=timezone.now()),
        )
        order.refresh_from_db()
        assert (order.status, order.carrier_reference) == ("booked", answer.reference)


def test_only_one_of_two_operators_decides(carrier: SandboxCarrier, quill: Sender, alice: User, sam: User) -> None:
    carrier.trouble("book", "commit-close")
    order = submitted(quill, alice)
    bookings.process_booking(order.pk)
    reference = carrier.ledger("booked")[0]["reference"]
    one, other = Order.objects.get(pk=order.pk), Order.objects.get(pk=order.pk)
    why, now = "seen in the carrier's dashboard", timezone.now()
    found = at_once(
        lambda: deciding.adopt_reference(one, reference, by=sam, reason=why, now=now),
        lambda: deciding.not_booked(other, by=sam, reason=why, now=now),
    )
    assert sorted(type(error).__name__ for error in found) == ["NoneType", "Refused"]
    order.refresh_from_db()
    assert order.status in {"booked", "not_booked"}
    assert (order.carrier_reference is not None) == (order.status == "booked")


def test_an_operator_and_the_carriers_late_reply_never_deadlock(
    carrier: SandboxCarrier, quill: Sender, alice: User, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write the order and its attempt in the same sequence, or they would wait for each other."""
    monkeypatch.setattr(verifying, "confirm_reference", lambda order, reference, *more, **heard: Confirmed(reference))
    why = "seen in the carrier's dashboard"
    for _ in range(10):
        order = submitted(quill, alice)
        attempt = bookings._write_down(order, timezone.now())
        assert attempt
        answer = gateway.carrier_client(gateway.current_account()).book(bytes(attempt.body), key=str(attempt.key))
        recording.record_unknown(attempt, "lease expired", at=timezone.now())
        unclear = Order.objects.get(pk=order.pk)
        found = at_once(
            lambda unclear=unclear, reference=answer.reference: deciding.adopt_reference(
                unclear, reference, by=sam, reason=why, now=timezone.now()
            ),
            lambda attempt=attempt, answer=answer: recording.record_outcome(attempt, answer),
        )
        assert {type(error).__name__ for error in found} <= {"Refused", "NoneType"}, found
        order.refresh_from_db()
        assert (order.status, order.carrier_reference) == ("booked", answer.reference)
        assert [made.state for made in order.attempts.all()] == ["accepted"]


def test_many_presses_of_pack_everything_are_one_export(quill: Sender, alice: User) -> None:
    now = timezone.now()
    exports = at_once(*[lambda: packing.request_export(quill, None, by=alice, now=now)] * 12)
    assert {export.pk for export in exports} == {Export.objects.get().pk}


def test_eight_workers_on_one_export_pack_it_once(quill: Sender, alice: User) -> None:
    factories.stored_label(factories.order(quill, alice, status="booked"))
    export = packing.request_export(quill, None, by=alice, now=timezone.now())
    assert at_once(*[lambda: packing.pack_due_export(export.pk)] * 8) == [None] * 8
    export.refresh_from_db()
    assert export.failures == 0
    content = b"".join(bytes(part.content) for part in export.parts.all())
    assert hashlib.sha256(content).hexdigest() == export.sha256


def test_a_booking_that_fails_while_its_import_ends_is_reported_once(quill: Sender, alice: User) -> None:
    """It is reported in the import's counts or on its own."""
    now = timezone.now()
    for _ in range(10):
        file = factories.import_file(quill, alice, state="booking", begun_at=now, begun_by=alice)
        order = factories.order(quill, alice, status="unconfirmed")
        factories.import_row(quill, alice, file=file, state="booked", order=order, problems={})
        fail = partial(move_to, order, "not_booked", reason="-", at=now)
        assert at_once(partial(finishing.finish_done_imports, now), fail) == [None, None]
    assert Notification.objects.filter(kind="booking").count() == 10


def test_columns_matched_while_book_is_pressed_never_deadlock(quill: Sender, alice: User) -> None:
    """Both lock the account first, because Book locks its rows before their file."""
    row = factories.import_row(quill, alice, state="ready", problems={})
    stale = Import.objects.get(pk=row.file.pk)

    def match_columns() -> bool:
        try:
            return checking.begin(stale, stale.columns, {}, timezone.now())
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():  # as submitting.begin does
            Sender.locked(quill.pk)
            stale.rows.update(state="owed", due_at=timezone.now())
            matched = pool.submit(match_columns)
            time.sleep(0.5)  # it waits, whatever it has locked
            Import.objects.filter(pk=stale.pk).update(state="booking")
        assert matched.result() is False


def test_turns_taken_at_once_are_spaced_by_the_carriers_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "APART", APART)
    account = gateway.current_account()
    take = partial(turns.take_turn, account, "book", shares=False, patience=60)
    taken = sorted(at_once(*[take] * 12))
    gaps = [later - earlier for earlier, later in pairwise(taken)]
    assert min(gaps) > APART / 5 - 0.001


def test_eight_sweepers_at_one_incident_send_one_message_for_each_change(settings: Any) -> None:
    settings.ALERT_EMAILS = ["oncall@ops.example"]
    account, now = gateway.current_account(), timezone.now()
    type(account).objects.update(stopped_at=now - dt.timedelta(hours=1))
    seen = []
    for minutes in (0, 4 * 60, 5 * 60):
        if minutes == 5 * 60:
            type(account).objects.update(stopped_at=None)
        assert at_once(*[partial(alerting.check_conditions, now + dt.timedelta(minutes=minutes))] * 8) == [None] * 8
        seen = [message.content["state"] for message in AlertMessage.objects.order_by("pk")]
        AlertMessage.objects.update(due_at=None)
    assert seen == ["opened", "repeated", "closed"]
    assert Alert.objects.get().closed_at == now + dt.timedelta(hours=5)
