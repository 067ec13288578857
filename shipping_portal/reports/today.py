"""Today: what needs the sender, what is being handled, pickups, and what is on the way; each a view of the list."""

import datetime as dt
import functools
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, Count, F, Q, Value, When, Window
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders import printing
from orders.models import Order
from orders.models.statuses import Progress, Status
from orders.receivers import shown
from orders.status_labels import reason, status_label
from orders.system_views import BY_DRIVER, PICKUP_DAY, VIEWS, SenderScope
from shipping_portal.accounts.access import EVERY_MEMBER, SEE_MONEY, MemberRequest, audience
from shipping_portal.billing import statements
from shipping_portal.billing.models import week_of
from shipping_portal.importing import progress

MOST = 5  # rows of a group; the rest is one press away
NEEDS_YOU = (
    "not-booked",
    "not-cancelled",
    printing.TO_PRINT,
    "couldnt-collect",
    "delivery-problem",
    "used-after-cancelling",
)
HANDLED = ("driver-didnt-come", "checking")
ON_THE_WAY = ("on-the-way", "due-today", "late")
# One query brings the first rows of each; the few parcels that are in two stand in the first.
APART = ("used-after-cancelling", "not-booked", "not-cancelled", "couldnt-collect", "delivery-problem", "checking")
CLOSED = Q(used_after_cancel_at=None) & (
    Q(status=Status.BOOKED, progress=Progress.DELIVERED) | Q(status=Status.CANCELLED)
)


@dataclass
class Group:
    """A view with its count, which is the list's own, and its first rows."""

    slug: str
    count: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def words(self) -> str:
        return VIEWS[self.slug].words


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
    rows = _first_rows(scope)

    def group(slug: str) -> Group:
        return Group(slug, counts[slug], [_row(request, order, scope.now) for order in rows.get(slug, [])])

    delivered = scope.orders.filter(VIEWS["delivered"].where(scope), progress_at__isnull=False)
    last = [_row(request, order, scope.now) for order in delivered.order_by("-progress_at")[:MOST]]
    context = {
        "needs": [made for slug in NEEDS_YOU if (made := group(slug)).count],
        "handled": [made for slug in HANDLED if (made := group(slug)).count],
        "moving": [Group(slug, counts[slug]) for slug in ON_THE_WAY],
        "pickups": _pickups(scope),
        "to_fix": counts["to_fix"],
        "size_charges": size_charges.get("count", 0),
        "size_charges_week": size_charges.get("week", ""),
        "delivered": last,
        "is_first_day": not counts["open"] and not last,
        "day": scope.today,
        "now": scope.now,
        "state": state,
    }
    return render(request, "reports/today.html", context)


def _counts(scope: SenderScope) -> dict[str, int]:
    """Return how many parcels each view holds, in one look at what is neither delivered nor cancelled."""
    slugs = (*NEEDS_YOU, *HANDLED, *ON_THE_WAY)
    names = {slug: slug.replace("-", "_") for slug in slugs}
    by_view: dict[str, Any] = {
        names[slug]: Count("pk", filter=VIEWS[slug].where(scope)) for slug in slugs if slug not in HANDLED[:1]
    }
    found = scope.orders.exclude(CLOSED).aggregate(open=Count("pk"), **by_view)
    counts = {slug: found[name] for slug, name in names.items() if name in found}
    to_fix = progress.to_fix(scope.sender, scope.now)
    return counts | {HANDLED[0]: len(scope.missed), "open": found["open"], "to_fix": to_fix}


def _size_charges(request: MemberRequest, scope: SenderScope) -> dict[str, Any]:
    """Return those that came this week: how many the statement lists that has them, and its name.

    Only who sees money.
    """
    if request.membership.role not in SEE_MONEY:
        return {}
    midnight = dt.datetime.combine(week_of(scope.today), dt.time(), scope.sender.tzinfo)
    found = statements.new_size_charges(statements.lines_of(request.user, request.sender), midnight)
    return {"count": found["count"], "week": statements.week_name(found["week"])} if found else {}


def _first_rows(scope: SenderScope) -> dict[str, list[Order]]:
    """Return the newest few of each group; labels in printing order, missed pickups longest waiting first."""
    conditions = {slug: VIEWS[slug].where(scope) for slug in APART}
    wheres = [When(condition, then=Value(slug)) for slug, condition in conditions.items()]
    place = Window(RowNumber(), partition_by=[F("group")], order_by=[F("pk").desc()])
    theirs = scope.orders.exclude(CLOSED).filter(functools.reduce(Q.__or__, conditions.values()))
    numbered = theirs.select_related("account").annotate(group=Case(*wheres))
    rows: dict[str, list[Order]] = {}
    for order in numbered.annotate(place=place).filter(place__lte=MOST).order_by("place"):
        rows.setdefault(order.group, []).append(order)
    rows[printing.TO_PRINT] = list(printing.to_print(scope.orders, today=scope.today)[:MOST])
    rows[HANDLED[0]] = scope.missed[:MOST]
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
