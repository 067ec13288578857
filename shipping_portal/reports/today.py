"""Today: what needs the sender, what is being handled, pickups, and what is on the way; each a view of the list."""

import datetime as dt
import functools
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, Count, F, Q, Value, When, Window
from django.db.models.fields.json import KT
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.drafting import saved_drafts
from orders.drafting.receivers import shown
from orders.labels import printing
from orders.list.system_views import BY_DRIVER, PICKUP_DAY, VIEWS, SenderScope
from orders.models import Draft, Order
from orders.models.order import OPEN
from orders.models.statuses import Progress
from orders.status.status_labels import reason, status_label
from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, SEE_MONEY, MemberRequest, audience
from shipping_portal.billing.models import week_of
from shipping_portal.billing.pages import statements
from shipping_portal.importing import progress

MOST = 5  # lines of one kind of trouble, and parcels due; the rest is one press away
NAMED = 3  # parcels named in a line
MOST_ROWS = 90  # read for the lines
# Worst first.
NEEDS_YOU = ("not-booked", "not-cancelled", "couldnt-collect", "delivery-problem", "used-after-cancelling")
HANDLED = ("driver-didnt-come", "checking")
BY_STATUS = ("not-booked", "delivery-problem", "checking")  # called by where each parcel stands, not by the view
ON_THE_WAY = ("on-the-way", "due-today", "late")
LANES = {"waiting-for-pickup": "check", "picked-up": "box", "in-transit": "truck", "out-for-delivery": "pin"}
DELIVERED = "delivered-lately"
STEPS = {Progress.COLLECTED: 2, Progress.DROPPED_OFF: 2, Progress.IN_TRANSIT: 3, Progress.OUT_FOR_DELIVERY: 4}
# One query brings the first rows of each; the few parcels that are in two stand in the first.
APART = ("used-after-cancelling", "not-booked", "not-cancelled", "couldnt-collect", "delivery-problem", "checking")


@dataclass
class NeedsLine:
    """Parcels of a view that wait for the same reason: how many, and the newest few. None are named in "12 more"."""

    slug: str
    words: str
    count: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def first(self) -> dict[str, Any] | None:
        return self.rows[0] if self.rows else None

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@audience(*EVERY_MEMBER)
@require_GET
def today(request: MemberRequest) -> HttpResponse:
    """Show the first page of a member's day. It costs the same queries however much there is to do.

    Asked with `seen`, only whether anything is different since then: 204 while nothing is.
    """
    scope = SenderScope.of(request.user, request.sender, timezone.now())
    counts, size_charges = _counts(scope), _size_charges(request, scope)
    state = "-".join(str(count) for count in (*counts.values(), size_charges.get("count", 0)))
    if "seen" in request.GET:
        return HttpResponse(status=204 if request.GET["seen"] == state else 200)
    lines, drafts = _lines(request, scope, counts), _drafts(request)
    needs = [line for slug in NEEDS_YOU for line in lines[slug]]
    to_fix = counts["to_fix"] if request.membership.role in BOOKERS else 0
    context = {
        "needs": needs,
        "handled": [line for slug in HANDLED for line in lines[slug]],
        "things": len(needs) + bool(to_fix) + bool(size_charges) + bool(drafts),
        "counts": {slug.replace("-", "_"): count for slug, count in counts.items()},
        "unprinted": counts[printing.TO_PRINT],
        "lanes": [(slug, VIEWS[slug].words, icon, counts[slug]) for slug, icon in LANES.items()],
        "pickups": _pickups(scope),
        "due": _due(request, scope),
        "to_fix": to_fix,
        "size_charges": size_charges,
        "spent": _spent(request, scope),
        "drafts": drafts,
        "is_first_day": not (counts["open"] or drafts or to_fix or scope.orders.exists()),
        "day": scope.today,
        "now": scope.now,
        "state": state,
    }
    return render(request, "reports/today.html", context)


def _counts(scope: SenderScope) -> dict[str, int]:
    """Return how many parcels each view holds; all but the delivered in one look at what isn't over."""
    slugs = (printing.TO_PRINT, *NEEDS_YOU, HANDLED[1], *ON_THE_WAY, *LANES)
    by_view: dict[str, Any] = {slug.replace("-", "_"): Count("pk", filter=VIEWS[slug].where(scope)) for slug in slugs}
    found = scope.orders.filter(OPEN).aggregate(open=Count("pk"), **by_view)
    counts = {slug: found[slug.replace("-", "_")] for slug in slugs} | {"open": found["open"]}
    delivered = scope.orders.filter(VIEWS[DELIVERED].where(scope)).count()
    to_fix = progress.to_fix(scope.sender, scope.now)
    return counts | {HANDLED[0]: len(scope.missed), DELIVERED: delivered, "to_fix": to_fix}


def _size_charges(request: MemberRequest, scope: SenderScope) -> dict[str, Any]:
    """Return those that came this week: how many the statement lists that has them, and its name.

    Only who sees money.
    """
    if request.membership.role not in SEE_MONEY:
        return {}
    midnight = dt.datetime.combine(week_of(scope.today), dt.time(), scope.sender.tzinfo)
    found = statements.new_size_charges(statements.lines_of(request.user, request.sender), midnight)
    return {"count": found["count"], "week": statements.week_name(found["week"])} if found else {}


