"""Show billing: the weeks, one week line by line or as a spreadsheet, and “This looks wrong”."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.list.listing import clean_search
from orders.models import Order
from shipping_portal import sheets
from shipping_portal.accounts.access import SEE_MONEY, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.formatting import money
from shipping_portal.billing.disputes import disputing, photos
from shipping_portal.billing.disputes.forms import DisputeForm
from shipping_portal.billing.models import Charge, DisputePhoto
from shipping_portal.billing.pages import line_reasons, lines, paper, size_guard, statements
from shipping_portal.db.keyset import PAGE, Page, whole_number


@audience(SEE_MONEY)
@require_GET
def billing(request: MemberRequest) -> HttpResponse:
    """Show the weeks, newest first; each links to its statement."""
    sums = statements.sums_of(request.user, request.sender)
    found = statements.week_rows(sums, before=statements.week_named(request.GET.get("before", "")))
    today, until = _today(request), statements.final_until()
    used = [name for name in statements.COLUMNS if any(row[name] for row in found.rows)]
    context = {
        "rows": [
            {
                **_week(row, request, today=today, until=until),
                "amounts": [row[name] for name in used],
            }
            for row in found.rows
        ],
        "columns": [statements.COLUMNS[name][0] for name in used],
        "on": found.on,
        "is_paged": "before" in request.GET,
        "names_currency": len({row["currency"] for row in found.rows}) > 1,
        "pending": statements.pending_refunds(_orders_of(request)),
    }
    return render(request, "billing/billing.html", context)


def _orders_of(request: MemberRequest) -> QuerySet[Order]:
    return Order.objects.for_user(request.user).filter(sender=request.sender)


def _today(request: MemberRequest) -> dt.date:
    return request.sender.day_of(timezone.now())


def _week(
    row: dict[str, Any], request: MemberRequest, *, today: dt.date, until: dt.date | None
) -> dict[str, Any]:
    week = row["week"]
    return {
        **row,
        "name": statements.week_name(week),
        "words": statements.week_words(week, request.sender),
        "is_final": statements.is_final(week, until, today),
    }


def statement_of(request: MemberRequest, week: str) -> tuple[dt.date, statements.Statement]:
    """Return that week's statement, filtered by the query; 404 for a week without charges."""
    kind = request.GET.get("kind", "")
    q = clean_search(request.GET.get("q", ""))
    return _statement(request, week, kind if kind in statements.FILTERS else "", q)


def _statement(
    request: MemberRequest, week: str, kind: str = "", q: str = ""
) -> tuple[dt.date, statements.Statement]:
    monday = statements.week_named(week)
    if monday is None:
        raise Http404
    whole = statements.lines_of(request.user, request.sender).filter(week=monday)
    sums = statements.sums_of(request.user, request.sender).filter(week=monday)
    found = statements.Statement(whole, sums, kind, q)
    if not found.groups:
        raise Http404
    return monday, found


@audience(SEE_MONEY)
@require_GET
def statement(request: MemberRequest, week: str) -> HttpResponse:
    """Show one week's charges and reasons, fifty lines a page.

    With `all` it shows as many as a printout.
    """
    monday, found = statement_of(request, week)
    is_whole = "all" in request.GET
    back, after = request.GET.get("before", ""), request.GET.get("after", "")
    if is_whole:
        page = Page(list(found.in_order()[: statements.ON_PAPER]), None, None)
    else:
        page = statements.LINES.page(found.in_order(), on=after, back=back)
    balances, role = found.balances, request.membership.role
    names_currency = len(balances) > 1
    before = statements.net_before(statements.sums_of(request.user, request.sender), monday)
    context = {
        "week": week,
        "words": statements.week_words(monday, request.sender),
        "is_final": statements.is_final(monday, statements.final_until(), _today(request)),
        "statement": found,
        "totals": [(it, *_comparison(it, before)) for it in balances],
        "pending": _pending_of(request, found),
        "groups": lines.kind_groups(found),
        "names_currency": names_currency,
        "rows": lines.line_rows(page.rows, request.sender, role, names_currency=names_currency),
        "tabs": lines.statement_tabs(found),
        "suggestion": (
            size_guard.suggest_size(request.sender, found.whole) if found.has_size_charges else None
        ),
        "page": page,
        "is_whole": is_whole,
        "count": sum(row["count"] for row in found.totals),
        "most": statements.ON_PAPER,
    }
    return render(request, "billing/statement.html", context)


def _pending_of(request: MemberRequest, found: statements.Statement) -> list[dict[str, Any]]:
    """Return the undecided refunds of the parcels on a statement."""
    on_it = found.whole.order_by().values("order")
    return statements.pending_refunds(_orders_of(request).filter(pk__in=on_it))


