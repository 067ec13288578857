"""Write the rows that each order leaves behind: attempts, changes, calls, labels, parcels, scans, webhooks, charges.

Retention periods apply here too: only the last days have quotes, calls,
bodies and label files.
"""

import datetime as dt
import hashlib
from typing import Any

from django.conf import settings
from django.utils import timezone

from orders.models import BookingAttempt, CarrierCall, Order, OrderChange
from shipping_portal.billing.charges import week_sums
from shipping_portal.billing.models import Charge, week_of
from shipping_portal.billing.reports.balancing import keep_tally
from tests import factories
from tools.bench.rows import insert
from tracking.models import Parcel

SENT = b'{"receiver": {"name": "Noor Tamsin"}, "measures": {}}'.ljust(900)
ANSWERED = b'{"carrier_reference": "SB0000000", "state": "Ordered"}'.ljust(600)
SCANS = ("Pickup", "In Transit", "In Transit", "In Transit", "Out for Delivery", "Delivered")
SCANNED = {"delivered": 6, "delivery_attempted": 5, "in_transit": 3}  # of those
CALLS = ("quote", "book", "label", "label", *["track"] * 6)
APART = 10_000_000  # the lines of two accounts in one report


def live(one: Order, parcel: Parcel) -> None:
    """Write the rows of `one` first, then copy them for each later order."""
    orders = f"SELECT * FROM orders_order WHERE id > {one.pk}"
    _attempt(one, orders)
    _change(one, orders)
    _call(one, orders)
    _label(one, orders)
    _scan(parcel, orders)
    _charge(one, orders)


def _attempt(one: Order, orders: str) -> None:
    at = one.created_at
    made = BookingAttempt.objects.create(
        order=one, generation=1, body=SENT, body_sha256=hashlib.sha256(SENT).hexdigest(), state="accepted",
        lease_until=at, sent_at=at, done_at=at, http_status=201, response=ANSWERED,
    )  # fmt: skip
    times = dict.fromkeys(("lease_until", "sent_at", "done_at"), "new.created_at")
    mine = {"order_id": "new.id", "key": "gen_random_uuid()", "seen_reference": "new.carrier_reference"}
    insert(made, orders, times | mine, order_by="new.id")


def _change(one: Order, orders: str) -> None:
    made = OrderChange.objects.create(
        order=one, old="draft", new="booking", at=one.created_at, by=one.made_by, reason="booked by the sender"
    )
    moves = (
        "VALUES ('draft', 'booking', FALSE), ('booking', 'booked', FALSE), ('booked', 'cancelling', TRUE), "
        "('cancelling', 'cancelled', TRUE)"
    )
    source = (
        f"SELECT o.id, o.created_at, move.* FROM ({orders}) o, ({moves}) move (was, became, is_last) "
        "WHERE NOT is_last OR o.status = 'cancelled'"
    )
    insert(made, source, {"order_id": "new.id", "at": "new.created_at", "old": "new.was", "new": "new.became"},
           order_by="new.id")  # fmt: skip


def _call(one: Order, orders: str) -> None:
    made = CarrierCall.objects.create(
        at=one.created_at, account=one.account, operation="quote", method="POST", path="/v1/quotes", status=200,
        milliseconds=80, outcome="ok", order=one,
    )  # fmt: skip
    names = ", ".join(f"('{name}', {place})" for place, name in enumerate(CALLS))
    source = (
        f"SELECT o.id, call.name, o.created_at + call.place * interval '7 hours' AS at FROM ({orders}) o, "
        f"(VALUES {names}) call (name, place) WHERE o.created_at > {_ago(settings.CALL_LOG_DAYS)}"
    )
    insert(made, source, {"order_id": "new.id", "at": "new.at", "operation": "new.name"}, order_by="new.at")


def _label(one: Order, orders: str) -> None:
    made = factories.stored_label(one)
    is_old = f"o.created_at < {_ago(settings.LABEL_RETENTION_DAYS)}"
    source = (
        f"SELECT o.id, o.created_at, o.printed_at, size, CASE WHEN {is_old} THEN now() END AS purged_at "
        f"FROM ({orders}) o, unnest(ARRAY['full', 'cropped']) size"
    )
    mine = {
        "order_id": "new.id", "size": "new.size", "stored_at": "new.created_at", "purged_at": "new.purged_at",
        "served_at": "CASE WHEN new.size = 'full' THEN new.printed_at END", "is_spare": "new.size <> 'full'",
    }  # fmt: skip
    insert(made, source, mine, order_by="new.id")
    kept = f"SELECT id FROM orders_label WHERE id > {made.pk} AND purged_at IS NULL"
    insert(made.file, kept, {"label_id": "new.id"}, order_by="new.id")


