"""An import's check: what is ready, what there is to fix, and the button that books what is ready."""

import uuid
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders import booking
from orders.importing import checking, choosing, fixing, overview, owing, standing, taking
from orders.importing.forms import BookAllForm
from orders.models import Import, ImportRow
from orders.views.replies import sentence, suspended
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience

LISTED = 50
TABS = {
    "ready": (ImportRow.State.READY, ImportRow.State.OWED, ImportRow.State.BOOKED),
    "warnings": (ImportRow.State.WARNING,),
    "skipped": (ImportRow.State.SKIPPED,),
    "joined": (ImportRow.State.FOLDED,),
}
SOME_LEFT = (
    "{owed} of {rows} rows are being booked. The others changed meanwhile, or their order number is taken."
)


@audience(*BOOKERS)
@require_GET
def check_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """The dry run as far as it is: what is ready, what there is to fix, what was left out."""
    return check_page(request, _mine(request, file), BookAllForm())


def check_page(request: MemberRequest, file: Import, form: BookAllForm, *, status: int = 200) -> HttpResponse:
    address = request.sender.pickup_address()
    if file.state == Import.State.MATCHING or address is None:
        return redirect("match_columns", file.uuid)
    counts = standing.counts(file)
    show = request.GET.get("show") or ("fix" if counts.fix else "ready")
    context = {"file": file, "form": form, "counts": counts, "show": show}
    if "HX-Request" not in request.headers:  # a poll swaps the progress alone, and comes every two seconds
        context |= _to_book(request, file, form)
        context["fixes"] = fixing.grid(file, address) if show == "fix" else []
        context["rows"] = _listed(file, show)
        context["joined"] = overview.joined(file) if counts.folded else []
        context["left_out"] = overview.left_out_by_shop(file) if counts.skipped else []
        context["unused"] = overview.unused(file)
    return render(request, "orders/import_check.html", context, status=status)


def _listed(file: Import, show: str) -> QuerySet[ImportRow]:
    rows = file.rows.filter(state__in=TABS.get(show, ()))
    return rows.select_related("quote", "order", "folded_into")[:LISTED]


def _to_book(request: MemberRequest, file: Import, form: BookAllForm) -> dict[str, Any]:
    """What the Book form says: the rows that are ready, what they cost by each rule, and the days for a pickup."""
    ready, address = owing.ready(file), request.sender.pickup_address()
    totals = choosing.totals([products for _, products in ready], request.sender) if ready else []
    offered = [total.rule for total in totals]
    wanted = [form["rule"].value(), request.sender.service_rule, *offered]
    return {
        "before": taking.booked_before(file) if ready else None,
        "ready": ready,
        "last": choosing.last_product(request.sender),
        "newest": max((quote for quote, _ in ready), default=0),
        "totals": totals,
        "rule": next((rule for rule in wanted if rule in offered), ""),
        "has_pickup": any(total.has_pickup for total in totals),
        "pickup_days": booking.pickup_days(request.sender, address.party(), timezone.now())
        if address
        else [],
    }


@audience(*BOOKERS)
@require_POST
def take_left_out(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Take every row that was left out for one reason of its shop's; each is checked like any other."""
    found = _mine(request, file)
    taken = checking.take_all(found, request.POST.get("why", ""), timezone.now())
    messages.info(request, f"{taken} row{'' if taken == 1 else 's'} taken. Nothing is booked by this.")
    return redirect("check_import", found.uuid)


@audience(*BOOKERS)
@require_POST
def book_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Owe a booking for every ready row. The other rows stay where they are."""
    found, form = _mine(request, file), BookAllForm(request.POST)
    if request.sender.is_suspended:
        return suspended(request, status=403)
    if not form.is_valid():
        return check_page(request, found, form, status=422)
    try:
        booking.refuse_unless_booking_is_on(request.sender, timezone.now())
    except (booking.Paused, booking.TooManyToday) as error:
        messages.error(request, sentence(error, request.sender))
        return redirect("check_import", found.uuid)
    return _begin(request, found, form)


def _begin(request: MemberRequest, file: Import, form: BookAllForm) -> HttpResponse:
    """What the page showed is booked. Where more is ready by now, the page is shown again with the whole sum."""
    chosen = form.cleaned_data
    seen = owing.Seen(chosen["rows"], chosen["newest"])
    press = owing.Press(
        chosen["rule"], request.user, timezone.now(), chosen["pickup_date"], seen, chosen["last"]
    )
    try:
        owed = owing.begin(file, press)
    except owing.MoreIsReady:
        messages.warning(
            request, "More rows are ready by now. Nothing was booked yet: look at the sum, then book."
        )
        return redirect("check_import", file.uuid)
    if not owed:
        messages.info(request, "No row was left to book. Nothing was booked by this.")
    elif owed < seen.rows:
        messages.info(request, SOME_LEFT.format(owed=owed, rows=seen.rows))
    return redirect("import", file.uuid)


def _mine(request: MemberRequest, file: uuid.UUID) -> Import:
    return get_object_or_404(Import.objects.for_user(request.user).select_related("sender"), uuid=file)
