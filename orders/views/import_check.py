"""An import's check, and its booking: what is ready, what there is to fix, book all, watch it happen."""

import uuid

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from orders import booking
from orders.importing import booking as importing
from orders.importing import choosing, fixing, standing
from orders.importing.forms import BookAllForm
from orders.models import Import, ImportRow, Quote
from orders.views.replies import sentence, suspended
from shipping_portal import sheets
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience

LISTED = 50
TABS = {
    "ready": (ImportRow.State.READY, ImportRow.State.OWED, ImportRow.State.BOOKED),
    "warnings": (ImportRow.State.WARNING,),
    "skipped": (ImportRow.State.SKIPPED,),
}


@audience(*BOOKERS)
@require_GET
def check_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """The dry run as far as it is: what is ready, what there is to fix, what was left out."""
    return check_page(request, _mine(request, file), BookAllForm())


def check_page(request: MemberRequest, file: Import, form: BookAllForm, *, status: int = 200) -> HttpResponse:
    if file.state == Import.State.MATCHING:
        return redirect("match_columns", file.uuid)
    counts, address = standing.counts(file), request.sender.pickup_address()
    show = request.GET.get("show") or ("fix" if counts.fix else "ready")
    quotes = Quote.objects.filter(import_rows__file=file, import_rows__state__in=importing.READY)
    context = {
        "file": file,
        "form": form,
        "counts": counts,
        "show": show,
        "fixes": fixing.grid(file, address) if show == "fix" and address else [],
        "rows": file.rows.filter(state__in=TABS.get(show, ())).select_related("quote", "order")[:LISTED],
        "totals": choosing.totals(quotes, request.sender) if counts.bookable else [],
        "pickup_days": booking.pickup_days(request.sender, address.party(), timezone.now())
        if address
        else [],
    }
    return render(request, "orders/import_check.html", context, status=status)


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
    chosen = form.cleaned_data
    importing.begin(found, rule=chosen["rule"], pickup_date=chosen["pickup_date"], now=timezone.now())
    return redirect("import", found.uuid)


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def import_progress(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """How far the booking is. A press pauses, goes on, tries again or agrees to prices that went up."""
    found = _mine(request, file)
    if request.method == "POST":
        return _act(request, found)
    if found.state != Import.State.BOOKING:
        return redirect("check_import", found.uuid)
    context = {
        "file": found,
        "counts": standing.counts(found),
        "risen": standing.risen(found)[:LISTED],
        "nothing": standing.came_to_nothing(found)[:LISTED],
    }
    return render(request, "orders/import.html", context)


@audience(*BOOKERS)
@require_GET
def failed_rows(request: MemberRequest, file: uuid.UUID) -> StreamingHttpResponse:
    found = _mine(request, file)
    return sheets.stream("rows-not-booked.csv", *standing.failed_sheet(found))


def _act(request: MemberRequest, file: Import) -> HttpResponse:
    now = timezone.now()
    act = request.POST.get("act")
    if act == "pause":
        importing.pause(file, now)
    elif act == "resume":
        importing.resume(file, now)
    elif act == "retry":
        importing.retry(file, now)
        return redirect("check_import", file.uuid)
    elif act == "agree":
        _agree(request, file)
    return redirect("import", file.uuid)


def _agree(request: MemberRequest, file: Import) -> None:
    try:
        importing.agree(file, by=request.user, now=timezone.now())
    except (booking.Suspended, booking.Paused, booking.TooManyToday, booking.PickupDayPassed) as error:
        messages.error(request, sentence(error, request.sender))


def _mine(request: MemberRequest, file: uuid.UUID) -> Import:
    return get_object_or_404(Import.objects.for_user(request.user).select_related("sender"), uuid=file)
