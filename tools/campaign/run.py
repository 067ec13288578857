"""One campaign from the first login to the last invariant. Needs Django set up on the campaign's own database."""

import datetime as dt
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.db import close_old_connections, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from orders.booking import resolving
from orders.cancelling import cancel_outcomes
from orders.models import BookingAttempt, Label, Order
from orders.models.statuses import Status
from tests.recording import cut, describe
from tools.campaign import bill, carriers, checker, naive, people
from tools.campaign.actors import PARCEL, SEVERAL, Done, Operator, Sender
from tools.campaign.browser import Browser, Noticed
from tools.campaign.nemesis import Nemesis
from tools.campaign.plan import Plan
from tools.campaign.report import Report, phases
from tools.campaign.servers import LEASE_SECONDS, TIME_SCALE, Servers
from tools.campaign.sleeper import wake_late
from tracking.models import Parcel, Poll, WebhookDelivery

BACKOFFS = (60, 300, 900)  # seconds, before scaling: longer than the waits of a booking whose first five checks failed
DRAIN_BOUND = LEASE_SECONDS + sum(BACKOFFS) * TIME_SCALE
JOURNEY_SECONDS = 13.0  # until the carrier has sent the last scan of the last parcel
UNDER_WAY = Q(status__in=[Status.BOOKING, Status.CANCELLING]) | Q(
    status__in=[Status.UNCONFIRMED, Status.CANCEL_UNCONFIRMED], due_at__isnull=False
)
LONGEST_WATCH = 180.0
MEASURED_FROM = 500  # from this many orders on, the drain isn't sped up
SENDERS = 6
RESOLVED_WITHIN = 300.0  # seconds


def run(servers: Servers, plan: Plan, *, replays: bool) -> Report:
    report = Report(plan, replays)
    is_of_interface = servers.writes_bills
    cast = people.make_people("AU" if is_of_interface else "US")
    noticed, done = Noticed(servers.secrets), Done(plan.orders, plan.seed, SEVERAL)
    began_at = time.monotonic()
    nemesis = _work_under_fire(servers, plan, cast[:-1], noticed, done)
    report.note("bookings accepted", len(done.orders))
    report.note("parcels sent back, each in two windows", len(done.returns()))
    report.note("seconds under fire", f"{time.monotonic() - began_at:.0f}")
    _note_faults(report, servers, nemesis)
    servers.tell_carrier("clear")
    servers.everything_runs()
    report.note("drained within, in seconds", f"{_drain(plan):.1f} (bound {DRAIN_BOUND:.0f})")
    report.note("parcels of orders of three", Order.objects.exclude(consignment=None).count())
    late = Sender(cast[0], servers.url, noticed, done, _parcel(servers))
    report.void += wake_late(servers, late, f"C-{plan.orders + 1}")
    if is_of_interface or not any(carrier.kind.looks_only for carrier in servers.carriers):
        _until(lambda: not _under_way().exists(), seconds=LONGEST_WATCH)  # the order of the late scene too
    if not is_of_interface:
        _purchases(report, servers)
        _resolve_cancellations(report, servers)
        _end_refunds(report, servers)
    elif not replays:
        _nothing_was_resent(report, servers)
    _resolve_cases(report, servers, noticed)
    _watch_the_rest(report, servers)
    _strangers(report, servers, cast, noticed)
    if is_of_interface:
        bill.read_bill(report, servers)
    report.faults |= checker.faults(servers, done, noticed)
    booked_keys = {line["order_key"] for line in servers.ledger() if line["effect"] == "booked"}
    for phase, count in sorted(phases(servers.kills, booked_keys).items()):
        report.note(phase, count)
    if is_of_interface:
        _note_cut_requests(report, servers)
    _beside_the_naive(report, servers, plan)
    connection.close()
    return report


def _parcel(servers: Servers) -> dict[str, str]:
    return PARCEL if servers.writes_bills else carriers.US_PARCEL


