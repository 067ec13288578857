"""After the drain, compare the portal's rows with the carrier's ledger, invariant by invariant."""

import datetime as dt
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from orders.models import BookingAttempt, Label, Order
from orders.models.statuses import HELD, Status
from orders.status.progress import RANK
from shipping_portal.billing.charges import week_sums
from tests.billing import sums
from tests.recording import improper
from tools.campaign.actors import Done
from tools.campaign.browser import Noticed
from tools.campaign.servers import Servers
from tracking.models import TrackingEvent, WebhookDelivery

TRANSIENT = {Status.BOOKING, Status.CANCELLING, Status.UNCONFIRMED, Status.CONFLICT, Status.CANCEL_UNCONFIRMED}
CLOCK_TOLERANCE = dt.timedelta(minutes=15)
ALLOWED_ERRORS = (
    "OperationalError", "InterfaceError", "ConnectionError", "TimeoutError", "WorkerLostError", "ChildProcessError",
    "AdminShutdown", "CrashShutdown", "consumer: Connection to broker lost", "ResponseError",
)  # fmt: skip


@dataclass
class Books:
    """The carrier's ledger, read once."""

    booked: list[dict[str, Any]]
    cancelled: list[dict[str, Any]]
    scans: dict[str, list[dict[str, Any]]]
    acknowledged: Counter[str]
    uncancelled: set[str]  # cancelled, then its label was used: the carrier holds it again (interface §2.5)

    @classmethod
    def read(cls, ledger: Iterable[dict[str, Any]]) -> "Books":
        by_effect: dict[str, list[dict[str, Any]]] = defaultdict(list)
        scans: dict[str, list[dict[str, Any]]] = defaultdict(list)
        uncancelled: set[str] = set()
        for line in ledger:
            by_effect[line["effect"]].append(line)
            if line["effect"] == "scan":
                scans[line["reference"]].append(line["scan"])
                uncancelled |= {line["reference"]} if line["after_cancel"] else set()
        delivered = (line["event_id"] for line in by_effect["delivery"] if 200 <= (line["status"] or 0) < 300)
        return cls(by_effect["booked"], by_effect["cancelled"], scans, Counter(delivered), uncancelled)

    @property
    def dead(self) -> set[str]:
        """References that the carrier no longer holds."""
        return {line["reference"] for line in self.cancelled}

    def live_of(self, key: str) -> list[dict[str, Any]]:
        return [line for line in self.booked if line["order_key"] == key and line["reference"] not in self.dead]


def faults(servers: Servers, done: Done, noticed: Noticed) -> dict[str, list[str]]:
    """Return, for each invariant, what broke it; in a good run every list is empty."""
    ledger = servers.ledger()
    folder = servers.carriers[0].folder / "state"
    if not servers.writes_bills:
        _save_labels(servers, folder / "labels")
    return {
        **of_rows(ledger, folder, is_billed=servers.writes_bills),
        "I12 no secret or signed link in logs, pages, broker or tables": list(_leaks(servers, noticed)),
        "G7 every accepted form is one order": list(_accepted(done)),
        "G14 no visitor saw an error page": list(_error_pages(noticed)),
        "calls keep the carrier's rules, none strays": list(_strays(servers)),
        "no exception went unhandled": list(_unhandled(servers)),
    }


def _save_labels(servers: Servers, folder: Path) -> None:
    """Save every label that can be fetched, under its order's id: only the first sandbox keeps its own files."""
    folder.mkdir(exist_ok=True)
    for carrier in servers.carriers:
        for line in carrier.ledger():
            if line["effect"] == "booked":
                file = folder / f"{line['order_id']}-4x6.pdf"
                file.write_bytes(carrier.get(carrier.kind.label.format(line["order_id"])))


def of_rows(ledger: list[dict[str, Any]], carrier: Path, *, is_billed: bool = True) -> dict[str, list[str]]:
    """Return the same, as far as rows, ledger and the carrier's folder show it: tools/simulation has nothing else."""
    books = Books.read(ledger)
    orders = list(Order.objects.prefetch_related("attempts", "changes", "cancels"))
    return {
        "I1 never two live carrier orders for one": list(_doubles(books, orders)),
        "I1 the database refuses a second live attempt": list(_second_live_attempt()),
        "I2 no carrier order without an owner": list(_unattached(books, orders)),
        "I3 booked means the carrier's reference and bytes": list(_differing(books, orders)),
        "I4 nothing left half done": list(_half_done(orders)),
        "I5 not booked means the carrier has nothing": list(_said_no_but_booked(books, orders)),
        "I6 cancelled once, and both sides agree": list(_cancels(books, orders)),
        "I7 every acknowledged webhook is stored, once": list(_webhooks(books)),
        "I8 every scan is there and the latest one shows": list(_progress(books, orders)),
        "I9 labels equal the carrier's files": list(_labels(carrier)),
        "I10 every move of an order is written down": list(_histories(orders)),
        "I11 every cent charged is the carrier's": list(_cents(ledger) if is_billed else _prices(books, orders)),
    }