def _scan(parcel: Parcel, orders: str) -> None:
    is_moving = "new.progress <> ''"
    mine = {
        "order_id": "new.id", "reference": "new.carrier_reference", "created_at": "new.created_at",
        "progress": "new.progress", "progress_at": f"CASE WHEN {is_moving} THEN new.progress_at END",
        "last_scan_at": f"CASE WHEN {is_moving} THEN new.progress_at END",
    }  # fmt: skip
    insert(parcel, orders, mine, order_by="new.id")
    made = parcel.events.latest("pk")
    words = ", ".join(f"('{word}', {place})" for place, word in enumerate(SCANS, 1))
    counts = ", ".join(f"('{progress}', {count})" for progress, count in SCANNED.items())
    source = (
        "SELECT p.id, p.reference, scan.word, "
        "p.created_at + (p.progress_at - p.created_at) * scan.place / moved.scans AS at "
        f"FROM tracking_parcel p JOIN (VALUES {counts}) moved (progress, scans) USING (progress) "
        f"JOIN (VALUES {words}) scan (word, place) ON scan.place <= moved.scans WHERE p.id > {parcel.pk}"
    )
    body = (
        """convert_to('{"carrier_reference": "' || new.reference || '", "event_type": "' || new.word || """
        """'", "description": "Parcel scanned at the depot", "location_data": {"suburb": "Fitzroy"}}', 'UTF8')"""
    )
    kept = f"CASE WHEN new.at > {_ago(settings.WEBHOOK_DAYS)} THEN {body} ELSE '' END"
    mine = {
        "parcel_id": "new.id", "event_id": "gen_random_uuid()", "fingerprint": "md5(random()::text)",
        "event_type": "new.word", "description": "new.word", "raw": kept,
        **dict.fromkeys(("scan_time", "received_at", "pushed_at"), "new.at"),
    }  # fmt: skip
    insert(made, source, mine, order_by="new.at")
    _delivery(made)


def _delivery(scan: Any) -> None:
    made = factories.delivery(state="stored", reference=scan.parcel.reference, event=scan)
    source = (
        "SELECT scan.*, parcel.reference FROM tracking_trackingevent scan "
        f"JOIN tracking_parcel parcel ON parcel.id = scan.parcel_id WHERE scan.id > {scan.pk}"
    )
    mine = {
        "received_at": "new.received_at", "body": "new.raw", "sha256": "encode(sha256(new.raw), 'hex')",
        "reference": "new.reference", "carrier_event_id": "new.event_id", "scan_time": "new.scan_time",
        "event_id": "new.id",
    }  # fmt: skip
    insert(made, source, mine, order_by="new.id")


def _charge(one: Order, orders: str) -> None:
    """The cost of each in its week's report, and of one in twenty what the carrier measured; this week is open."""
    first = week_of(Order.objects.earliest("created_at").created_at.date())
    open_week = week_of(timezone.now().date())
    newest = open_week - dt.timedelta(days=7)
    made = factories.charge(one, week=newest)
    reports = [made.report]
    while (week := reports[-1].week - dt.timedelta(days=7)) >= first:
        reports.append(factories.billing_report(week=week))
    source = (
        "SELECT o.*, bill.id AS report_id, bill.week, bill.ended_at, substr(o.carrier_reference, 3)::int AS number, "
        f"ascii(substr(o.carrier_reference, 2)) AS letter, part FROM ({orders}) o JOIN billing_billingreport bill "
        "ON bill.week = date_trunc('week', o.created_at AT TIME ZONE 'UTC')::date, generate_series(0, 1) part "
        "WHERE part = 0 OR substr(o.carrier_reference, 3)::int % 20 = 0"
    )
    amount = "CASE WHEN new.part = 0 THEN new.price ELSE 4 END"
    mine = {
        "order_id": "new.id", "report_id": "new.report_id", "week": "new.week", "day": "new.week",
        "posted_at": "new.ended_at", "reference": "new.carrier_reference", "sender_id": "new.sender_id",
        "line": f"new.number + 3 + {APART} * new.letter", "part": "new.part", "stated": amount, "amount": amount,
        "key": "md5(random()::text)", "kind": "CASE WHEN new.part = 0 THEN 'order' ELSE 'under-declared' END",
    }  # fmt: skip
    insert(made, source, mine, order_by="new.id")
    week_sums.add_up(week_sums.weeks_of(Charge.objects.posted()))
    for report in reports:
        keep_tally(report)


def _ago(days: int) -> str:
    return f"now() - interval '{days} days'"
