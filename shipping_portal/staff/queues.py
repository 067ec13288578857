"""Define the operators' queues that join several apps, and collect all queues.

See adminkit/queues.py; queues of one app are in that app's queues.py.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import (
    Case,
    DateField,
    DateTimeField,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce

from orders import queues as of_orders
from orders.calling import carrier_settings
from orders.models import (
    BookingAttempt,
    CancelAttempt,
    CarrierAccount,
    CarrierCall,
    DailySpend,
    Label,
    Order,
    OrderChange,
)
from orders.models.account import FAULT_COUNTS, PAUSABLE, Pause
from orders.models.restores import GAP_IS_OPEN
from orders.models.statuses import BEING_CANCELLED, UNCLEAR_BOOKING, Progress, Status
from shipping_portal.accounts.address.places import day_at
from shipping_portal.accounts.adminkit.queues import (
    AT_ONCE,
    DAY,
    NOW,
    WEEK,
    OneRule,
    Queue,
    Wait,
    counted,
    counted_together,
    one_rule_queues,
    queue,
)
from shipping_portal.accounts.models import Sender
from shipping_portal.billing import queues as of_billing
from shipping_portal.billing.charges import reconciling
from shipping_portal.carrier.messages import Party
from shipping_portal.db.keyset import MOST_LISTED
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.staff.carrier import carrier_accounts
from shipping_portal.staff.models import SenderMail
from tracking import polling
from tracking import queues as of_tracking
from tracking.models import EventWord, Parcel, WebhookDelivery

EASTERNMOST = dt.timedelta(hours=14)  # in UTC, where a day begins and ends first
STUCK_AFTER = dt.timedelta(minutes=10)
REFUND_TAKES = dt.timedelta(days=30)
UNCLEAR_TERM = dt.timedelta(hours=2)


def unconfirmed_long(now: dt.datetime) -> Q:
    """Match unclear bookings older than ten minutes, which the first repeats didn't resolve."""
    fresh = Order.objects.filter(attempts__state="unknown", attempts__sent_at__gt=now - STUCK_AFTER)
    return Q(status=Status.UNCONFIRMED) & ~Q(pk__in=fresh.values("pk"))


def cancel_stuck(now: dt.datetime) -> Q:
    """Match cancellations that were given up, or had no outcome within ten minutes."""
    late_cancels = Order.objects.filter(
        cancels__state__in=["wanted", "in_flight", "unknown"],
        cancels__asked_at__lte=now - STUCK_AFTER,
    )
    late = Q(
        status__in=[Status.CANCELLING, Status.CANCEL_UNCONFIRMED], pk__in=late_cancels.values("pk")
    )
    return late | Q(status=Status.CANCEL_UNCONFIRMED, due_at=None)


def refund_late(now: dt.datetime) -> Q:
    """Match cancellations that the carrier hasn't decided for a month."""
    old = CancelAttempt.objects.filter(
        state__in=CancelAttempt.LIVE, asked_at__lte=now - REFUND_TAKES
    )
    return Q(status=Status.CANCEL_ASKED, due_at__isnull=False, pk__in=old.values("order"))


def missed_twice(now: dt.datetime) -> Q:
    """Match pickups missed twice by each sender's calendar, as shown on their pages.

    It reads recent orders without scans, longest waiting first. After 45 days polling gives up on
    them too (the label wasn't used), and they leave this list.
    """
    two_days_ago = (now + EASTERNMOST).date() - dt.timedelta(days=2)
    is_over = Q(carrier_pickup_date__lte=two_days_ago) | Q(carrier_pickup_date=None)
    silent = Order.objects.filter(polling.unscanned_pickups(now) & is_over).only(
        *Order.PICKED_UP_BY
    )
    found = silent.order_by("carrier_pickup_date", "pk")[:MOST_LISTED]
    return Q(pk__in=[order.pk for order in found if order.missed_twice(now)])


def _duplicate_bookings(now: dt.datetime) -> QuerySet[BookingAttempt, int]:
    """Return the keys of at most MOST_LISTED orders, longest waiting first."""
    waiting = BookingAttempt.objects.filter(duplicate_booking_at__isnull=False)
    return waiting.order_by("duplicate_booking_at").values_list("order_id", flat=True)[:MOST_LISTED]