def _work_under_fire(servers: Servers, plan: Plan, cast: list[people.Person], noticed: Noticed, done: Done) -> Nemesis:
    parcel = _parcel(servers)
    senders = [Sender(cast[n % len(cast)], servers.url, noticed, done, parcel) for n in range(SENDERS)]
    nemesis = Nemesis(servers, plan, done)
    for thread in (*senders, nemesis):
        thread.start()
    for thread in (*senders, nemesis):
        thread.join()
    return nemesis


def _note_faults(report: Report, servers: Servers, nemesis: Nemesis) -> None:
    report.note("kill -9", len(servers.kills))
    for what, count in sorted(nemesis.counts().items()):
        report.note(f"  {what}", count)
    report.void += nemesis.problems
    if len(nemesis.done) != len(report.plan.strikes):
        report.void.append(f"{len(nemesis.done)} of {len(report.plan.strikes)} strikes were carried out")


def _note_cut_requests(report: Report, servers: Servers) -> None:
    """Record which calls ended between their head and the end of their body; they can't name the partner."""
    found = cut(servers.ask_carrier("requests"))
    report.note("requests cut on their way, none answered", len(found))
    for what, count in sorted(Counter(map(describe, found)).items()):
        report.note(f"  {what}", count)


def _under_way() -> QuerySet[Order]:
    return Order.objects.filter(UNDER_WAY)


def _drain(plan: Plan) -> float:
    """Return the seconds until no order is in progress, from the moment when everything works again.

    In a small campaign, which is part of every test run, the clock of waits is set forward once a
    lease is over.
    """
    began_at = time.monotonic()
    if plan.orders < MEASURED_FROM:
        _until(lambda: not _under_way().exists(), seconds=LEASE_SECONDS)
        now = timezone.now()
        Order.objects.filter(UNDER_WAY, due_at__gt=now + timedelta(seconds=LEASE_SECONDS)).update(due_at=now)
    _until(lambda: not _under_way().exists(), seconds=DRAIN_BOUND)
    return time.monotonic() - began_at


def _nothing_was_resent(report: Report, servers: Servers) -> None:
    """Check that without keys every unclear call is an operator's case, and no booking is sent twice."""
    unclear = BookingAttempt.objects.filter(state=BookingAttempt.State.UNKNOWN).select_related("order")
    cases = {Status.UNCONFIRMED, Status.CONFLICT}
    report.note("unclear bookings, all with the operator", len(unclear))
    report.faults["G6 every unclear call is an operator's case"] = [
        f"{attempt.order.uuid} is {attempt.order.status}" for attempt in unclear if attempt.order.status not in cases
    ]
    sent = Counter(
        next((v for k, v in request["headers"].items() if k.lower() == "idempotency-key"), "")
        for request in servers.ask_carrier("requests")
        if request["operation"] == "book"
    )
    report.faults["G6 nothing unclear is sent again by itself"] = [
        f"{key} left {times} times" for key, times in sent.items() if times > 1
    ]


