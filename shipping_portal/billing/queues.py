"""Define the operators' queues about the carrier's reports."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from django.db.models import Exists, OuterRef, Q, QuerySet

from orders.models import Order
from shipping_portal.accounts.adminkit.queues import (
    WEEK,
    OneRule,
    Rule,
    Wait,
    one_rule_queues,
)
from shipping_portal.billing.charges import reconciling
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Dispute
from shipping_portal.billing.reports.balancing import checked_out_of_balance
from shipping_portal.db.keyset import MOST_LISTED

State = BillingReport.State


def out_of_balance() -> Q:
    """Match checked reports that don't balance, or state no total. One query."""
    return Q(pk__in=checked_out_of_balance())


OrderRule = Callable[[dt.datetime], QuerySet[Order]]


def _by_key(rule: OrderRule) -> Rule:
    """Return the rule as a condition by key, so that one order's page doesn't read other orders."""
    return lambda now: Q(Exists(rule(now).filter(pk=OuterRef("pk"))))


def _listed_keys(rule: OrderRule, now: dt.datetime) -> QuerySet[Order, int]:
    # Unordered, because finding the lowest keys first took seven times as long with a million
    # orders.
    return rule(now).order_by().values_list("pk", flat=True)[:MOST_LISTED]


def _as_key_list(rule: OrderRule) -> Rule:
    """Return the rule as a list of at most MOST_LISTED keys, found before the list is.

    With the rule as a condition of the list, PostgreSQL expected nearly every order to match and
    compared each with every other: with 200,000 orders the count took two seconds and the list
    eight.
    """
    return lambda now: Q(pk__in=list(_listed_keys(rule, now)))


REPORTS = {
    "damaged": Wait(
        "Damaged billing reports",
        Q(state=State.DAMAGED),
        "Each problem shows its line. Set the columns and reprocess it, or ask the carrier for a"
        " new file.",
        "uploaded_at",
    ),
    "balance": Wait(
        "Billing reports out of balance",
        lambda now: out_of_balance() & Q(state=State.CHECKED),
        "The lines don't add up to the stated total. Check the columns, or ask the carrier which is"
        " right.",
        "uploaded_at",
    ),
    "posting": Wait(
        "Billing reports not posted",
        lambda now: ~out_of_balance() & Q(state=State.CHECKED),
        "Senders see charges once posted. Open it, check the totals and press Post.",
        "uploaded_at",
    ),
}
WORDS = {
    "no": Wait(
        "Unmapped charge terms",
        Q(meaning=""),
        "A report can't be posted until every term is mapped. Map each one.",
        "first_seen_at",
    )
}
CHARGES = {
    "nobody": Wait(
        "Unassigned charges",
        Q(pk__in=Charge.objects.unmatched().posted().values("pk")),
        "Compare with Booking outcome unknown. If none matches, open the line and press Assign to a"
        " parcel or sender.",
        "report__uploaded_at",
        term=WEEK,
    )
}
ON_HOLD = {
    "on-hold": Wait(
        "Charges on hold",
        Q(pk__in=Charge.objects.on_hold().values("pk")),
        "The order was billed already, or wasn't charged what is refunded. Ask the carrier, then"
        " count it or leave it out.",
        "report__ended_at",
        term=WEEK,
    )
}
AFTER_REPORTS = {
    "not-refunded": reconciling.not_refunded,
    "never-charged": reconciling.never_charged,
}
RULES: dict[str, OrderRule] = AFTER_REPORTS | {
    "charged-after-cancelling": reconciling.charged_after_cancelling,
    "charged-otherwise": reconciling.charged_otherwise,
}
ORDERS = {
    "charged-after-cancelling": Wait(
        "Charged after cancelling",
        _as_key_list(RULES["charged-after-cancelling"]),
        "If the label wasn't used, ask the carrier for a refund. If it was, tell the sender.",
        "used_charge_at",
        term=WEEK,
    ),
    "not-refunded": Wait(
        "Cancelled, not refunded after two reports",
        _as_key_list(RULES["not-refunded"]),
        "Ask the carrier for the refund. Quote the reference and the time it was cancelled.",
        "unrefunded_at",
        term=WEEK,
    ),
    "charged-otherwise": Wait(
        "Charge differs from quote",
        _as_key_list(RULES["charged-otherwise"]),
        "Ask the carrier why. If it is wrong, press Add credit on the sender's page. Then open the"
        " line and press Accept this price.",
        "unexpected_at",
        term=WEEK,
    ),
    "never-charged": Wait(
        "Booked, not charged after two reports",
        _as_key_list(RULES["never-charged"]),
        "The carrier may charge it later or under another reference. Compare with unassigned"
        " charges.",
        "uncharged_at",
        term=WEEK,
    ),
}
OF_ONE = {name: replace(wait, rule=_by_key(RULES[name])) for name, wait in ORDERS.items()}
DISPUTES = {
    "open": Wait(
        "Disputed charges",
        Q(state=Dispute.State.OPEN),
        "Compare declared, measured and quoted, then press Answer. The sender sees your answer.",
        "made_at",
    )
}


def report_queues() -> list[OneRule]:
    """Return the queues of reports, to be counted with others."""
    odd, checked = out_of_balance(), Q(state=State.CHECKED)  # used by two rules
    reports = {
        **REPORTS,
        "balance": replace(REPORTS["balance"], rule=odd & checked),
        "posting": replace(REPORTS["posting"], rule=~odd & checked),
    }
    return one_rule_queues(BillingReport.objects.all(), reports)


def other_queues() -> list[OneRule]:
    """Return the queues about charges, orders and disputes, to be counted with others."""
    weeks = reconciling.reported_weeks()  # used by two rules
    rules = RULES | {name: partial(rule, weeks=weeks) for name, rule in AFTER_REPORTS.items()}
    rows = Order.objects.annotate(**reconciling.shown_at())
    return [
        *one_rule_queues(ChargeWord.objects.all(), WORDS, query="?decided={}"),
        *one_rule_queues(Charge.objects.all(), CHARGES, query="?owner={}"),
        *one_rule_queues(Charge.objects.all(), ON_HOLD, query="?hold={}"),
        *[
            OneRule(rows, name, wait, "?needs={}", partial(_listed_keys, rules[name]))
            for name, wait in ORDERS.items()
        ],
        *one_rule_queues(Dispute.objects.all(), DISPUTES, query="?state__exact={}"),
    ]
