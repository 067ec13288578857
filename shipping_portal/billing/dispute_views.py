"""“This looks wrong”: a line of a statement is handed to the operator, with what was declared, measured and quoted."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from shipping_portal.accounts.access import SEE_MONEY, MemberRequest, audience
from shipping_portal.billing import disputing, explaining, lines, statements, weeks
from shipping_portal.billing.models import Charge

LONGEST = 2000


@audience(*SEE_MONEY)
@require_http_methods(["GET", "POST"])
def charge_is_wrong(request: MemberRequest, charge: int) -> HttpResponse:
    """GET shows the facts and asks what is wrong; POST hands it over. A suspended sender may, too."""
    mine = statements.explained(statements.lines_of(request.user, request.sender))
    found = get_object_or_404(mine, pk=charge)
    may_dispute = lines.standing(found, request.sender)["may_dispute"]
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
    return redirect(explaining.page_of(found))


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
        "declared": explaining.declared_words(charge, request.sender),
        "measured": explaining.measured_words(charge, request.sender),
        "week": weeks.name_of(charge.week),
        "back": explaining.page_of(charge),
        "problem": problem,
        "longest": LONGEST,
        "text": request.POST.get("text", ""),
    }
    return render(request, "billing/charge_is_wrong.html", context, status=status)
