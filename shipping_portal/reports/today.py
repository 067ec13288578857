"""Show Today: parcels that need the sender, are in progress, await pickup, or are on the way.

Each group is a view of the list of parcels.
"""

import datetime as dt
import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.fields.json import KT
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.calling.contract import another_day
from orders.drafting import drafts
from orders.drafting.receivers import shown_receiver
from orders.labels import printing
from orders.list.system_views import NO_RETURN, VIEWS, SenderScope
from orders.models import Draft, Order
from orders.models.order import OPEN
from orders.models.statuses import Progress
from orders.status.status_labels import HAS_REASON, reason_to_look, status_label
from orders.status.status_sentences import next_driver_day
from shipping_portal.accounts.access import (
    BOOKERS,
    EVERY_MEMBER,
    SEE_MONEY,
    MemberRequest,
    audience,
)
from shipping_portal.accounts.formatting import local_date, local_word, money
from shipping_portal.billing.models import WeekSum, week_of
from shipping_portal.billing.pages import statements
from shipping_portal.db.keyset import count_together
from shipping_portal.importing import progress
from shipping_portal.reports.figures import FEWEST, whole_percent
from shipping_portal.reports.promises import count_kept
from shipping_portal.reports.tiles import Tile, compare_amounts

Row = dict[str, Any]  # a line of a template's table

MOST = 5  # lines per kind of trouble, and due parcels; the rest are one press away
NAMED = 3  # parcels named in a line
MISSED_TWICE = ". Missed twice, so this may qualify for a refund; we've passed it to support"
MOST_ROWS = 90  # read for the lines
DAYS = 14  # of the line next to the number delivered
# Worst first.
NEEDS_YOU = (
    "not-booked",
    "not-cancelled",
    "couldnt-collect",
    "delivery-problem",
    "used-after-cancelling",
)
HANDLED = ("driver-didnt-come", "checking", "refund-asked")
# named after each parcel's status, not the view
BY_STATUS = ("not-booked", "delivery-problem", "checking")
ON_THE_WAY = ("on-the-way", "due-today", "late")
LANES = {
    "waiting-for-pickup": "check",
    "picked-up": "box",
    "in-transit": "truck",
    "out-for-delivery": "pin",
}
DELIVERED = "delivered-lately"
STEPS = {
    Progress.COLLECTED: 2,
    Progress.DROPPED_OFF: 2,
    Progress.IN_TRANSIT: 3,
    Progress.OUT_FOR_DELIVERY: 4,
}
FUTILE = "couldnt-collect"
ADVICE = {
    FUTILE: "Have {it} ready, then {another_day}. Don't cancel.",
    "not-cancelled": "{they_are} still booked, and {labels_are} good.",
    "checking": (
        "We don't know yet what the carrier did. Don't book again; the answer will be on its page."
    ),
    "driver-didnt-come": "The label stays on. Don't cancel.",
    "refund-asked": "The money is pending. Don't use {labels}.",
}
# One query returns each view's first rows. A parcel in two views is shown in the first one.
APART = (
    "used-after-cancelling",
    "not-booked",
    "not-cancelled",
    "couldnt-collect",
    "delivery-problem",
    "checking",
    "refund-asked",
)


DUE = "due"  # today or earlier
DROP_OFFS = "drop_offs_to_print"


@dataclass
class NeedsLine:
    """Parcels in a view that wait for the same reason: how many, and the newest few.

    A line such as "12 more" names none.
    """

    slug: str
    words: str
    count: int
    rows: list[Row] = field(default_factory=list)

    @property
    def first(self) -> Row | None:
        return self.rows[0] if self.rows else None

    @property
    def more(self) -> int:
        return self.count - len(self.rows)

    @property
    def advice(self) -> str:
        """What to do or not to do about these parcels, if the line names any."""
        it = self.count == 1
        return ADVICE.get(self.slug, "").format(
            it="it" if it else "them",
            they_are="It's" if it else "They're",
            labels_are="its label is" if it else "their labels are",
            labels="its label" if it else "their labels",
            another_day=(
                another_day(account=self.rows[0]["order"].account) if self.slug == FUTILE else ""
            ),
        )


