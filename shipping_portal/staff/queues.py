"""What waits for a person: each queue is a rule, a count, the age of its oldest row and the next thing to do.

A rule is written once here; the lists filter by the same rule, so a count and its list always agree.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.db.models import Case, Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from orders import carrier_settings
from orders.models import BookingAttempt, CarrierAccount, CarrierCall, DailySpend, Label, Order, OrderChange
from orders.models.pauses import PAUSABLE
from orders.models.statuses import STILL_AT_SENDER, Progress, Status
from shipping_portal.accounts.models import Sender
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.staff import carrier_accounts, money
from shipping_portal.staff.queue import Queue, made
from tracking import polling
from tracking.models import EventWord, Parcel, WebhookDelivery

State = WebhookDelivery.State
Rule = Callable[[dt.datetime], Q]
STUCK_AFTER = dt.timedelta(minutes=10)
UNREAD_AFTER = dt.timedelta(minutes=1)
MOST_LISTED = 1000
LATE_AFTER = dt.timedelta(minutes=15)
OVERDUE_AFTER = dt.timedelta(hours=2)
FAULT_COUNTS = dt.timedelta(days=1)


def unconfirmed_long(now: dt.datetime) -> Q:
    """Unclear bookings older than ten minutes: what the first replays settle is settled by then."""
    fresh = Order.objects.filter(attempts__state="unknown", attempts__sent_at__gt=now - STUCK_AFTER)
    return Q(status=Status.UNCONFIRMED) & ~Q(pk__in=fresh.values("pk"))


def cancel_stuck(now: dt.datetime) -> Q:
    """Cancellations the portal gave up on, or asked for ten minutes ago and not settled."""
    asked = Order.objects.filter(
        cancels__state__in=["wanted", "in_flight", "unknown"], cancels__asked_at__lte=now - STUCK_AFTER
    )
    late = Q(status__in=[Status.CANCELLING, Status.CANCEL_UNCONFIRMED], pk__in=asked.values("pk"))
    return late | Q(status=Status.CANCEL_UNCONFIRMED, due_at=None)


def missed_twice(now: dt.datetime) -> Q:
    """Pickup orders that two drivers missed, by the calendar of each sender: what its page says too.

    Looks at the orders nobody scanned in the last weeks, the longest waiting first. After 45 days polling has given
    them up as well (a label nobody used), and they leave this list.
    """
    silent = Order.objects.filter(polling.waits_silently(now))
    found = silent.select_related("sender").order_by("carrier_pickup_date", "pk")[:MOST_LISTED]
    return Q(pk__in=[order.pk for order in found if order.missed_twice(now)])


def second_order(now: dt.datetime) -> Q:
    """Orders for which the carrier may have made another one beside; see orders/second_orders.py."""
    waiting = BookingAttempt.objects.filter(second_order_at__isnull=False).order_by("second_order_at")
    return Q(pk__in=list(waiting.values_list("order_id", flat=True)[:MOST_LISTED]))


def futile(now: dt.datetime) -> Q:
    """Pickups in vain that wait for a later day, where no link lets their senders move it (interface §3 rules 3, 4)."""
    linked = [told.fingerprint for told in carrier_settings.every() if told.has_parcel_tools]
    later_day = Q(carrier_pickup_date__gt=F("progress_at__date"))
    by_us = ~later_day & ~Q(account__fingerprint__in=linked)
    return Q(status=Status.BOOKED, progress=Progress.PICKUP_FUTILE) & by_us


def left_behind(now: dt.datetime) -> Q:
    """Orders still open on accounts that no settings hold a key of any more, the longest there first."""
    found = carrier_accounts.still_open(carrier_accounts.asked_by_nobody(), now).order_by("pk")
    return Q(pk__in=list(found.values_list("pk", flat=True)[:MOST_LISTED]))


def _refused_since(at: dt.datetime) -> QuerySet[Any]:
    """Orders that were refused since then; they may have been made, and tried, for a day before."""
    return OrderChange.objects.filter(new=Status.REJECTED, at__gte=at).values("order")


ORDER_RULES: dict[str, tuple[str, Rule]] = {
    "unconfirmed": ("Not known whether booked", lambda now: Q(status=Status.UNCONFIRMED)),
    "unconfirmed-long": ("Not known for over 10 minutes", unconfirmed_long),
    "conflict": ("Two answers that disagree", lambda now: Q(status=Status.CONFLICT)),
    "second-order": ("Second carrier order", second_order),
    "refused": (
        "Refused in the last 24 hours",
        lambda now: Q(status=Status.REJECTED, pk__in=_refused_since(now - dt.timedelta(days=1))),
    ),
    "cancel-stuck": ("Cancellation stuck", cancel_stuck),
    "futile": ("Futile pickup: agree a new day with the carrier", futile),
    "left-behind": ("Open on a carrier account that no settings name", left_behind),
    "missed-twice": ("Missed by the driver twice", missed_twice),
    "used-after-cancel": (
        "Label used after cancelling",
        lambda now: Q(used_after_cancel_at__gte=now - dt.timedelta(days=30)),
    ),
}
UNDECIDED = (Status.UNCONFIRMED, Status.CONFLICT)  # statuses, and the names of their queues
NEXT_STEPS = {
    "unconfirmed": "Open the oldest, press Resolve: adopt its reference, settle it as not booked, or keep waiting.",
    "conflict": "Open it, press Resolve and compare the carrier's answers; ask the carrier which one stands.",
    "second-order": "The carrier may charge for both. Open it, and ask the carrier to void the one not used.",
    "refused": "Read the carrier's words. Many alike point at our settings or the contract file, not at senders.",
    "cancel-stuck": "Ask the carrier whether it is cancelled, then open it and press what the carrier said.",
    "futile": "Ask the carrier for another pickup day and tell the sender, who keeps the label; don't cancel it.",
    "left-behind": "Nobody can ask about them. Name the account in OLDER_CARRIERS, with settings and key, and restart.",
    "missed-twice": "Ask the carrier where the driver is and whether the order is due a refund; don't cancel it.",
    "used-after-cancel": "The carrier will charge it. Tell the sender, and expect the line on the weekly report.",
}


def unmatched() -> Q:
    """References that sent scans but belong to no order and to no watch."""
    of_tests = {told.contract.nobodys_reference for told in carrier_settings.every()}
    return Q(order=None, watches=None, last_scan_at__isnull=False) & ~Q(reference__in=of_tests)


def unread(now: dt.datetime) -> Q:
    """Webhook bodies of the last week that gave no scan, or wait unread for over a minute."""
    odd = Q(state__in=[State.QUARANTINED, State.DIFFERS], received_at__gte=now - dt.timedelta(days=7))
    return odd | Q(state=State.NEW, received_at__lte=now - UNREAD_AFTER)


def not_read_in_full(now: dt.datetime) -> Q:
    """Calls of the last day whose reply had rows we could not read: services that senders are not offered."""
    return Q(unreadable__gt=0, at__gte=now - dt.timedelta(days=1))


def label_missing() -> Q:
    """Labels we could not get, and sizes not offered where no other size is or may come, of parcels yet to leave."""
    others = Label.objects.filter(
        order=OuterRef("order"), state__in=[Label.State.STORED, Label.State.PENDING]
    )
    has_none = Q(~Exists(others), state=Label.State.ABSENT)
    missing = Q(state__in=[Label.State.ABSENT, Label.State.FAILED])  # in the words of the index
    needed = Q(order__status=Status.BOOKED, order__progress__in=STILL_AT_SENDER)
    return Q(missing & needed, Q(state=Label.State.FAILED) | has_none)


WAITS_FOR_APPROVAL = Q(approved_at=None, suspended_at=None)  # in the words of the index
WORD_UNDECIDED = Q(progress="", is_known=False)
# Of each: its title, its rule, and the next step.
SPENDING_RULES: dict[str, tuple[str, Rule, str]] = {
    "room": (
        "Daily money limit reached",
        # A day that is still under way somewhere on earth.
        lambda now: Q(refused_at__isnull=False, day__gte=(now - dt.timedelta(hours=12)).date()),
        "What doesn't fit waits until its sender's midnight. Raise DAILY_MONEY_LIMIT and restart if it is meant to go.",
    ),
    "recount": (
        "Limit counters put right",
        lambda now: Q(mended_at__gte=now - dt.timedelta(days=7)),
        "A counter differed from its orders. Look up “limits recounted” in the audit, and report it: it is our fault.",
    ),
}


def _since() -> Coalesce:
    """Since when an order is undecided, for those that are; else since when it is there."""
    became = OrderChange.objects.filter(order=OuterRef("pk"), new__in=UNDECIDED).exclude(old__in=UNDECIDED)
    last = Subquery(became.order_by("-pk").values("at")[:1])
    return Coalesce(Case(When(status__in=UNDECIDED, then=last)), F("created_at"))


def late(since: dt.datetime | None, now: dt.datetime) -> str:
    """How an undecided booking is waiting: a word, which is also its class in desk.css; "" is soon enough."""
    waited = now - since if since else dt.timedelta(0)
    if waited >= OVERDUE_AFTER:
        return "overdue"
    return "late" if waited >= LATE_AFTER else ""


def held_accounts(now: dt.datetime) -> list[CarrierAccount]:
    """Accounts that the carrier stopped or an operator paused. There is one account, or a few over the years."""
    return [account for account in CarrierAccount.objects.order_by("pk") if _held_since(account, now)]


def _held_since(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    pauses = (account.pause_of(what, now) for what in PAUSABLE)
    since = [account.stopped_at, account.replays_off_at, *(pause.since for pause in pauses if pause)]
    return min((at for at in since if at), default=None)


def _accounts(now: dt.datetime) -> list[Queue]:
    """One query: there is one account, or a few over the years."""
    accounts = list(CarrierAccount.objects.all())
    held = [at for account in accounts if (at := _held_since(account, now))]
    faults = [at for account in accounts if (at := account.fault_at) and at >= now - FAULT_COUNTS]
    return [
        made(
            "Carrier account stopped or paused",
            {"n": len(held), "oldest": min(held, default=None)},
            "Read on its page what does not leave and why. Resume a pause; after a stop, Ask the carrier again now.",
            "orders_carrieraccount",
            "?held=yes",
        ),
        made(
            "Refused for a fault of ours",
            {"n": len(faults), "oldest": min(faults, default=None)},
            "Read the carrier's words on the account's page; put the settings or the contract file right.",
            "orders_carrieraccount",
            "?held=fault",
        ),
    ]


def at_fault(now: dt.datetime) -> Q:
    """Accounts whose requests the carrier refused lately for a fault of ours, such as a missing partner id."""
    return Q(fault_at__gte=now - FAULT_COUNTS)


def _spending(now: dt.datetime) -> list[Queue]:
    """One query: there is a row a day."""
    rules = {name: rule(now) for name, (_, rule, _) in SPENDING_RULES.items()}
    counts = {f"n_{name}": Count("pk", filter=rule) for name, rule in rules.items()}
    since = {
        "room": Min("refused_at", filter=rules["room"]),
        "recount": Min("mended_at", filter=rules["recount"]),
    }
    lately = DailySpend.objects.filter(day__gte=(now - dt.timedelta(days=8)).date())
    found = lately.aggregate(**counts, **{f"oldest_{name}": oldest for name, oldest in since.items()})
    return [
        made(
            title,
            {"n": found[f"n_{name}"], "oldest": found[f"oldest_{name}"]},
            next_step,
            "orders_dailyspend",
            f"?needs={name}",
        )
        for name, (title, _, next_step) in SPENDING_RULES.items()
    ]


def waiting(now: dt.datetime) -> list[Queue]:
    """Every queue, empty ones too, in the order in which they cost money; then those of the reports."""
    return [
        *_orders(now),
        *_accounts(now),
        *_spending(now),
        made(
            "Accounts waiting for approval",
            Sender.objects.filter(WAITS_FOR_APPROVAL).aggregate(n=Count("pk"), oldest=Min("created_at")),
            "Look at who it is and what it sends, then press Approve or Decline; its people wait for it.",
            "accounts_sender",
            "?bookings=waiting",
        ),
        made(
            "Dead letters",
            DeadLetter.objects.aggregate(n=Count("pk"), oldest=Min("parked_at")),
            "It failed five times in a row. Read the error; once its cause is gone, press Try again.",
            "jobs_deadletter",
        ),
        made(
            "Prices we can't read",
            CarrierCall.objects.filter(not_read_in_full(now)).aggregate(n=Count("pk"), oldest=Min("at")),
            "Senders miss these services. carrier_contract --probe names what it can't read; mend the contract file.",
            "orders_carriercall",
            "?needs=reading",
        ),
        made(
            "Labels not fetched",
            Label.objects.filter(label_missing()).aggregate(n=Count("pk"), oldest=Min("order__booked_at")),
            "The parcel is booked and the sender cannot print. Press Fetch again, or ask the carrier for the file.",
            "orders_label",
            "?needs=fetching",
        ),
        made(
            "Scans for unknown references",
            Parcel.objects.filter(unmatched()).aggregate(n=Count("pk"), oldest=Min("created_at")),
            "Compare with unconfirmed bookings: an unknown reference may be the answer to one.",
            "tracking_parcel",
            "?whose=nobody",
        ),
        made(
            "Webhooks that gave no scan",
            WebhookDelivery.objects.filter(unread(now)).aggregate(n=Count("pk"), oldest=Min("received_at")),
            "Read the reason. Once the contract file knows the form, open the list and press Read these again.",
            "tracking_webhookdelivery",
            "?needs=reading",
        ),
        made(
            "Carrier words nobody decided",
            EventWord.objects.filter(WORD_UNDECIDED).aggregate(n=Count("pk"), oldest=Min("first_seen_at")),
            "Say what each one means; the parcels concerned are folded again.",
            "tracking_eventword",
            "?is_known__exact=0",
        ),
        *money.waiting(now),
    ]


def _orders(now: dt.datetime) -> list[Queue]:
    """One query over the few rows that any rule can touch."""
    rules = {name: rule(now) for name, (_, rule) in ORDER_RULES.items() if name in NEXT_STEPS}
    counts = {f"n_{index}": Count("pk", filter=rule) for index, rule in enumerate(rules.values())}
    ages = {f"oldest_{index}": Min("since", filter=rule) for index, rule in enumerate(rules.values())}
    anything = Q()
    for rule in rules.values():
        anything |= rule
    found = Order.objects.filter(anything).annotate(since=_since()).aggregate(**counts, **ages)
    return [
        made(
            ORDER_RULES[name][0],
            {"n": found[f"n_{index}"], "oldest": found[f"oldest_{index}"]},
            NEXT_STEPS[name],
            "orders_order",
            f"?needs={name}",
            late=late(found[f"oldest_{index}"], now) if name in UNDECIDED else "",
        )
        for index, name in enumerate(rules)
    ]