def duplicate_booking(now: dt.datetime) -> Q:
    """Match orders with a possible second carrier order.

    See orders/booking/duplicate_bookings.py.
    """
    return Q(pk__in=list(_duplicate_bookings(now)))


def futile_pickups(now: dt.datetime) -> Q:
    """Match futile pickups whose sender has no link to move them (interface §3 rules 3, 4).

    The carrier's next day counts by the calendar at the pickup address. Longest waiting first.
    """
    linked = [
        configured.fingerprint
        for configured in carrier_settings.all_settings()
        if configured.has_parcel_tools
    ]
    futile = Order.objects.filter(status=Status.BOOKED, progress=Progress.PICKUP_FUTILE)
    by_us = futile.exclude(account__fingerprint__in=linked).only(
        "pickup", "progress_at", "carrier_pickup_date"
    )
    found = by_us.order_by(F("carrier_pickup_date").asc(nulls_first=True), "pk")[:MOST_LISTED]
    return Q(pk__in=[order.pk for order in found if not _has_later_day(order)])


def _has_later_day(order: Order) -> bool:
    """Return whether the carrier's pickup day is after the day of the futile pickup."""
    day, failed_at = order.carrier_pickup_date, order.progress_at
    return bool(day and failed_at and day > day_at(Party(**order.pickup), failed_at))


def _on_unlisted_accounts(now: dt.datetime) -> QuerySet[Order, int]:
    found = carrier_accounts.open_orders(carrier_accounts.unreachable_accounts(), now)
    return found.values_list("pk", flat=True)[:MOST_LISTED]


def left_behind(now: dt.datetime) -> Q:
    """Match orders still open on accounts without a key, at most MOST_LISTED."""
    return Q(pk__in=list(_on_unlisted_accounts(now)))


def refused_lately(now: dt.datetime) -> Q:
    """Match orders rejected in the last day. Some may be a day older, from earlier attempts."""
    since = OrderChange.objects.filter(new=Status.REJECTED, at__gte=now - dt.timedelta(days=1))
    return Q(status=Status.REJECTED, pk__in=since.values("order"))


def at_fault(now: dt.datetime) -> Q:
    """Match accounts with recent rejections for faults in our setup.

    An example is a missing partner id.
    """
    return Q(fault_at__gte=now - FAULT_COUNTS)


def used_after_cancelling(now: dt.datetime) -> Q:
    """Match labels used after cancelling, until the sender is emailed about it or erased."""
    emailed = SenderMail.objects.filter(about=SenderMail.About.USED).values("order")
    erased = Sender.objects.filter(erased_at__isnull=False).values("pk")
    used = Q(used_after_cancel_at__gte=now - dt.timedelta(days=30))
    return used & ~Q(pk__in=emailed) & ~Q(sender__in=erased)