@audience(EVERY_MEMBER)
@require_GET
def today(request: MemberRequest) -> HttpResponse:
    """Show Today, with the same number of queries however much there is to do.

    With `seen`, answer 204 if nothing has changed since then.
    """
    scope = SenderScope.of(request.user, request.sender, timezone.now())
    counts, sums = _count_views(scope), _week_sums(request, scope)
    size_charges = statements.new_size_charges(sums)
    state = "-".join(str(count) for count in (*counts.values(), size_charges.get("count", 0)))
    if "seen" in request.GET:
        return HttpResponse(status=204 if request.GET["seen"] == state else 200)
    first, half_typed = _first_rows(scope), _list_drafts(request)
    lines = _view_lines(request, scope, counts, [row for row in first if row[1] != DUE])
    needs = [line for slug in NEEDS_YOU for line in lines[slug]]
    to_fix = counts["to_fix"] if request.membership.role in BOOKERS else 0
    pickups, deliveries = _days(scope)
    things = len(needs) + bool(to_fix) + bool(size_charges) + bool(half_typed)
    context = {
        "needs": needs,
        "handled": [line for slug in HANDLED for line in lines[slug]],
        "things": things,
        "headline": _headline(request, things, pickups, scope.today),
        "counts": {slug.replace("-", "_"): count for slug, count in counts.items()},
        "unprinted": counts[printing.TO_PRINT],
        "lanes": [(slug, VIEWS[slug].words, icon, counts[slug]) for slug, icon in LANES.items()],
        "pickups": pickups,
        "pickups_to_print": counts[printing.TO_PRINT] - counts[DROP_OFFS],
        "due": _due_parcels(request, scope, (order for order, slug, *_ in first if slug == DUE)),
        "to_fix": to_fix,
        "size_charges": size_charges,
        "spent": _week_spend(sums, scope),
        "deliveries": deliveries,
        "drafts": half_typed,
        "is_first_day": not (counts["open"] or half_typed or to_fix or scope.orders.exists()),
        "day": scope.today,
        "now": scope.now,
        "state": state,
    }
    return render(request, "reports/today.html", context)


def _count_views(scope: SenderScope) -> dict[str, int]:
    """Return how many parcels each view has and how many rows need fixing, in one query.

    All except delivered are counted from the index of open orders.
    """
    slugs = (printing.TO_PRINT, *NEEDS_YOU, *HANDLED[1:], *ON_THE_WAY, *LANES)
    by_view: dict[str, Any] = {slug: Count("pk", filter=VIEWS[slug].where(scope)) for slug in slugs}
    # The cheap condition comes first, because the other one looks for a label.
    unprinted = Q(first_mile="drop-off") & VIEWS[printing.TO_PRINT].where(scope)
    by_view |= {"open": Count("pk"), DROP_OFFS: Count("pk", filter=unprinted)}
    found = count_together(
        (scope.orders.filter(OPEN), by_view),
        (scope.orders.filter(VIEWS[DELIVERED].where(scope)), {DELIVERED: Count("pk")}),
        (progress.to_fix(scope.sender, scope.now), {"to_fix": Count("pk")}),
    )
    return found | {HANDLED[0]: len(scope.missed)}


def _week_sums(request: MemberRequest, scope: SenderScope) -> list[WeekSum]:
    """Return the recent weeks' totals, newest first. Only for users who see money."""
    if request.membership.role not in SEE_MONEY:
        return []
    return statements.recent_sums(request.user, request.sender, week_of(scope.today))


