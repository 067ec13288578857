"""Let print stations print labels: ask, take, report and withdraw; never twice unless asked.

A job is open while it waits or is taken. A parcel has at most one open job, by a constraint, so a
second press gets the first one's. Only the station that took a job ends it, or a person who stops
the station.
"""

import datetime as dt
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from orders.labels import printing
from orders.models import Label, Order, PrintJob, PrintStation
from shipping_portal.accounts.api_tokens import DAYS, make_token, revoke_token
from shipping_portal.accounts.models import Membership, User
from shipping_portal.refused import Refused

State = PrintJob.State
LOOKED_AT = 50  # jobs in one call
SEEN_EVERY = dt.timedelta(seconds=10)  # each record is a write
OTHER = "Another installation uses this token. Make a station of its own for this computer."
LOOK_FIRST = (
    "Its station was stopped while it had this label. Look at the printer before you print again."
)


# -- Stations ------------------------------------------------------------------------------------


@transaction.atomic
def add_station(name: str, *, member: Membership, now: dt.datetime) -> tuple[PrintStation, str]:
    """Make a station, with a token that can do nothing else. The token's text is shown once.

    Raises Refused.
    """
    token, text = make_token(
        f"Print station {name}", ["print"], days=DAYS[-1], by=member.user, now=now, member=member
    )
    return PrintStation.objects.create(sender=member.sender, token=token, name=name), text


@transaction.atomic
def stop_station(station: PrintStation, *, by: User, now: dt.datetime) -> None:
    """End a station for good. Waiting jobs are withdrawn; what it has taken may be on paper."""
    revoke_token(station.token, by=by, now=now)
    _end_jobs(station.jobs.all(), now)


def _end_jobs(jobs: QuerySet[PrintJob], now: dt.datetime) -> None:
    jobs.filter(state=State.WAITING).update(state=State.WITHDRAWN, ended_at=now)
    jobs.filter(state=State.TAKEN).update(state=State.FAILED, ended_at=now, words=LOOK_FIRST)


def stations_of(user: Any, now: dt.datetime) -> list[PrintStation]:
    """Return the account's stations that weren't stopped, and how many labels wait at each."""
    waiting = Count("jobs", filter=Q(jobs__state=State.WAITING))
    found = PrintStation.objects.for_user(user).filter(
        token__revoked_at=None, token__ends_at__gt=now
    )
    return list(found.select_related("token").annotate(waiting=waiting).order_by("name", "pk"))


def record_contact(station: PrintStation, now: dt.datetime) -> None:
    """Record that a station made contact."""
    if station.seen_at is None or now - station.seen_at >= SEEN_EVERY:
        PrintStation.objects.filter(pk=station.pk).update(seen_at=now)


def register_installation(station: PrintStation, installation: uuid.UUID, printer: str) -> None:
    """Remember the installation and its printer.

    Raises Refused for a second installation, which doesn't know what the first has printed.
    """
    if station.installation is None:
        PrintStation.objects.filter(pk=station.pk, installation=None).update(
            installation=installation
        )
        station.refresh_from_db(fields=["installation"])
    if station.installation != installation:
        raise Refused(OTHER)
    if station.printer != printer:
        PrintStation.objects.filter(pk=station.pk).update(printer=printer)


# -- Asking --------------------------------------------------------------------------------------


def request_prints(
    orders: Iterable[Order],
    station: PrintStation,
    *,
    by: User,
    now: dt.datetime,
    is_again: bool = False,
) -> int:
    """Ask a station to print these labels, in this order; return how many are new.

    A parcel with an open job keeps that one. One that may already be on paper has to be asked for
    explicitly.
    """
    _end_jobs(PrintJob.objects.filter(station__in=_ended_stations(station.sender_id, now)), now)
    asked = [
        PrintJob(
            station=station,
            order=order,
            size=label.size,
            is_again=is_again,
            asked_by=by,
            asked_at=now,
        )
        for order in orders
        if (label := printing.label_of(order))
    ]
    with transaction.atomic():
        printed_at = _lock_orders([job.order_id for job in asked])
        on_paper = {key for key, at in printed_at.items() if at} | set(failed_jobs(printed_at))
        wanted = [job for job in asked if is_again or job.order_id not in on_paper]
        PrintJob.objects.bulk_create(wanted, ignore_conflicts=True)
    return PrintJob.objects.filter(uuid__in=[job.uuid for job in asked]).count()