ORDERS = {
    "unconfirmed": Wait(
        "Booking outcome unknown",
        Q(status=Status.UNCONFIRMED),
        "Open the oldest and press Resolve. Adopt its reference, resolve it as not booked or keep"
        " waiting.",
        "since",
        term=UNCLEAR_TERM,
    ),
    "unconfirmed-long": Wait("Outcome unknown for over 10 minutes", unconfirmed_long),
    "conflict": Wait(
        "Conflicting answers",
        Q(status=Status.CONFLICT),
        "Open it, press Resolve and compare the answers. Ask the carrier which one is right.",
        "since",
        term=AT_ONCE,
    ),
    "second-order": Wait(
        "Second carrier order",
        duplicate_booking,
        "The carrier may charge for both. Open it and ask the carrier to void the unused one.",
        "second_at",
    ),
    "refused": Wait(
        "Refused in the last 24 hours",
        refused_lately,
        "Read the carrier's reason. Many alike suggest a problem with our settings or the contract"
        " file.",
        "since",
    ),
    "cancel-stuck": Wait(
        "Cancellation stuck",
        cancel_stuck,
        "Ask the carrier whether it's cancelled, then open it and record the answer.",
        "since",
        term=dt.timedelta(hours=4),
    ),
    "refund-late": Wait(
        "Refund not decided for 30 days",
        refund_late,
        "Ask the carrier whether it gives the money back, then open it and record the answer.",
        "since",
        term=REFUND_TAKES + WEEK,
    ),
    "futile": Wait(
        "Futile pickup: arrange a new day",
        futile_pickups,
        "Ask the carrier for another pickup day and tell the sender to keep the label. Don't"
        " cancel it.",
        "progress_at",
    ),
    "left-behind": Wait(
        "Open orders on an unlisted carrier account",
        left_behind,
        "They can't be checked. Add the account to OLDER_CARRIERS, with its settings and key, and"
        " restart.",
        "since",
        term=dt.timedelta(hours=1),
    ),
    "missed-twice": Wait(
        "Two missed pickups",
        missed_twice,
        "Ask the carrier about the driver and whether a refund is due. Don't cancel it.",
        "missed_at",
    ),
    "used-after-cancel": Wait(
        "Label used after cancelling",
        used_after_cancelling,
        "The carrier will charge for it. Open it, press Email the sender and start from “The label"
        " was used after cancelling”.",
        "used_after_cancel_at",
        term=WEEK,
    ),
}
# These are counted as queues of a single rule. As one condition of several in a count, each would
# be read separately first.
COUNTED_APART = {"second-order": _duplicate_bookings, "left-behind": _on_unlisted_accounts}
SENDERS = {
    "waiting": Wait(
        "Accounts waiting for approval",
        Q(approved_at=None, suspended_at=None),  # exactly as in the index
        "Check the business and what it sends, then press Approve or Decline. Its people are"
        " waiting.",
    )
}
DEAD_LETTERS = {
    "": Wait(
        "Dead letters",
        Q(),
        "Failed five times in a row. Read the error, fix its cause, then press Try again.",
        "parked_at",
        term=dt.timedelta(hours=1),
    )
}
STOPPED = Wait(
    "Carrier account stopped",
    Q(stopped_at__isnull=False),
    "The carrier refuses the account, so bookings wait. Its page says why. Sort it out with the"
    " carrier, then press Ask the carrier again now.",
    "stopped_at",
    term=NOW,
)
HELD = Wait(
    "Carrier account paused",
    Q(),
    "Its page shows what is held up and why. Once that is over, press Resume, or Allow repeats"
    " again.",
    term=AT_ONCE,
)
AT_FAULT = Wait(
    "Refused: our setup",
    Q(),
    "Read the carrier's reason on the account's page, fix the settings or the contract file, then"
    " press The fault is corrected.",
    "fault_since",
    term=AT_ONCE,
)


def waiting_queues(
    now: dt.datetime,
    *,
    accounts: Sequence[CarrierAccount] | None = None,
    others: Sequence[OneRule] = (),
) -> list[Queue]:
    """Return every queue, even empty ones, in the order of their cost, then those of reports.

    `accounts` are all carrier accounts, if they were read already; `others` are counted with them.
    """
    every = CarrierAccount.objects.all() if accounts is None else accounts
    orders = Order.objects.annotate(**_ages())
    together = {name: wait for name, wait in ORDERS.items() if name not in COUNTED_APART}
    apart = [
        OneRule(orders, name, ORDERS[name], "?needs={}", keys)
        for name, keys in COUNTED_APART.items()
    ]
    of_reports = [*of_billing.report_queues(), *of_billing.other_queues()]
    found = counted_together([*apart, *_one_rule_queues(now), *of_reports, *others], now)
    of_orders = [*counted(orders, together, now), *found[: len(apart)]]
    place = [f"order-{name}" for name in ORDERS].index
    return [
        *sorted(of_orders, key=lambda queue: place(queue.name)),
        *_account_queues(every, now),
        *found[len(apart) :],
    ]


def own_cases(operator: Any) -> OneRule:
    """Return this operator's cases, to be counted with the queues."""
    orders = Order.objects.filter(assignment__operator=operator.pk)
    return OneRule(orders, "mine", Wait("My cases", Q(), since="assignment__at"), "?case={}")


