"""What a posted billing report is to the people it is about: size charges, each explained, and a week's statement."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, Sum
from django.urls import reverse

from orders.billing import weeks
from orders.billing.explaining import page_of, reason
from orders.billing.statements import SIZE
from orders.models import BillingReport, Charge, Dispute
from orders.models.billing import SIZE_CHARGES
from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.notices import Fact
from shipping_portal.accounts.templatetags.words import money, say

ADDED = "{amount} added to {reference}. {reason}"
ANSWERED = "Your question about {what} is answered{money}. The answer stands at the charge."
READY = "The statement for {week} is there: net {net}, {parcels}."


def size_charges(report: BillingReport) -> Iterator[Fact]:
    """One mail for a report: to the one parcel it is about, or to the statement's size charges."""
    lines = report.lines.posted().filter(kind__in=SIZE_CHARGES, sender__isnull=False, reversed_by=None)
    found = list(lines.select_related("order", "sender", "reverses").order_by("pk"))
    charges_of = Counter(line.sender_id for line in found)
    for line in found:
        yield Fact(
            sender=_of(line),
            kind="charge",
            once=f"charge:{line.pk}",
            line=ADDED.format(
                amount=money(line.amount, line.currency),
                reference=line.reference,
                reason=reason(line, _of(line)),
            ),
            path=_page(line, is_alone=charges_of[line.sender_id] == 1),
            happened_at=_posted(line.posted_at, report),
            bundle=f"charges:{report.pk}",
        )


def _page(line: Charge, *, is_alone: bool) -> str:
    if is_alone and line.order:
        return page_of(line)
    return f"{reverse('statement', args=[weeks.name_of(line.week)])}?kind={SIZE}"


def answers(since: datetime) -> Iterator[Fact]:
    """What the operator answered, to who asked. The words themselves stand on the page alone."""
    answered = Dispute.objects.filter(answered_at__gte=since).select_related(
        "charge__order", "sender", "credit"
    )
    for found in answered.order_by("pk"):
        credit = found.credit
        yield Fact(
            sender=found.sender,
            kind="answer",
            once=f"answer:{found.pk}",
            line=ANSWERED.format(
                what=found.charge.reference or "a charge",
                money=f": {money(-credit.amount, credit.currency)} credited" if credit else "",
            ),
            path=page_of(found.charge),
            happened_at=found.answered_at or since,
            bundle=f"answer:{found.pk}",
            only=found.made_by_id,
        )


def statements(report: BillingReport) -> Iterator[Fact]:
    """Told once a week and sender; the figures are the page's own."""
    name, theirs = weeks.name_of(report.week), _balances(report)
    for sender in Sender.objects.filter(pk__in=theirs):
        nets = [money(row["net"], row["currency"]) for row in theirs[sender.pk]]
        count = sum(row["parcels"] for row in theirs[sender.pk])
        yield Fact(
            sender=sender,
            kind="statement",
            once=f"statement:{sender.pk}:{name}",
            line=READY.format(
                week=weeks.words_of(report.week, sender),
                net=" and ".join(nets),
                parcels=f"{count} {say('parcel' if count == 1 else 'parcels', sender.country)}",
            ),
            path=reverse("statement", args=[name]),
            happened_at=_posted(None, report),
        )


def _balances(report: BillingReport) -> dict[int, list[dict[str, Any]]]:
    """What each sender of the report owes for its week, by currency."""
    senders = report.lines.posted().filter(sender__isnull=False).order_by().values("sender").distinct()
    week = Charge.objects.posted().filter(
        week=report.week, sender__in=list(senders.values_list("sender", flat=True))
    )
    sums = week.order_by("currency").values("sender", "currency")
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sums.annotate(net=Sum("amount"), parcels=Count("order", distinct=True)):
        found[row["sender"]].append(dict(row))
    return found


def _of(line: Charge) -> Sender:
    if line.sender is None:
        raise ValueError(f"{line} is nobody's")
    return line.sender


def _posted(at: datetime | None, report: BillingReport) -> datetime:
    return at or report.ended_at or report.uploaded_at