def _keys_of(order: Order) -> list[str]:
    """Return our names for this order at the carrier, one for each generation."""
    return [str(order.uuid), *(f"{order.uuid}-{number}" for number in range(2, order.generation + 1))]


def _doubles(books: Books, orders: list[Order]) -> Iterator[str]:
    live = Counter(line["order_key"][:36] for line in books.booked if line["reference"] not in books.dead)
    ever = Counter(line["order_key"] for line in books.booked)
    yield from (f"{key} has {n} live orders" for key, n in live.items() if n > 1)
    yield from (f"{key} was booked {n} times" for key, n in ever.items() if n > 1)


def _second_live_attempt() -> Iterator[str]:
    first = BookingAttempt.objects.filter(state=BookingAttempt.State.ACCEPTED).first()
    if first is None:
        return
    try:
        with transaction.atomic():
            duplicate = BookingAttempt(
                order_id=first.order_id, generation=first.generation + 1, body=b"", state=first.state,
                lease_until=first.lease_until, sent_at=first.sent_at,
            )  # fmt: skip
            duplicate.save()
            transaction.set_rollback(True)
    except IntegrityError:
        return
    yield f"order {first.order_id} could get a second live attempt"


def _unattached(books: Books, orders: list[Order]) -> Iterator[str]:
    held = {order.carrier_reference for order in orders if order.status in HELD}
    for line in books.booked:
        if line["reference"] not in held and line["reference"] not in books.dead:
            yield f"{line['reference']} of {line['order_key']} belongs to nobody"


def _differing(books: Books, orders: list[Order]) -> Iterator[str]:
    lines = {line["reference"]: line for line in books.booked}
    for order in orders:
        if order.status not in HELD:
            continue
        line = lines.get(order.carrier_reference or "")
        sent = [a.body_sha256 for a in order.attempts.all() if a.state == BookingAttempt.State.ACCEPTED]
        if line is None or line["order_key"] not in _keys_of(order) or [line["body_sha256"]] != sent:
            yield f"{order.uuid} holds {order.carrier_reference}, the ledger {line and line['order_key']}"


def _half_done(orders: list[Order]) -> Iterator[str]:
    yield from (f"{order.uuid} is {order.status}, due {order.due_at}" for order in orders if order.status in TRANSIENT)
    waiting = Label.objects.filter(state__in=["pending", "failed"], order__status=Status.BOOKED)
    yield from (f"label {label.pk}: {label.state} {label.problem}" for label in waiting)


def _said_no_but_booked(books: Books, orders: list[Order]) -> Iterator[str]:
    live = {line["order_key"] for line in books.booked if line["reference"] not in books.dead}
    for order in orders:
        if order.status in {Status.NOT_BOOKED, Status.REJECTED, Status.DRAFT} and live & set(_keys_of(order)):
            yield f"{order.uuid} is {order.status} and the carrier has it"


def _cancels(books: Books, orders: list[Order]) -> Iterator[str]:
    often = Counter(line["reference"] for line in books.cancelled)
    yield from (f"{reference} was cancelled {n} times" for reference, n in often.items() if n > 1)
    ours = {line["reference"] for line in books.cancelled if line["by"] != "carrier"}
    portal = {order.carrier_reference for order in orders if order.status == Status.CANCELLED}
    by_reference = {order.carrier_reference: order for order in orders}
    for reference in (ours ^ portal) - books.uncancelled - (_taken_back(orders) - set(by_reference)):
        yield f"{reference} is cancelled on one side only; here {_story(by_reference.get(reference))}"
    for order in orders:
        if sum(cancel.state == "done" for cancel in order.cancels.all()) != (order.status == Status.CANCELLED):
            yield f"{order.uuid} is {order.status} with cancels {[c.state for c in order.cancels.all()]}"