def _one_rule_queues(now: dt.datetime) -> list[OneRule]:
    return [
        *one_rule_queues(DailySpend.objects.filter(day__gte=_weeks_ago(now)), of_orders.SPENDING),
        *one_rule_queues(Sender.objects.all(), SENDERS, query="?bookings={}"),
        *one_rule_queues(DeadLetter.objects.all(), DEAD_LETTERS, query=""),
        *one_rule_queues(CarrierCall.objects.all(), of_orders.CALLS),
        *one_rule_queues(Label.objects.all(), of_orders.LABELS),
        *one_rule_queues(Parcel.objects.all(), of_tracking.PARCELS, query="?whose={}"),
        *one_rule_queues(WebhookDelivery.objects.all(), of_tracking.DELIVERIES),
        *one_rule_queues(EventWord.objects.all(), of_tracking.WORDS, query="?is_known__exact={}"),
    ]


def _weeks_ago(now: dt.datetime) -> dt.date:
    """Return the earliest limit day to check, so that days already over somewhere are included."""
    return (now - dt.timedelta(days=15)).date()


def with_age(orders: QuerySet[Order], wait: Wait) -> QuerySet[Order]:
    """Return the orders with the column that their age in this queue is counted from."""
    age = (_ages() | reconciling.shown_at()).get(wait.since)
    return orders.annotate(**{wait.since: age}) if age else orders


def _ages() -> dict[str, Any]:
    second = BookingAttempt.objects.filter(order=OuterRef("pk")).values("order")
    return {
        "since": _undecided_since(),
        "second_at": Subquery(second.values_list(Min("duplicate_booking_at"))),
        "missed_at": _missed_since(),
    }


def _missed_since() -> Combinable:
    """Return the start, in UTC, of the day after two business days, ignoring holidays."""
    next_day = Cast(F("booked_at") + DAY, DateField())
    day = Coalesce("carrier_pickup_date", "pickup_date", "quoted_pickup_date", next_day)
    on_friday = When(carrier_pickup_date__week_day=6, then=Value(4 * DAY))
    return Cast(day, DateTimeField()) + Case(on_friday, default=Value(2 * DAY))


def _undecided_since() -> Coalesce:
    """Return when an order became unclear, was to be cancelled or was refused, or else was made."""
    groups = ({*UNCLEAR_BOOKING}, BEING_CANCELLED, {Status.REJECTED})
    return Coalesce(Case(*map(_came_into, groups)), F("created_at"))


def _came_into(statuses: set[Status]) -> When:
    """Return the time of the last change into one of these statuses from any other."""
    group = sorted(statuses)
    came = OrderChange.objects.filter(order=OuterRef("pk"), new__in=group).exclude(old__in=group)
    return When(status__in=group, then=Subquery(came.order_by("-pk").values("at")[:1]))


def held_accounts(now: dt.datetime) -> list[CarrierAccount]:
    """Return the few accounts that an operator paused, or that have repeats turned off."""
    return [account for account in CarrierAccount.objects.order_by("pk") if _is_held(account, now)]


def _is_held(account: CarrierAccount, now: dt.datetime) -> bool:
    return bool(account.replays_off_at or _pauses(account, now))


def _pauses(account: CarrierAccount, now: dt.datetime) -> list[Pause]:
    return [pause for what in PAUSABLE if (pause := account.pause_of(what, now))]


def _held_since(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    """Return since what time the account needs a person, or None if it doesn't.

    A pause with an end time ends by itself. A restore's pause ends when its gap, which has its own
    alert, is closed.
    """
    since = [
        pause.since
        for pause in _pauses(account, now)
        if pause.ends_at is None and pause.text != GAP_IS_OPEN
    ]
    return min(filter(None, [account.replays_off_at, *since]), default=None)


def _account_queues(accounts: Iterable[CarrierAccount], now: dt.datetime) -> list[Queue]:
    """Return the queues of the few carrier accounts."""
    held = [account for account in accounts if _is_held(account, now)]
    waits = [at for account in held if (at := _held_since(account, now))]
    faulty = [
        account
        for account in accounts
        if account.fault_at and account.fault_at >= now - FAULT_COUNTS
    ]
    faults = [at for account in faulty if (at := account.fault_since or account.fault_at)]
    stops = [account.stopped_at for account in accounts if account.stopped_at]
    rows = CarrierAccount.objects.all()
    return [
        queue(rows, "stopped", STOPPED, len(stops), min(stops, default=None), now, "?held=stopped"),
        queue(rows, "held", HELD, len(held), min(waits, default=None), now, "?held=yes"),
        queue(rows, "fault", AT_FAULT, len(faults), min(faults, default=None), now, "?held=fault"),
    ]