def _comparison(balance: statements.Balance, before: dict[str, Decimal]) -> tuple[str, str]:
    """Return `$96.18 more` than the week before, and its tone, or "" if there is none."""
    change = balance.net - before.get(balance.currency, balance.net)
    more_or_less, tone = ("more", "warn") if change > 0 else ("less", "ok")
    return (f"{money(abs(change), balance.currency)} {more_or_less}", tone) if change else ("", "")


@audience(SEE_MONEY)
@require_GET
def statement_csv(request: MemberRequest, week: str) -> StreamingHttpResponse:
    """Stream all lines of the filtered statement."""
    _, found = statement_of(request, week)
    cells, of_week = lines.export_cells(), found.in_order().iterator(chunk_size=500)
    rows = lines.statement_rows(of_week, cells, request.sender, request.membership.role)
    return sheets.stream_sheet(f"statement-{week}.csv", list(cells), rows)


@audience(SEE_MONEY)
@require_GET
def statement_pdf(request: MemberRequest, week: str) -> HttpResponse:
    """Send the whole week as a PDF, whichever part the page shows."""
    monday, found = _statement(request, week)
    today = _today(request)
    heading = paper.Heading(
        request.sender,
        monday,
        statements.is_final(monday, statements.final_until(), today),
        _pending_of(request, found),
        today,
    )
    response = HttpResponse(paper.statement_pdf(heading, found), content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="statement-{week}.pdf"'
    return response


@audience(SEE_MONEY)
@require_get_or_post
def charge_is_wrong(request: MemberRequest) -> HttpResponse:
    """Ask what is wrong with the charges in `line`; a POST disputes them.

    Suspended senders may do this too.
    """
    if "line" not in request.GET:
        return redirect("billing")
    chosen = _chosen_charges(request)
    disputable = [
        line for line in chosen if lines.dispute_state(line, request.sender)["may_dispute"]
    ]
    form = DisputeForm(request.POST or None, request.FILES or None)
    if request.method == "GET" or not disputable:
        return _page(request, chosen, form, status=200 if request.method == "GET" else 409)
    if not form.is_valid():
        return _page(request, chosen, form, status=422)
    text, photo = form.cleaned_data["text"], form.content
    made = disputing.open_all(
        disputable, by=request.user, text=text, photo=photo, now=timezone.now()
    )
    if made:
        messages.success(
            request, SENT if made == 1 else f"{made} charges: {SENT[0].lower()}{SENT[1:]}"
        )
    else:
        messages.info(request, "It's being reviewed already.")
    return redirect(_explanation_page(chosen))


SENT = "Sent to support. You'll see the answer next to the charge."


def _chosen_charges(request: MemberRequest) -> list[Charge]:
    """Return the user's charges named in the query; 404 for none, too many, or somebody else's."""
    try:
        keys = {whole_number(text) for text in request.GET.getlist("line")[: PAGE + 1]}
    except ValueError:
        raise Http404 from None
    mine = statements.explained_lines(statements.lines_of(request.user, request.sender))
    found = list(mine.filter(pk__in=keys).order_by("pk"))
    if not 0 < len(keys) == len(found) <= PAGE:
        raise Http404
    return found


def _explanation_page(chosen: list[Charge]) -> str:
    """Return the page that explains the charges: for several it is the statement."""
    one = len(chosen) == 1
    return (
        line_reasons.page_of(chosen[0])
        if one
        else reverse("statement", args=[statements.week_name(chosen[0].week)])
    )


def _page(
    request: MemberRequest, chosen: list[Charge], form: DisputeForm, *, status: int
) -> HttpResponse:
    rows = lines.line_rows(chosen, request.sender, request.membership.role, names_currency=True)
    for row in rows:
        row["declared"] = line_reasons.declared_words(row["charge"], request.sender)
        row["measured"] = line_reasons.measured_words(row["charge"], request.sender)
    may_dispute = any(row["may_dispute"] for row in rows)
    context = {
        "rows": rows,
        "form": form,
        "back": _explanation_page(chosen),
        "may_dispute": may_dispute,
    }
    return render(request, "billing/charge_is_wrong.html", context, status=status)


@audience(SEE_MONEY)
@require_GET
def dispute_photo(request: MemberRequest, photo: int) -> HttpResponse:
    """Send a photo of this account's dispute as a download."""
    return photos.photo_download(
        get_object_or_404(DisputePhoto.objects.for_user(request.user), pk=photo)
    )