def _taken_back(orders: list[Order]) -> set[str]:
    """Return the references that an operator took back from orders that had asked to cancel them.

    The network may carry out such a request afterwards. The order had to be decided again by then: as not booked, which
    is true. The carrier holds nothing, and has given the money back. No order can say that the reference was cancelled.
    """
    reasons = (change.reason for order in orders if order.cancels.all() for change in order.changes.all())
    found = (re.match(r"adoption (?:undone|contested) (\w+)", reason) for reason in reasons)
    return {match[1] for match in found if match}


def _story(order: Order | None) -> str:
    if order is None:
        return "nobody has it"
    moves = [f"{change.new} ({change.reason})" for change in order.changes.all()]
    tries = [f"{cancel.state}: {cancel.http_status} {cancel.answer}" for cancel in order.cancels.all()]
    return f"{order.uuid} {order.customer_reference} is {order.status}, after {moves[-3:]}, {tries}"


def _webhooks(books: Books) -> Iterator[str]:
    bodies = [bytes(body) for body in WebhookDelivery.objects.values_list("body", flat=True)]
    stored = Counter(map(_event_of, bodies))
    for event_id, times in books.acknowledged.items():
        if stored[event_id] < times:
            yield f"event {event_id} was acknowledged {times} times and stored {stored[event_id]} times"
    unread = WebhookDelivery.objects.filter(state=WebhookDelivery.State.NEW).count()
    if unread:
        yield f"{unread} deliveries were never read"


def _event_of(body: bytes) -> str:
    try:
        event = json.loads(body)
    except ValueError:
        return ""
    return str(event.get("event_id") or event.get("id")) if isinstance(event, dict) else ""


def _progress(books: Books, orders: list[Order]) -> Iterator[str]:
    received: dict[str, dict[tuple[str, str], dt.datetime]] = defaultdict(dict)
    columns = ("parcel__reference", "event_type", "scan_time", "received_at")
    for reference, event_type, scan_time, at in TrackingEvent.objects.values_list(*columns).iterator():
        received[reference][event_type, _instant(scan_time)] = at
    for order in orders:
        if order.status not in HELD:
            continue
        known = received[order.carrier_reference or ""]
        scans = books.scans.get(order.carrier_reference or "", [])
        missing = [scan for scan in scans if (scan["event_type"], scan["scan_time"]) not in known]
        yield from (f"{order.carrier_reference} lacks {one['event_type']} of {one['scan_time']}" for one in missing)
        telling = [scan for scan in scans if scan["progress"] and scan not in missing]
        latest = _latest_progress(telling, known)
        if order.progress != latest:
            yield f"{order.carrier_reference} shows {order.progress!r}, the carrier says {latest!r}"


def _latest_progress(scans: list[dict[str, Any]], known: dict[tuple[str, str], dt.datetime]) -> str:
    """Return where a parcel is by its scans and their receipts.

    Scans from a clock that is ahead count from their receipt, keep their order, and never move it back (decision 0035).
    """
    placed, ahead_until = [], None
    for scan in sorted(scans, key=lambda scan: scan["scan_time"], reverse=True):
        dated, received_at = dt.datetime.fromisoformat(scan["scan_time"]), known[scan["event_type"], scan["scan_time"]]
        if is_ahead := dated - received_at > CLOCK_TOLERANCE:
            ahead_until = min(received_at, ahead_until or received_at)
        at = ahead_until if is_ahead and ahead_until else dated
        placed.append((at, dated, RANK[scan["progress"]], scan["progress"], is_ahead))
    latest, was_ahead = "", False
    for _, _, rank, progress, is_ahead in sorted(placed):
        if not is_ahead or was_ahead or rank >= RANK[latest]:
            latest, was_ahead = progress, is_ahead
    return latest