def _week_spend(sums: list[WeekSum], scope: SenderScope) -> dict[str, Any] | None:
    """Return this or last week's charges next to the weeks before."""
    rows = [(row.week, row.currency, row.amount) for row in sums if not row.kind]
    if not rows or rows[0][0] < week_of(scope.today) - dt.timedelta(weeks=1) or rows[0][2] <= 0:
        return None
    week, currency, net = rows[0]
    nets = [amount for _, unit, amount in reversed(rows) if unit == currency]
    before = nets[-2] if len(nets) > 1 else Decimal(0)
    tile = Tile("Spent", money(net, currency), nets, *compare_amounts(net, before, currency))
    return {"week": week, "name": statements.week_name(week), "tile": tile}


def _days(scope: SenderScope) -> tuple[list[dict[str, Any]], Tile]:
    """Return the next pickups, and the deliveries of the days before today, in one query.

    The tile also says how many of the last week's deliveries were on time.
    """
    since, none = scope.today - dt.timedelta(days=DAYS), Value(0)
    coming = (
        scope.pickups.filter(day__gte=scope.today)
        .order_by()
        .values("day")
        .annotate(
            count=Count("pk"),
            printed=Count("pk", filter=Q(printed_at__isnull=False)),
            promises=Value(None, JSONField()),
        )
    )
    kept = scope.sender.day_figures.filter(day__gte=since).values("day")
    over = kept.annotate(count=none, printed=none, promises=F("figures__promises"))
    # `over` comes first, because Django reads all rows in the way it reads the first part's.
    rows: list[Any] = list(over.union(coming, all=True).order_by("day"))
    found = {row["day"]: row["promises"] for row in rows}
    days: list[Counter[str]] = [
        Counter(found.get(since + dt.timedelta(days=number))) for number in range(DAYS)
    ]
    good, dated = count_kept(sum(days[-7:], Counter()))
    share = f"{whole_percent(good, dated)} on time" if dated >= FEWEST else ""
    values = [Decimal(day.total()) for day in days]
    pickups = [row for row in rows if row["count"]]
    return pickups[:2], Tile("Delivered", "", values if any(values) else [], rest=share)


def _list_drafts(request: MemberRequest) -> list[Draft]:
    """Return the drafts, at most drafts.MOST. Only for users who book."""
    return list(drafts.listed(request.user)) if request.membership.role in BOOKERS else []


def _view_lines(
    request: MemberRequest,
    scope: SenderScope,
    counts: dict[str, int],
    first: list[tuple[Order, str, int, int]],
) -> dict[str, list[NeedsLine]]:
    """Return each view's parcels by reason, most frequent first, then how many more there are."""
    found: dict[tuple[str, str, str], NeedsLine] = {}
    for order, slug, place, alike in first:
        row = _parcel_row(request, order, scope.now)
        words = row["status_label"][1] if slug in BY_STATUS else VIEWS[slug].words
        line = found.setdefault((slug, words, row["reason"]), NeedsLine(slug, words, 0))
        line.count += alike if place == 1 else 0
        line.rows.append(row)
    missed = [
        _parcel_row(request, order, scope.now) | {"next_driver": _next_driver(order, scope.now)}
        for order in scope.missed[:NAMED]
    ]
    lines: dict[str, list[NeedsLine]] = {slug: [] for slug in (*NEEDS_YOU, *HANDLED)}
    if missed:
        slug = HANDLED[0]
        lines[slug].append(NeedsLine(slug, VIEWS[slug].words, len(scope.missed), missed))
    for line in sorted(found.values(), key=lambda line: -line.count):
        line.rows = line.rows[:NAMED]
        lines[line.slug].append(line)
    for slug, of_view in lines.items():
        del of_view[MOST:]
        if rest := counts[slug] - sum(line.count for line in of_view):
            of_view.append(NeedsLine(slug, VIEWS[slug].words, rest))
    return lines


