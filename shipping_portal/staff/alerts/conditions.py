"""List what needs an operator: overdue queues, and conditions without a queue."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, Min
from django.urls import reverse

from orders.calling import gateway
from orders.models import (
    CarrierAccount,
    CarrierCall,
    DailySpend,
    LabelBytes,
    OrderChange,
    Restore,
)
from orders.models.account import BOOKINGS
from orders.models.statuses import Status
from orders.restoring import marks
from shipping_portal.accounts.models import Notification
from shipping_portal.billing.charges import awaiting
from shipping_portal.billing.reports import folder
from shipping_portal.formats import admin_time
from shipping_portal.staff import queues
from shipping_portal.staff.alerts import certificates, health
from shipping_portal.staff.models import Severity
from tracking.receiving import webhook_health

# a queue with a longer response time can wait until morning
WAKES_WITHIN = dt.timedelta(hours=4)
WORK_IS_LATE = dt.timedelta(minutes=5)
STILL_SILENT = dt.timedelta(hours=1)  # after the last rest, if no booking has been tried since
MOST_UNPRICED = 5  # price requests in a row without a clear answer, within STILL_SILENT
MOST_REFUSED, REFUSED_SENDERS = 5, 3  # one sender's mistakes don't affect other senders
UNSENT_TRIES, UNSENT_PEOPLE = 5, 2  # half an hour; a single mailbox may refuse for ever
REFUSALS_COUNT = dt.timedelta(days=1)  # as long as their queue shows them
FARTHEST_WEST = dt.timedelta(hours=12)  # in UTC, where a day ends last
NEAR_LIMIT = Decimal("0.9")
GIGABYTE = 10**9


@dataclass(frozen=True)
class Condition:
    """Something that needs a person now. `name` never changes; `oldest` is its start, if known."""

    name: str
    title: str
    next_step: str
    severity: Severity
    url: str
    count: int = 1
    oldest: dt.datetime | None = None


UNBOOKED = "Five bookings in a row got no clear answer. Waiting bookings are sent automatically."
UNPRICED = (
    "The last five price requests got no clear answer, so nobody can book. Nothing was charged."
)
CHECK_FOLDER = (
    "Check that the portal can read the files and that their folder is named after an account."
)


def present_conditions(now: dt.datetime) -> list[Condition]:
    """Return everything that needs an operator now."""
    return [
        *_queue_conditions(now),
        *_backlog_conditions(now),
        *_account_conditions(now),
        *_data_conditions(now),
    ]


def _queue_conditions(now: dt.datetime) -> Iterator[Condition]:
    for queue in queues.waiting_queues(now):
        if queue.urgency == "overdue":
            severity = Severity.PAGE if queue.term <= WAKES_WITHIN else Severity.TICKET
            yield Condition(
                queue.name,
                queue.title,
                queue.next_step,
                severity,
                queue.url,
                queue.count,
                queue.oldest,
            )


def _backlog_conditions(now: dt.datetime) -> Iterator[Condition]:
    due = health.count_backlog(now)
    if due.oldest and now - due.oldest >= WORK_IS_LATE:
        yield Condition(
            "jobs-late",
            "Jobs are running late",
            "Bookings are waiting. Check the workers, the broker and the database.",
            Severity.PAGE,
            reverse("admin:index"),
            due.rows,
            due.oldest,
        )


def _account_conditions(now: dt.datetime) -> Iterator[Condition]:
    accounts, url = gateway.all_accounts(), reverse("admin:orders_carrieraccount_changelist")
    yield from _silence_conditions(accounts, now)
    yield from _refusal_conditions(accounts, now)
    if gaps := sum(webhook_health.is_alarmed(account, now) for account in accounts):
        yield Condition(
            "webhook-gap",
            "Webhooks are going missing",
            "Polling is finding scans first. Run webhook_url --test and check the carrier's"
            " webhook settings.",
            Severity.TICKET,
            reverse("admin:index"),
            gaps,
        )
    silent = [since for account in accounts if (since := webhook_health.silent_since(account, now))]
    if silent:
        yield Condition(
            "webhook-silent",
            "No webhook arrives",
            "Only polling brings scans now. Run webhook_url --test and check the carrier's webhook"
            " settings.",
            Severity.TICKET,
            url,
            len(silent),
            min(silent),
        )


def _silence_conditions(accounts: list[CarrierAccount], now: dt.datetime) -> Iterator[Condition]:
    """Yield one page for an outage that bookings or prices show. A stop has a queue instead."""
    working = [account for account in accounts if not account.stopped_at]
    # A rest of half a minute may fall between two checks, so it counts until the carrier answers a
    # booking.
    resting = {
        account.pk
        for account in working
        if account.resting_until and account.resting_until > now - STILL_SILENT
    }
    taking = filter(gateway.takes_new_orders, working)
    unpriced = {account.pk: since for account in taking if (since := _unpriced_since(account, now))}
    words = [UNBOOKED] * bool(resting) + [UNPRICED] * bool(unpriced)
    if words:
        yield Condition(
            "carrier-silent",
            "The carrier isn't answering",
            " ".join([*words, "Read why under Carrier calls, and check the carrier's status."]),
            Severity.PAGE,
            reverse("admin:orders_carriercall_changelist"),
            len(resting | unpriced.keys()),
            min(unpriced.values(), default=None),
        )


def _unpriced_since(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    """Return when the first of its last five price requests failed, if none got a clear answer.

    Without a price no booking is sent, so no booking would show that the carrier is unavailable.
    """
    asked = CarrierCall.objects.filter(
        account=account, operation="quote", at__gt=now - STILL_SILENT, at__lte=now
    )
    last = list(asked.order_by("-at").values_list("at", "outcome")[:MOST_UNPRICED])
    is_silent = len(last) == MOST_UNPRICED and not any(
        outcome in health.CLEAR for _, outcome in last
    )
    return last[-1][0] if is_silent else None


def _refusal_conditions(accounts: list[CarrierAccount], now: dt.datetime) -> Iterator[Condition]:
    """Yield a page if the carrier refuses the bookings of many senders and accepts none."""
    for account in filter(gateway.takes_new_orders, accounts):
        if account.stopped_at or account.pause_of(BOOKINGS, now):
            continue
        found = _refused_since_accepted(account, now)
        if found["orders"] >= MOST_REFUSED and found["senders"] >= REFUSED_SENDERS:
            yield Condition(
                "all-refused",
                "The carrier refuses every booking",
                "Nothing was charged. Read its reasons. If they aren't the senders' mistakes, press"
                " Pause bookings on the account's page, so that further ones wait, and ask the"
                " carrier. The next booking that it accepts ends this alert.",
                Severity.PAGE,
                reverse("admin:orders_order_changelist") + "?needs=refused",
                found["orders"],
                found["since"],
            )


def _refused_since_accepted(account: CarrierAccount, now: dt.datetime) -> dict[str, Any]:
    """Count orders refused in the last day, since one was accepted. Faults in our setup are apart.

    Those have their own queue, which has an alert.
    """
    begin = now - REFUSALS_COUNT
    booked = CarrierCall.objects.filter(
        account=account, operation="book", outcome="ok", at__gt=begin
    ).order_by("-at")
    since = booked.values_list("at", flat=True).first() or begin
    refused = OrderChange.objects.filter(
        new=Status.REJECTED,
        at__gt=since,
        order__account=account,
        order__status=Status.REJECTED,
        order__problem__kind__isnull=True,
    )
    return refused.aggregate(
        orders=Count("order", distinct=True),
        senders=Count("order__sender", distinct=True),
        since=Min("at"),
    )


def _data_conditions(now: dt.datetime) -> Iterator[Condition]:
    if restores := list(Restore.objects.open().order_by("restored_at")):
        yield Condition(
            "restore-gap",
            "Restore gap still open",
            "Bookings are paused. Compare with the carrier, then close the gap.",
            Severity.PAGE,
            reverse("admin:orders_restore_changelist"),
            len(restores),
            restores[0].restored_at,
        )
    if LabelBytes.stored() > settings.LABEL_STORE_GB * GIGABYTE:
        yield Condition(
            "label-store",
            "Label store over quota",
            "Add database space, or shorten LABEL_RETENTION_DAYS.",
            Severity.TICKET,
            reverse("admin:orders_label_changelist"),
        )
    backup_at = marks.last_backup_at()
    if backup_at and now - backup_at > dt.timedelta(hours=settings.BACKUP_HOURS):
        yield Condition(
            "backup-old",
            "No recent backup",
            "Check the backup job. Its last step is manage.py backup_taken.",
            Severity.TICKET,
            reverse("admin:index"),
            1,
            backup_at,
        )
    yield from _mail_conditions()
    yield from _certificate_conditions(now)
    yield from _money_conditions(now)
    yield from _report_conditions(now)


def _mail_conditions() -> Iterator[Condition]:
    """Yield a ticket if the mail server accepts nothing: such jobs are neither late nor failed."""
    unsent = Notification.objects.filter(due_at__isnull=False, tries__gte=UNSENT_TRIES)
    if (people := unsent.aggregate(n=Count("user", distinct=True))["n"]) >= UNSENT_PEOPLE:
        yield Condition(
            "mail-unsent",
            "Emails aren't going out",
            "They are sent once the mail server takes them. Check EMAIL_URL and the server: run"
            " manage.py sendtestemail.",
            Severity.TICKET,
            reverse("admin:health"),
            people,
        )


def _certificate_conditions(now: dt.datetime) -> Iterator[Condition]:
    """Yield a ticket while a certificate can be renewed in working hours, and later a page."""
    ending = certificates.ending_certificates(now)
    pressing = [one for one in ending if one.ends_at <= now + certificates.NOW]
    for name, severity, found in (
        ("certificate-now", Severity.PAGE, pressing),
        ("certificate", Severity.TICKET, [one for one in ending if one not in pressing]),
    ):
        if found:
            names = ", ".join(f"{one.server} on {admin_time(one.ends_at)}" for one in found)
            step = f"Renew it, or ask the carrier to, and load it into the proxy. It ends: {names}."
            yield Condition(
                name, "A certificate runs out", step, severity, reverse("admin:index"), len(found)
            )


def _money_conditions(now: dt.datetime) -> Iterator[Condition]:
    """Yield a warning before DAILY_MONEY_LIMIT refuses anybody; after that its queue pages."""
    near = DailySpend.objects.filter(
        day__gte=(now - FARTHEST_WEST).date(), spent__gte=settings.DAILY_MONEY_LIMIT * NEAR_LIMIT
    )
    if count := near.count():
        yield Condition(
            "money-near-limit",
            "Nine tenths of the daily money limit are booked",
            "See who books so much. If it's fine, raise DAILY_MONEY_LIMIT and restart.",
            Severity.TICKET,
            reverse("admin:orders_dailyspend_changelist"),
            count,
        )


def _report_conditions(now: dt.datetime) -> Iterator[Condition]:
    unusable, stuck = folder.why_unusable(), folder.stuck_since(now)
    if unusable or stuck:
        yield Condition(
            "reports-folder",
            "Billing reports stuck in their folder",
            unusable or CHECK_FOLDER,
            Severity.TICKET,
            reverse("admin:billing_billingreport_changelist"),
            len(stuck) or 1,
            min(stuck, default=None),
        )
    if overdue := awaiting.overdue_reports(now):
        yield Condition(
            "bill-missing",
            "The carrier's billing report is missing",
            "Parcels of over nine days ago are in no report. Upload it, or ask the carrier for it.",
            Severity.TICKET,
            reverse("admin:billing_billingreport_changelist"),
            len(overdue),
            min(overdue),
        )
