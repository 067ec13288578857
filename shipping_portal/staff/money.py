"""What waits for a person in the carrier's reports. As in queues.py a rule is written once, for count and list."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.db.models import Count, Min, Q, QuerySet

from orders.models import Order
from shipping_portal.billing import reconciling
from shipping_portal.billing.balancing import balances, tallies
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Dispute
from shipping_portal.staff.queue import Queue, made

State = BillingReport.State
WORD_UNDECIDED = Q(meaning="")
# Of each: its title, and its rule beside that of the reports whose totals don't agree.
REPORT_RULES: dict[str, tuple[str, Callable[[Q], Q]]] = {
    "damaged": ("Billing reports damaged", lambda odd: Q(state=State.DAMAGED)),
    "balance": ("Billing reports out of balance", lambda odd: Q(odd, state=State.CHECKED)),
    "posting": ("Billing reports not posted", lambda odd: Q(~odd, state=State.CHECKED)),
}
REPORT_STEPS = {
    "damaged": "Each problem has its line. Set the columns and read it again, or ask the carrier for the file.",
    "balance": "Its lines don't come to what the file says. Check the columns, or ask the carrier which is right.",
    "posting": "Senders see its charges once it is posted. Open it, read the totals and press Post.",
}
ORDER_RULES: dict[str, tuple[str, Callable[[dt.datetime], QuerySet[Order]]]] = {
    "charged-after-cancelling": ("Charged although cancelled", reconciling.charged_after_cancelling),
    "not-refunded": ("Cancelled, not refunded after two reports", reconciling.not_refunded),
    "charged-otherwise": ("Charged differently than agreed", reconciling.charged_otherwise),
    "never-charged": ("Booked, not charged after two reports", reconciling.never_charged),
}
ORDER_STEPS = {
    "charged-after-cancelling": "If its label was not used, ask the carrier to refund it; else tell the sender.",
    "not-refunded": "Ask the carrier for the refund by its reference, and when it was cancelled.",
    "charged-otherwise": "Compare its prices and its lines; ask the carrier why, credit the difference, or accept it.",
    "never-charged": "The carrier may charge it later, or under another reference: compare with lines nobody owns.",
}


def out_of_balance() -> Q:
    """Checked reports whose lines don't come to what the file says, or that say nothing. Two queries."""
    checked = list(BillingReport.objects.filter(state=State.CHECKED))
    found = tallies(checked)
    odd = [
        report.pk
        for report in checked
        if any(row.difference != 0 for row in balances(report, found[report.pk]))
    ]
    return Q(pk__in=odd)


def reports_that(need: str) -> Q:
    return REPORT_RULES[need][1](out_of_balance())


def orders_that(need: str, now: dt.datetime) -> Q:
    return Q(pk__in=ORDER_RULES[need][1](now).order_by().values("pk"))


def waiting(now: dt.datetime) -> list[Queue]:
    """Every queue of the reports, empty ones too."""
    return [
        *_reports(),
        made(
            "Charge words nobody decided",
            ChargeWord.objects.filter(WORD_UNDECIDED).aggregate(n=Count("pk"), oldest=Min("first_seen_at")),
            "A report that has one can't be posted. Say what each one means.",
            "billing_chargeword",
            "?decided=no",
        ),
        made(
            "Billing lines nobody owns",
            Charge.objects.unmatched().posted().aggregate(n=Count("pk"), oldest=Min("report__uploaded_at")),
            "Compare with unconfirmed bookings; else open the line and press Assign.",
            "billing_charge",
            "?owner=nobody",
        ),
        *(_orders(need, now) for need in ORDER_RULES),
        made(
            "Charges senders dispute",
            Dispute.objects.open().aggregate(n=Count("pk"), oldest=Min("made_at")),
            "Compare declared, measured and quoted, then press Answer. The sender reads your answer.",
            "billing_dispute",
            "?state__exact=open",
        ),
    ]


def _reports() -> list[Queue]:
    """One query, beside those of the balances."""
    odd = out_of_balance()
    rules = {name: rule(odd) for name, (_, rule) in REPORT_RULES.items()}
    counts = {f"n_{name}": Count("pk", filter=rule) for name, rule in rules.items()}
    ages = {f"oldest_{name}": Min("uploaded_at", filter=rule) for name, rule in rules.items()}
    unposted = BillingReport.objects.filter(state__in=[State.CHECKED, State.DAMAGED])
    found: dict[str, Any] = unposted.aggregate(**counts, **ages)
    return [
        made(
            title,
            {"n": found[f"n_{name}"], "oldest": found[f"oldest_{name}"]},
            REPORT_STEPS[name],
            "billing_billingreport",
            f"?needs={name}",
        )
        for name, (title, _) in REPORT_RULES.items()
    ]


def _orders(need: str, now: dt.datetime) -> Queue:
    found = Order.objects.filter(orders_that(need, now)).aggregate(n=Count("pk"), oldest=Min("created_at"))
    return made(ORDER_RULES[need][0], found, ORDER_STEPS[need], "orders_order", f"?needs={need}")