def _first_rows(scope: SenderScope) -> list[tuple[Order, str, int, int]]:
    """Return the newest few of each view and reason, with view, position and group size.

    The few that are due or late come first, then the newest.
    """
    due = _due_orders(scope).values("pk")[:MOST]  # part of a union can't be limited
    no_place = (Value(DUE), Value(0), Value(0))
    every = _numbered_orders(scope).values_list("pk", "group", "place", "alike")
    every = every.union(Order.objects.filter(pk__in=due).values_list("pk", *no_place), all=True)
    first = list(every.order_by("place", "-pk")[: MOST_ROWS + MOST])
    orders = scope.orders.select_related("account").in_bulk([pk for pk, *_ in first])
    return [(orders[pk], group, place, alike) for pk, group, place, alike in first]


def _numbered_orders(scope: SenderScope) -> QuerySet[Any]:
    """Return the newest few orders of each view and reason.

    The index has everything but the reasons.
    """
    conditions = {slug: VIEWS[slug].where(scope) for slug in APART}
    wheres = [When(condition, then=Value(slug)) for slug, condition in conditions.items()]
    # Filtered by key, so that only rows whose reason is shown are read.
    text = Order.objects.filter(pk=OuterRef("pk")).values(text=KT("problem__text"))
    same = [F("group"), F("status"), F("progress"), F("is_return"), F("said")]
    found = scope.orders.filter(OPEN, functools.reduce(Q.__or__, conditions.values())).order_by()
    return found.annotate(
        group=Case(*wheres),
        is_return=~NO_RETURN,
        said=Case(When(HAS_REASON, then=Subquery(text))),
        place=Window(RowNumber(), partition_by=same, order_by=[F("pk").desc()]),
        alike=Window(Count("pk"), partition_by=same),
    ).filter(place__lte=NAMED)


def _due_orders(scope: SenderScope) -> QuerySet[Order]:
    """Return the orders due today or late, longest late first."""
    # The range is redundant: without it PostgreSQL reads every parcel on its way, due or not.
    due = scope.orders.filter(
        VIEWS["late"].where(scope) | VIEWS["due-today"].where(scope), eta_to__lte=scope.today
    )
    return due.order_by("eta_to", "pk")


def _due_parcels(request: MemberRequest, scope: SenderScope, orders: Iterable[Order]) -> list[Row]:
    """Return the parcels due today or late, longest late first, with days late and their step."""
    by_day = sorted(orders, key=lambda order: (order.eta_to, order.pk))
    rows = [_parcel_row(request, order, scope.now) for order in by_day]
    for row in rows:
        row["late"] = (scope.today - row["order"].eta_to).days
        row["step"] = STEPS[row["order"].progress]
        row["initials"] = "".join(word[0] for word in row["receiver"].name.split()[:2])
    return rows


def _parcel_row(request: MemberRequest, order: Order, now: dt.datetime) -> Row:
    # They share one instance of the row.
    order.sender = request.sender
    return {
        "order": order,
        "receiver": shown_receiver(order, request.membership.role),
        "status_label": status_label(order, now),
        "reason": reason_to_look(order),
    }


def _next_driver(order: Order, now: dt.datetime) -> str:
    """Return the text after the name of a parcel whose driver didn't come."""
    refund = MISSED_TWICE if order.missed_twice(now) else ""
    return (
        f": another driver is booked for {next_driver_day(order, order.progress_at, now)}{refund}"
    )


def _headline(request: MemberRequest, things: int, pickups: list[Row], today: dt.date) -> str:
    """Return how much waits for the sender, and when a driver comes next."""
    needs = "Nothing needs you right now."
    if things:
        needs = f"{things} thing{'' if things == 1 else 's'} need{'s' if things == 1 else ''} you."
    if not pickups:
        return needs
    pickup, sender = pickups[0], request.sender
    day = "The driver comes today"
    if pickup["day"] != today:
        day = f"The next driver comes on {local_date(pickup['day'], sender)}"
    parcels = local_word("parcel" if pickup["count"] == 1 else "parcels", sender.country)
    return f"{needs} {day} for {pickup['count']:,} {parcels}."