def _instant(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _labels(carrier: Path) -> Iterator[str]:
    folder = carrier / "labels"
    for label in Label.objects.filter(state=Label.State.STORED).select_related("order", "file").iterator():
        content = bytes(label.file.content)
        files = folder.glob(f"{label.order.carrier_order_id}-*")
        if hashlib.sha256(content).hexdigest() != label.sha256 or label.sha256 not in map(_sha256, files):
            yield f"{label} is not the carrier's file"


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _histories(orders: list[Order]) -> Iterator[str]:
    for order in orders:
        changes = sorted(order.changes.all(), key=lambda change: change.pk)
        steps = [change.old for change in changes[1:]] + [order.status]
        if [change.new for change in changes] != steps:
            yield f"{order.uuid} is {order.status}; its history says {[c.new for c in changes]}"


def _accepted(done: Done) -> Iterator[str]:
    yield from done.faults
    orders = list(Order.objects.all())
    there = {str(order.uuid): order for order in orders}
    yield from (f"{uuid} was accepted and is gone" for uuid in done.orders if uuid not in there)
    # A return has the name of the parcel that it sends back, and parcels of one order share theirs.
    names = Counter((order.customer_reference, order.returns_id, order.parcel_number) for order in orders)
    yield from (f"{name} became {n} orders" for name, n in names.items() if n > 1)
    together = Counter(
        (order.consignment, order.parcel_count) for order in orders if order.consignment and not order.replaces_id
    )
    yield from (f"of {wanted} parcels {n} are there" for (_, wanted), n in together.items() if n != wanted)


def _strays(servers: Servers) -> Iterator[str]:
    requests = servers.ask_carrier("requests")
    yield from (f"{r['method']} {r['path']} was followed" for r in requests if "elsewhere" in r["path"])
    if not servers.writes_bills:
        yield from (f"{r['method']} {r['path']} is no operation of its" for r in requests if not r["operation"])
        return
    yield from improper([request for request in requests if "elsewhere" not in request["path"]])


def _prices(books: Books, orders: list[Order]) -> Iterator[str]:
    """Compare prices without bills: what the carrier took must be what the portal says it charges."""
    paid = {line["reference"]: line["amount"] for line in books.booked}
    for order in orders:
        amount = Decimal(paid.get(order.carrier_reference or "", 0))
        if order.status in HELD and order.charged_price != amount:
            yield f"{order.uuid} costs {order.charged_price}, the carrier took {amount}"


def _cents(ledger: list[dict[str, Any]]) -> Iterator[str]:
    if not any(line["effect"] == "invoiced" and line["lines"] for line in ledger):
        yield "the carrier billed nothing, so this proves nothing"
    for difference in sums.differences(sums.of_ledger(ledger), sums.of_portal()):
        yield difference
        yield from map(_billed, Order.objects.filter(uuid__in=re.findall(r"[0-9a-f-]{36}", difference)))
    yield from (
        f"the sum of {week} of sender {sender} is not its lines'" for sender, week in week_sums.wrong_weeks(Q())
    )


def _billed(order: Order) -> str:
    lines = [
        f"{line.report and line.report.name}:{line.line} {line.kind} {line.amount}"
        + (" again" if line.is_repeat else "")
        for line in order.charges.select_related("report").order_by("pk")
    ]
    status = f"cancelled {order.cancelled_at}, {order.progress or 'nowhere'} {order.progress_at}"
    return f"  {_story(order)}, {status}, used {order.used_after_cancel_at}, billed {lines}"


def _error_pages(noticed: Noticed) -> Iterator[str]:
    yield from (f"{n} × {what}" for what, n in noticed.faults.items() if "secret" not in what)


def _leaks(servers: Servers, noticed: Noticed) -> Iterator[str]:
    yield from (f"{n} × {what}" for what, n in noticed.faults.items() if "secret" in what)
    needles = [secret.encode() for secret in servers.secrets] + [b"token=ey", b"eyJhbGci"]
    for name, text in _texts(servers):
        for needle in needles:
            if needle in text:
                yield f"{needle[:12].decode()}… in {name}"


def _texts(servers: Servers) -> Iterator[tuple[str, bytes]]:
    for log in Path(servers.children.logs).glob("*.log"):
        yield log.name, log.read_bytes()
    for mail in (servers.folder / "mail").glob("*"):
        yield mail.name, mail.read_bytes()
    yield "the broker", servers.broker_text().encode()
    for model in apps.get_models():
        table = connection.ops.quote_name(model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT convert_to(string_agg(t::text, E'\\n'), 'UTF8') FROM {table} t")  # noqa: S608
            [found] = cursor.fetchone()
        yield f"table {model._meta.db_table}", bytes(found or b"")


def _unhandled(servers: Servers) -> Iterator[str]:
    """Return tracebacks in the logs, except for a database or broker that was down, and workers that were killed."""
    seen: Counter[str] = Counter()
    for name in ("web", "worker-a", "worker-b", "sweeper"):
        for line in (servers.children.logs / f"{name}.log").read_text(errors="replace").splitlines():
            excused = any(word in line for word in ALLOWED_ERRORS) and "deadlock" not in line
            if '"exception"' in line and not excused:
                seen[f"{name}: {json.loads(line).get('exception', line).splitlines()[-1][:200]}"] += 1
    yield from (f"{n} × {what}" for what, n in seen.items())