def _purchases(report: Report, servers: Servers) -> None:
    """Return the outcomes of purchases by two calls whose reply was lost, without a person."""
    for carrier in servers.carriers:
        mine = Order.objects.filter(account__name__endswith=f":{carrier.port}{carrier.sandbox.path}")
        waits, name = list(_waits(mine)), carrier.kind.name
        report.note(f"{name}: orders", mine.count())
        if mine.count() < report.plan.orders / 2 / len(servers.carriers):
            report.void.append(f"{name} got only {mine.count()} orders")
        report.note(f"{name}: purchases whose reply was lost", len(waits))
        resolved = sorted(seconds for _, seconds in waits if seconds is not None)
        report.note(f"{name}: resolved without a person", len(resolved))
        if resolved:
            middle, last = resolved[len(resolved) // 2], resolved[-1]
            report.note(f"{name}: within, in seconds, half and all", f"{middle:.0f}, {last:.0f}")
        asked = [request["path"] for request in carrier.ask("requests") if request["operation"] == "book"]
        report.note(f"{name}: purchases sent", len(asked))
        if carrier.kind.looks_only:
            report.note(f"{name}: lost purchases that wait for an operator", len(waits) - len(resolved))
            report.faults[f"{name}: no purchase is sent twice"] = [
                f"{path} was sent {times} times" for path, times in Counter(asked).items() if times > 1
            ]
            continue
        report.faults[f"{name}: no lost purchase is an operator's case"] = [
            f"{order} is unresolved" for order, seconds in waits if seconds is None
        ]
        if report.plan.orders >= MEASURED_FROM:
            report.faults[f"{name}: every lost purchase was resolved within 5 minutes"] = [
                f"{order} took {seconds:.0f} s" for order, seconds in waits if (seconds or 0) > RESOLVED_WITHIN
            ]


def _waits(orders: QuerySet[Order]) -> Iterator[tuple[str, float | None]]:
    """Return how long each unclear booking stayed unclear, in seconds; None if it still is.

    The campaign shortens the waits between looks, so they count as long as they are elsewhere.
    """
    unclear = orders.filter(changes__new=Status.UNCONFIRMED).distinct()
    for order in unclear.prefetch_related("changes", "calls"):
        since = None
        for change in sorted(order.changes.all(), key=lambda change: change.pk):
            if change.new == Status.UNCONFIRMED:
                since = change.at
            elif since and change.new != Status.CONFLICT:
                waited = sum(resolving.WAITS[: _looks(order, since, change.at)])
                yield str(order.uuid), (change.at - since).total_seconds() + waited * (1 - TIME_SCALE)
                since = None
        if since:
            yield str(order.uuid), None


def _looks(order: Order, since: dt.datetime, until: dt.datetime) -> int:
    """Return how often it was looked for; a look right after "it was bought before" belongs to the same time."""
    calls = sorted((call for call in order.calls.all() if since <= call.at <= until), key=lambda call: call.pk)
    return sum(
        call.operation == "find" and not (number and calls[number - 1].outcome == "rejected")
        for number, call in enumerate(calls)
    )


def _resolve_cancellations(report: Report, servers: Servers) -> None:
    """Resolve what eight tries didn't. Where a refund can be requested twice, the portal requests it once more."""
    _wait_for_cancellations()
    unclear = list(Order.objects.filter(status=Status.CANCEL_UNCONFIRMED))
    report.note("unclear cancellations, all with the operator", len(unclear))
    dead = checker.Books.read(servers.ledger()).dead
    kinds = {f":{carrier.port}{carrier.sandbox.path}": carrier.kind for carrier in servers.carriers}
    for order in unclear:
        kind = next(kind for end, kind in kinds.items() if order.account.name.endswith(end))
        if kind.looks_only:
            is_cancelled, now = order.carrier_reference in dead, timezone.now()
            reason, by = "The carrier says so.", people.owner_of(order.sender)
            cancel_outcomes.resolve(order, is_cancelled=is_cancelled, by=by, reason=reason, now=now)
        else:
            Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    _wait_for_cancellations()


def _wait_for_cancellations() -> None:
    _until(lambda: not _under_way().filter(status=Status.CANCEL_UNCONFIRMED).exists(), seconds=LONGEST_WATCH)


def _end_refunds(report: Report, servers: Servers) -> None:
    """Where a cancellation is only a request, let the carrier decide now, and the portal make its daily check."""
    asked = Order.objects.filter(status=Status.CANCEL_ASKED)
    report.note("refunds that were asked for", asked.count())
    for carrier in servers.carriers:
        if not carrier.kind.looks_only:
            carrier.tell("settings", {"refund_days": 0.0})
    asked.update(due_at=timezone.now())
    _until(lambda: not asked.exists(), seconds=LONGEST_WATCH)
    report.faults["every refund that was asked for has ended"] = [f"{order.uuid} is asked for" for order in asked]


def _resolve_cases(report: Report, servers: Servers, noticed: Noticed) -> None:
    """Resolve each open case in the admin, after asking the carrier about it."""
    cases = list(Order.objects.filter(status__in=[Status.UNCONFIRMED, Status.CONFLICT]))
    report.note("resolved by the operator", len(cases))
    if not cases:
        return
    books = checker.Books.read(servers.ledger())
    operator = Operator(servers.url, people.operators_session(), noticed)
    report.faults["the operator could resolve every case"] = [
        f"{case.uuid} stays {case.status}"
        for case in cases
        if not operator.resolve(case, next(iter(books.live_of(case.order_key())), None))
    ]


def _watch_the_rest(report: Report, servers: Servers) -> None:
    """Watch scans and labels: the carrier sends its last news, then one polling interval passes."""
    booked_at = max((line["t"] for line in servers.ledger() if line["effect"] == "booked"), default=0.0)
    last = max([booked_at, *(at for at, _ in servers.kills)])
    time.sleep(max(0.0, JOURNEY_SECONDS - (time.time() - last)))
    began_at = time.monotonic()
    patience = 15.0 if _under_way().exists() else LONGEST_WATCH  # it has failed already: no need to wait for the rest
    unopened = Order.objects.filter(status__in=[Status.BOOKED, Status.CANCELLED], due_at__isnull=False)
    _until(lambda: not unopened.exists(), seconds=patience)
    now = timezone.now()
    Poll.objects.filter(parcel__order__isnull=False).update(due_at=now, is_optional=False)
    Label.objects.exclude(state=Label.State.STORED).filter(due_at__isnull=False).update(due_at=now, is_spare=False)
    busy = {
        "orders": _under_way(),
        "parcels unopened": unopened,
        "polls": Poll.objects.filter(parcel__order__isnull=False).exclude(polled_at__gt=now),
        "labels": Label.objects.filter(state="pending", order__status=Status.BOOKED),
        "projections": Parcel.objects.filter(due_at__isnull=False),
        "deliveries unread": WebhookDelivery.objects.filter(state=WebhookDelivery.State.NEW),
    }
    _until(lambda: not any(rows.exists() for rows in busy.values()), seconds=patience)
    report.note("every scan and label there after, in seconds", f"{time.monotonic() - began_at:.1f}")
    report.faults["nothing is due any more"] = [f"{n} {what}" for what, rows in busy.items() if (n := rows.count())]


def _strangers(report: Report, servers: Servers, cast: list[people.Person], noticed: Noticed) -> None:
    """Check that a label's owner gets its exact bytes, and anybody else a 404."""
    stored = list(Label.objects.filter(state=Label.State.STORED, order__status=Status.BOOKED).select_related("order"))
    some = random.Random(report.plan.seed).sample(stored, min(20, len(stored)))
    stranger = Browser(servers.url, noticed)
    stranger.log_in(cast[-1].email, cast[-1].password)
    report.faults["strangers get nothing"] = [
        f"label of {label.order.uuid}: {status}"
        for label in some
        if (status := stranger.get(f"/parcels/{label.order.uuid}/label/{label.size}.pdf").status_code) != 404
    ]


def _beside_the_naive(report: Report, servers: Servers, plan: Plan) -> None:
    orders = max(60, min(600, plan.orders))
    report.note("booked twice by this portal", len(report.faults["I1 never two live carrier orders for one"]))
    for kind in plan.carriers:
        naively = naive.book_naively(kind, plan.seed, servers.folder / f"naive-{kind.name}", orders=orders)
        share = f"{naively.doubled} of {orders} ({100 * naively.doubled / orders:.1f} %)"
        report.note(f"booked twice by the naive variant at {kind.name}", share)
        report.note(f"booked and given up by the naive variant at {kind.name}", naively.lost)
        if not naively.doubled:
            report.void.append("the naive variant booked nothing twice, so this plan proves nothing")


def _until(true: Callable[[], Any], *, seconds: float) -> None:
    """Wait until something is true; if it never is, the invariants will show it."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        close_old_connections()
        if true():
            return
        time.sleep(0.2)