def _spent(request: MemberRequest, scope: SenderScope) -> dict[str, Any] | None:
    """Return what this week's charges, or last week's, come to, and the week. Only who sees money."""
    if request.membership.role not in SEE_MONEY:
        return None
    since = week_of(scope.today) - dt.timedelta(days=7)
    sums = (
        statements.sums_of(request.user, request.sender).filter(week__gte=since, kind="").order_by("-week", "currency")
    )
    found = sums.values("week", "currency", net=F("amount")).first()
    return {**found, "name": statements.week_name(found["week"])} if found and found["net"] > 0 else None


def _drafts(request: MemberRequest) -> list[Draft]:
    """Return the half-typed parcels; there are at most drafting.MOST. Only for who books."""
    return list(saved_drafts.of(request.user)) if request.membership.role in BOOKERS else []


def _lines(request: MemberRequest, scope: SenderScope, counts: dict[str, int]) -> dict[str, list[NeedsLine]]:
    """Return each view's parcels grouped by reason, the most frequent first, then how many more there are."""
    found: dict[tuple[str, str, str], NeedsLine] = {}
    for order, slug, place, alike in _first_rows(scope):
        row = _row(request, order, scope.now)
        words = row["status_label"][1] if slug in BY_STATUS else VIEWS[slug].words
        line = found.setdefault((slug, words, row["reason"]), NeedsLine(slug, words, 0))
        line.count += alike if place == 1 else 0
        line.rows.append(row)
    missed = [_row(request, order, scope.now) for order in scope.missed[:NAMED]]
    lines: dict[str, list[NeedsLine]] = {slug: [] for slug in (*NEEDS_YOU, *HANDLED)} | {
        HANDLED[0]: [NeedsLine(HANDLED[0], VIEWS[HANDLED[0]].words, len(scope.missed), missed)] if missed else []
    }
    for line in sorted(found.values(), key=lambda line: -line.count):
        line.rows = line.rows[:NAMED]
        lines[line.slug].append(line)
    for slug, of_view in lines.items():
        del of_view[MOST:]
        if rest := counts[slug] - sum(line.count for line in of_view):
            of_view.append(NeedsLine(slug, VIEWS[slug].words, rest))
    return lines


def _first_rows(scope: SenderScope) -> list[tuple[Order, str, int, int]]:
    """Return the newest few of each view and reason, each with its view, its place among those that are alike, and how
    many these are; the newest of all come first.
    """
    conditions = {slug: VIEWS[slug].where(scope) for slug in APART}
    wheres = [When(condition, then=Value(slug)) for slug, condition in conditions.items()]
    same = [F("group"), F("status"), F("progress"), F("said")]
    # The index itself says which these are, and a few columns how many are alike: a row is wide.
    theirs = scope.orders.filter(OPEN, functools.reduce(Q.__or__, conditions.values())).order_by().values("pk")
    grouped = Order.objects.filter(pk__in=theirs).annotate(group=Case(*wheres), said=KT("problem__text"))
    numbered = grouped.annotate(
        place=Window(RowNumber(), partition_by=same, order_by=[F("pk").desc()]),
        alike=Window(Count("pk"), partition_by=same),
    ).filter(place__lte=NAMED)
    first = list(numbered.order_by("place", "-pk").values_list("pk", "group", "place", "alike")[:MOST_ROWS])
    orders = scope.orders.select_related("account").in_bulk([pk for pk, *_ in first])
    return [(orders[pk], group, place, alike) for pk, group, place, alike in first]


def _due(request: MemberRequest, scope: SenderScope) -> list[dict[str, Any]]:
    """Return the parcels due today or late, longest late first, with the days late and their step of the journey."""
    # The range says nothing new: without it PostgreSQL reads every parcel on its way, due or not.
    due = scope.orders.filter(VIEWS["late"].where(scope) | VIEWS["due-today"].where(scope), eta_to__lte=scope.today)
    rows = [_row(request, order, scope.now) for order in due.order_by("eta_to", "pk")[:MOST]]
    for row in rows:
        row["late"] = (scope.today - row["order"].eta_to).days
        row["step"] = STEPS[row["order"].progress]
        row["initials"] = "".join(word[0] for word in row["receiver"].name.split()[:2])
    return rows


def _pickups(scope: SenderScope) -> list[dict[str, Any]]:
    """Return today's pickups and the next day's with a driver: how many parcels, and how many labels are printed."""
    theirs = scope.orders.filter(VIEWS["waiting-for-pickup"].where(scope), BY_DRIVER)
    waiting = theirs.annotate(day=PICKUP_DAY)
    days = waiting.filter(day__gte=scope.today).values("day")
    printed = Count("pk", filter=Q(printed_at__isnull=False))
    return [dict(row) for row in days.annotate(count=Count("pk"), printed=printed).order_by("day")[:2]]


def _row(request: MemberRequest, order: Order, now: dt.datetime) -> dict[str, Any]:
    order.sender = request.sender  # one row of the database for all of them
    return {
        "order": order,
        "receiver": shown(order, request.membership.role),
        "status_label": status_label(order, now),
        "reason": reason(order),
        "missed_twice": order.missed_twice(now),
    }
