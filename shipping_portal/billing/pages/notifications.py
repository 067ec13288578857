"""Notify people about money: size charges, weekly statements, and answers to disputes.

Each notification is written in the transaction that causes it.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.formatting import local_word, money, money_in
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.mail.outbox import Event
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import SIZE_CHARGES, BillingReport, Charge, Dispute
from shipping_portal.billing.pages.line_reasons import line_reason, page_of
from shipping_portal.billing.pages.statements import SIZE, week_name, week_words

POSTED_FOR = dt.timedelta(days=14)  # a line matched to its sender later than this isn't news
LATE_REPORT = dt.timedelta(days=120)
ADDED = "{amount} added to {reference}. {reason}"
ANSWERED = "We've answered your question about {what}{money}. The answer is next to the charge."
CHANGED = (
    "Your statement for {week} has changed, as the carrier confirmed charges: {net} for {parcels}."
)
READY = "Your statement for {week} is ready: {net} for {parcels}."


def notify_posted(report: BillingReport, now: dt.datetime) -> None:
    """Notify senders of a report's size charges and statements. An old week isn't news."""
    if report.week >= (now - LATE_REPORT).date():
        outbox.notify(*size_charges(report), *statement_events(report), now=now)


def notify_counted(report: BillingReport, lines: QuerySet[Charge], now: dt.datetime) -> None:
    """Notify of held lines that now count: they change a statement or start one."""
    if report.week >= (now - LATE_REPORT).date():
        sizes = [_size_charge_event(line, report, is_alone=True) for line in _size_charges(lines)]
        outbox.notify(*sizes, *statement_events(report, lines), now=now)


def notify_assigned(charge: Charge) -> None:
    """Notify of a size charge that had no owner when its report was posted."""
    now = timezone.now()
    lately = Q(
        report__state=BillingReport.State.POSTED,
        report__ended_at__gte=now - POSTED_FOR,
        report__week__gte=(now - LATE_REPORT).date(),
    )
    if not charge.is_size_charge:
        return
    for line in _size_charges(Charge.objects.filter(lately, pk=charge.pk)).select_related("report"):
        if line.report:
            its_like = _size_charges(line.report.lines.filter(sender=line.sender))
            outbox.notify(
                _size_charge_event(line, line.report, is_alone=its_like.count() == 1), now=now
            )


def notify_answered(dispute: Dispute, now: dt.datetime) -> None:
    """Notify the person who disputed a charge. The answer's text is only on its page."""
    credit = dispute.credit
    event = Event(
        sender=dispute.sender,
        kind="answer",
        dedupe_key=f"answer:{dispute.pk}",
        line=ANSWERED.format(
            what=dispute.charge.reference or "a charge",
            money=f": {money(-credit.amount, credit.currency)} credited" if credit else "",
        ),
        path=page_of(dispute.charge),
        happened_at=now,
        batch_key=f"answer:{dispute.pk}",
        only=dispute.made_by_id,
    )
    outbox.notify(event, now=now)


def withdraw_charge_event(charge: Charge) -> None:
    """Withdraw the notification of a charge that is being reversed, unless already sent."""
    outbox.retract_events(f"charge:{charge.pk}")


def size_charges(report: BillingReport) -> Iterator[Event]:
    """Yield the events of a report's size charges. One sender's events share an email."""
    found = list(_size_charges(report.lines.all()).order_by("pk"))
    charges_of = Counter(line.sender_id for line in found)
    for line in found:
        yield _size_charge_event(line, report, is_alone=charges_of[line.sender_id] == 1)


def statement_events(
    report: BillingReport, later: QuerySet[Charge] | None = None
) -> Iterator[Event]:
    """Yield each sender's statement event, once a week, with the page's own figures.

    If lines count `later` than their report, a statement that already had lines is a changed one.
    """
    name = week_name(report.week)
    theirs = _week_of_its_senders(report.lines.all() if later is None else later, report)
    nets, parcels = _week_balances(theirs), _count_parcels(theirs)
    before = {} if later is None else _count_parcels(theirs.exclude(pk__in=later))
    first = "" if later is None else min(later.values_list("pk", flat=True))
    for sender in Sender.objects.filter(pk__in=nets):
        shown = money if len(nets[sender.pk]) == 1 else money_in
        count = parcels[sender.pk]
        noun = local_word("parcel" if count == 1 else "parcels", sender.country)
        yield Event(
            sender=sender,
            kind="statement",
            dedupe_key=f"statement:{sender.pk}:{name}{f':{first}' if sender.pk in before else ''}",
            line=(CHANGED if sender.pk in before else READY).format(
                week=week_words(report.week, sender),
                net=" and ".join(shown(amount, currency) for currency, amount in nets[sender.pk]),
                parcels=f"{count} {noun}",
            ),
            path=reverse("statement", args=[name]),
            happened_at=report.ended_at or report.uploaded_at,
        )


def _size_charges(lines: QuerySet[Charge]) -> QuerySet[Charge]:
    """Return the posted size charges that have an owner."""
    found = lines.filter(kind__in=SIZE_CHARGES, posted_at__isnull=False, sender__isnull=False)
    return found.select_related("order", "sender")


def _size_charge_event(line: Charge, report: BillingReport, *, is_alone: bool) -> Event:
    """Build the event of one size charge; one of several links to the statement."""
    if line.sender is None:
        raise ValueError(f"{line} is nobody's")
    statement = f"{reverse('statement', args=[week_name(line.week)])}?kind={SIZE}"
    explained = line_reason(line, line.sender)
    return Event(
        sender=line.sender,
        kind="charge",
        dedupe_key=f"charge:{line.pk}",
        line=ADDED.format(
            amount=money(line.amount, line.currency), reference=line.reference, reason=explained
        ),
        path=page_of(line) if is_alone and line.order else statement,
        happened_at=line.posted_at or report.ended_at or report.uploaded_at,
        batch_key=f"charges:{report.pk}",
    )


def _week_of_its_senders(lines: QuerySet[Charge], report: BillingReport) -> QuerySet[Charge]:
    """Return the charges of these lines' senders in the report's week, from any report."""
    senders = (
        lines.filter(posted_at__isnull=False)
        .filter(sender__isnull=False)
        .order_by()
        .values("sender")
        .distinct()
    )
    return Charge.objects.posted().filter(
        week=report.week, sender__in=list(senders.values_list("sender", flat=True))
    )


def _week_balances(week: QuerySet[Charge]) -> dict[int, list[tuple[str, Decimal]]]:
    """Return each sender's total, by currency."""
    found: dict[int, list[tuple[str, Decimal]]] = defaultdict(list)
    sums = week.order_by("currency").values_list("sender", "currency").annotate(net=Sum("amount"))
    for sender, currency, net in sums:
        found[sender].append((currency, net))
    return found


def _count_parcels(week: QuerySet[Charge]) -> dict[int, int]:
    """Return each sender's number of parcels; one with two currencies counts once."""
    counts = week.order_by().values_list("sender").annotate(parcels=Count("order", distinct=True))
    return dict(counts)
