"""Billing: the weeks, one week line by line or as a spreadsheet, and “This looks wrong”."""

import datetime as dt
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from orders.listing import clean_search
from shipping_portal import sheets
from shipping_portal.accounts.access import SEE_MONEY, MemberRequest, audience
from shipping_portal.billing import disputing, line_reasons, lines, statements
from shipping_portal.billing.models import Charge
from shipping_portal.keyset import Page


@audience(*SEE_MONEY)
@require_GET
def billing(request: MemberRequest) -> HttpResponse:
    """Show the weeks, newest first; each leads to its statement."""
    mine = statements.lines_of(request.user, request.sender)
    found = statements.week_rows(mine, before=statements.week_named(request.GET.get("before", "")))
    today, until = _today(request), statements.final_until()
    context = {
        "rows": [_week(row, request, today=today, until=until) for row in found.rows],
        "columns": {name: words for name, (words, _) in statements.COLUMNS.items()},
        "on": found.on,
        "is_paged": "before" in request.GET,
        "names_currency": len({row["currency"] for row in found.rows}) > 1,
    }
    return render(request, "billing/billing.html", context)


def _today(request: MemberRequest) -> dt.date:
    return timezone.now().astimezone(request.sender.tzinfo).date()


def _week(row: dict[str, Any], request: MemberRequest, *, today: dt.date, until: dt.date | None) -> dict[str, Any]:
    week = row["week"]
    return {
        **row,
        "name": statements.week_name(week),
        "words": statements.week_words(week, request.sender),
        "is_final": statements.is_final(week, until, today),
        "amounts": [(words, row[name]) for name, (words, _) in statements.COLUMNS.items()],
    }


def statement_of(request: MemberRequest, week: str) -> tuple[dt.date, statements.Statement]:
    """Return the statement of that week as the address asks for it; 404 for a week in which nothing was charged."""
    monday = statements.week_named(week)
    if monday is None:
        raise Http404
    whole = statements.lines_of(request.user, request.sender).filter(week=monday)
    kind = request.GET.get("kind", "")
    q = clean_search(request.GET.get("q", ""))
    found = statements.Statement(whole, kind if kind in statements.FILTERS else "", q)
    if not found.groups:
        raise Http404
    return monday, found


@audience(*SEE_MONEY)
@require_GET
def statement(request: MemberRequest, week: str) -> HttpResponse:
    """Show what was charged in one week and why; fifty lines a page, or with `all` as many as are read on paper."""
    monday, found = statement_of(request, week)
    is_whole = "all" in request.GET
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    if is_whole:
        page = Page(list(found.in_order()[: statements.ON_PAPER]), None, None)
    else:
        page = statements.LINES.page(found.in_order(), on=after, back=before)
    balances, role = found.balances, request.membership.role
    names_currency = len(balances) > 1
    context = {
        "week": week,
        "words": statements.week_words(monday, request.sender),
        "is_final": statements.is_final(monday, statements.final_until(), _today(request)),
        "statement": found,
        "balances": balances,
        "groups": lines.groups(found),
        "names_currency": names_currency,
        "rows": lines.rows(page.rows, request.sender, role, names_currency=names_currency),
        "filters": lines.filters(found),
        "page": page,
        "is_whole": is_whole,
        "count": sum(row["count"] for row in found.totals),
        "kind_words": statements.FILTERS[found.kind][0] if found.kind else "",
        "most": statements.ON_PAPER,
    }
    return render(request, "billing/statement.html", context)


@audience(*SEE_MONEY)
@require_GET
def statement_csv(request: MemberRequest, week: str) -> StreamingHttpResponse:
    """Show the lines of the statement as filtered, all of them, streamed."""
    _, found = statement_of(request, week)
    rows = lines.cells(found.in_order().iterator(chunk_size=500), request.sender, request.membership.role)
    return sheets.stream(f"statement-{week}.csv", list(lines.CELLS), rows)


LONGEST = 2000


@audience(*SEE_MONEY)
@require_http_methods(["GET", "POST"])
def charge_is_wrong(request: MemberRequest, charge: int) -> HttpResponse:
    """Show the facts and ask what is wrong; POST hands it over. A suspended sender may, too."""
    mine = statements.explained(statements.lines_of(request.user, request.sender))
    found = get_object_or_404(mine, pk=charge)
    may_dispute = lines.dispute_state(found, request.sender)["may_dispute"]
    if request.method == "GET" or not may_dispute:
        return _page(request, found, status=200 if request.method == "GET" else 409)
    text = _clean(request.POST.get("text", ""))
    if problem := _problem(text):
        return _page(request, found, problem=problem, status=422)
    try:
        disputing.open_for(found, by=request.user, text=text, now=timezone.now())
    except disputing.AlreadyOpen:
        messages.info(request, "It is with the operator already.")
    else:
        messages.success(request, "Sent to the operator. The answer will stand at the charge.")
    return redirect(line_reasons.page_of(found))


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable() or c == "\n").strip()


def _problem(text: str) -> str:
    if not text:
        return "Say what looks wrong."
    too_long = f"This has {len(text)} characters. Say it in {LONGEST} at most."
    return too_long if len(text) > LONGEST else ""


def _page(request: MemberRequest, charge: Charge, *, status: int, problem: str = "") -> HttpResponse:
    [row] = lines.rows([charge], request.sender, request.membership.role, names_currency=True)
    context = {
        **row,
        "row": row,
        "order": charge.order,
        "declared": line_reasons.declared_words(charge, request.sender),
        "measured": line_reasons.measured_words(charge, request.sender),
        "week": statements.week_name(charge.week),
        "back": line_reasons.page_of(charge),
        "problem": problem,
        "longest": LONGEST,
        "text": request.POST.get("text", ""),
    }
    return render(request, "billing/charge_is_wrong.html", context, status=status)