def _lock_orders(keys: list[int]) -> dict[int, dt.datetime | None]:
    """Lock parcels in a fixed order, before their jobs, so that two presses never deadlock.

    Return when each was printed: a press may have waited for the report on the previous job.
    """
    orders = Order.objects.filter(pk__in=keys).order_by("pk")
    return dict(orders.select_for_update(of=("self",), no_key=True).values_list("pk", "printed_at"))


def failed_jobs(orders: Iterable[Any]) -> dict[int, PrintJob]:
    """Return each parcel's last job if it failed: the label may be on paper, or half of it."""
    ended = PrintJob.objects.filter(order__in=orders, state__in=[State.PRINTED, State.FAILED])
    last = {job.order_id: job for job in ended.order_by("pk")}
    return {order: job for order, job in last.items() if job.state == State.FAILED}


def _ended_stations(sender: int, now: dt.datetime) -> QuerySet[PrintStation]:
    """Return stations whose token ended elsewhere: it expired, was revoked, or its member left."""
    ended = Q(token__revoked_at__isnull=False) | Q(token__ends_at__lte=now)
    return PrintStation.objects.filter(ended, sender=sender)


def withdraw_waiting(station: PrintStation, *, now: dt.datetime) -> int:
    """Withdraw what the station hasn't taken yet; return how many."""
    return station.jobs.filter(state=State.WAITING).update(state=State.WITHDRAWN, ended_at=now)


# -- What a station does -------------------------------------------------------------------------


def claim_next(station: PrintStation, *, now: dt.datetime) -> PrintJob | None:
    """Return the job that the station already has, or otherwise take the oldest waiting one.

    Returns None after skipping several that are no longer wanted: the station asks again soon.
    """
    jobs = station.jobs.select_related("order__sender").order_by("pk")
    if own := jobs.filter(state=State.TAKEN).first():
        return own
    for _ in range(LOOKED_AT):
        job = jobs.filter(state=State.WAITING).first()
        if job is None:
            break
        if why := why_unwanted(job):
            _move(job, State.WAITING, state=State.WITHDRAWN, ended_at=now, words=why)
        elif _move(job, State.WAITING, state=State.TAKEN, taken_at=now):
            return job
    return None


def _move(job: PrintJob, only_if: str, **changes: Any) -> bool:
    """Change a job that is in this state; return False if it has moved on."""
    if not PrintJob.objects.filter(pk=job.pk, state=only_if).update(**changes):
        return False
    for name, value in changes.items():
        setattr(job, name, value)
    return True


def why_unwanted(job: PrintJob) -> str:
    """Return why this label is not to be printed now, or ""."""
    if not job.order.is_booked:
        return f"The parcel is {job.order.get_status_display().lower()}. Don't use its label."
    label = label_of(job)
    if label is None or not label.is_printable:
        return "The parcel has no label to print now."
    printed_at = job.order.printed_at
    if printed_at is not None and not (job.is_again and printed_at <= job.asked_at):
        return "Somebody marked it printed meanwhile."
    return ""


def label_of(job: PrintJob) -> Label | None:
    """Return the label a job was made for."""
    return Label.objects.filter(order=job.order_id, size=job.size).select_related("order").first()


def report_stuck(job: PrintJob, words: str) -> None:
    """Note what the printer says while a taken label waits in its queue."""
    if job.words != words:
        _move(job, State.TAKEN, words=words)


@transaction.atomic
def report_end(job: PrintJob, *, is_printed: bool, words: str, now: dt.datetime) -> None:
    """End a taken job, once. Only a printed one marks its parcel."""
    state = State.PRINTED if is_printed else State.FAILED
    _lock_orders([job.order_id])
    if not _move(job, State.TAKEN, state=state, ended_at=now, words=words) or not is_printed:
        return
    try:
        if not printing.mark_printed(job.order, by=job.asked_by, at=now) and job.is_again:
            printing.mark_reprinted(job.order, by=job.asked_by, at=now)
    except Order.WrongStatus:  # cancelled while it was in the printer; the parcel's page says so
        PrintJob.objects.filter(pk=job.pk).update(words="No longer booked. Don't use this label.")
