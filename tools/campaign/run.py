"""One campaign from the first login to the last invariant. Needs Django set up on the campaign's own database."""

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import close_old_connections, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from orders.models import BookingAttempt, Label, Order
from orders.models.statuses import Status
from tests.recording import cut, told
from tools.campaign import bill, checker, naive, people
from tools.campaign.actors import Done, Operator, Sender
from tools.campaign.browser import Browser, Noticed
from tools.campaign.nemesis import Nemesis
from tools.campaign.plan import Plan
from tools.campaign.report import Report, phases
from tools.campaign.servers import LEASE_SECONDS, TIME_SCALE, Servers
from tools.campaign.sleeper import wake_late
from tracking.models import Parcel, Poll, WebhookDelivery

BACKOFFS = (60, 300, 900)  # seconds, before scaling: the waits of a booking whose first two replays failed as well
DRAIN_BOUND = LEASE_SECONDS + sum(BACKOFFS) * TIME_SCALE
JOURNEY_SECONDS = 13.0  # until the carrier has told the last scan of the last parcel
UNDER_WAY = Q(status__in=[Status.BOOKING, Status.CANCELLING]) | Q(
    status__in=[Status.UNCONFIRMED, Status.CANCEL_UNCONFIRMED], due_at__isnull=False
)
LONGEST_WATCH = 180.0
MEASURED_FROM = 500  # orders from which on the drain is waited for as it is
SENDERS = 6


def run(servers: Servers, plan: Plan, *, replays: bool) -> Report:
    report = Report(plan, replays)
    cast = people.settle()
    noticed, done = Noticed(servers.secrets), Done(plan.orders, plan.seed)
    began_at = time.monotonic()
    nemesis = _work_under_fire(servers, plan, cast[:-1], noticed, done)
    report.note("bookings accepted", len(done.orders))
    report.note("seconds under fire", f"{time.monotonic() - began_at:.0f}")
    _note_faults(report, servers, nemesis)
    servers.tell_carrier("clear")
    servers.everything_runs()
    report.note("drained within, in seconds", f"{_drain(plan):.1f} (bound {DRAIN_BOUND:.0f})")
    late = Sender(cast[0], servers.url, noticed, done)
    report.void += wake_late(servers, late, f"C-{plan.orders + 1}")
    if not replays:
        _nothing_was_resent(report, servers)
    _settle_cases(report, servers, noticed)
    _watch_the_rest(report, servers)
    _strangers(report, servers, cast, noticed)
    bill.settle(report, servers)
    report.faults |= checker.faults(servers, done, noticed)
    booked_keys = {line["order_key"] for line in servers.ledger() if line["effect"] == "booked"}
    for phase, count in sorted(phases(servers.kills, booked_keys).items()):
        report.note(phase, count)
    _note_cut_requests(report, servers)
    _beside_the_naive(report, servers, plan)
    connection.close()
    return report


def _work_under_fire(servers: Servers, plan: Plan, cast: list[people.Person], noticed: Noticed, done: Done) -> Nemesis:
    senders = [Sender(cast[n % len(cast)], servers.url, noticed, done) for n in range(SENDERS)]
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
    """Tell which calls ended between their head and the end of their body; they cannot name the partner."""
    found = cut(servers.ask_carrier("requests"))
    report.note("requests cut on their way, none answered", len(found))
    for what, count in sorted(Counter(map(told, found)).items()):
        report.note(f"  {what}", count)


def _under_way() -> QuerySet[Order]:
    return Order.objects.filter(UNDER_WAY)


def _drain(plan: Plan) -> float:
    """Seconds until no order is under way by itself, from the moment in which everything works again.

    In a small campaign, which is part of every test run, the clock of waits is set forward once a lease is over.
    """
    began_at = time.monotonic()
    if plan.orders < MEASURED_FROM:
        _until(lambda: not _under_way().exists(), seconds=LEASE_SECONDS)
        now = timezone.now()
        Order.objects.filter(UNDER_WAY, due_at__gt=now + timedelta(seconds=LEASE_SECONDS)).update(due_at=now)
    _until(lambda: not _under_way().exists(), seconds=DRAIN_BOUND)
    return time.monotonic() - began_at


def _nothing_was_resent(report: Report, servers: Servers) -> None:
    """Without keys every unclear call is an operator's case, and no booking leaves twice."""
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


def _settle_cases(report: Report, servers: Servers, noticed: Noticed) -> None:
    """The operator asks the carrier about each open case and settles it in the admin."""
    cases = list(Order.objects.filter(status__in=[Status.UNCONFIRMED, Status.CONFLICT]))
    report.note("settled by the operator", len(cases))
    if not cases:
        return
    books = checker.Books.read(servers.ledger())
    operator = Operator(servers.url, people.operators_session(), noticed)
    report.faults["the operator could settle every case"] = [
        f"{case.uuid} stays {case.status}"
        for case in cases
        if not operator.settle(case, next(iter(books.live_of(case.order_key())), None))
    ]


def _watch_the_rest(report: Report, servers: Servers) -> None:
    """Scans and labels: the carrier tells its last news, then one interval of polling passes."""
    time.sleep(max(0.0, JOURNEY_SECONDS - (time.time() - max((at for at, _ in servers.kills), default=0))))
    began_at = time.monotonic()
    patience = 15.0 if _under_way().exists() else LONGEST_WATCH  # red already: no need to wait for the rest
    unopened = Order.objects.filter(status__in=[Status.BOOKED, Status.CANCELLED], due_at__isnull=False)
    _until(lambda: not unopened.exists(), seconds=patience)
    now = timezone.now()
    Poll.objects.filter(parcel__order__isnull=False).update(due_at=now)
    Label.objects.exclude(state=Label.State.STORED).filter(due_at__isnull=False).update(due_at=now)
    busy = {
        "orders": _under_way(),
        "parcels unopened": unopened,
        "polls": Poll.objects.filter(parcel__order__isnull=False).exclude(polled_at__gt=now),
        "labels": Label.objects.filter(state="pending", order__status=Status.BOOKED),
        "folds": Parcel.objects.filter(due_at__isnull=False),
        "deliveries unread": WebhookDelivery.objects.filter(state=WebhookDelivery.State.NEW),
    }
    _until(lambda: not any(rows.exists() for rows in busy.values()), seconds=patience)
    report.note("every scan and label there after, in seconds", f"{time.monotonic() - began_at:.1f}")
    report.faults["nothing is owed any more"] = [f"{n} {what}" for what, rows in busy.items() if (n := rows.count())]


def _strangers(report: Report, servers: Servers, cast: list[people.Person], noticed: Noticed) -> None:
    """The owner of a label gets its very bytes, somebody else a 404."""
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
    counted = naive.doubles(plan, servers.folder, orders=orders)
    doubled = sum(times > 1 for times in counted.values())
    report.note("booked twice by this portal", len(report.faults["I1 never two live carrier orders for one"]))
    report.note("booked twice by the naive variant", f"{doubled} of {orders} ({100 * doubled / orders:.1f} %)")
    if not doubled:
        report.void.append("the naive variant booked nothing twice, so this plan proves nothing")


def _until(true: Callable[[], Any], *, seconds: float) -> None:
    """Wait; what is not true by then the invariants will tell."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        close_old_connections()
        if true():
            return
        time.sleep(0.2)
