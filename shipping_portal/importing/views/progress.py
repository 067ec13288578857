"""How the booking of an import goes: watched, paused, tried again, agreed to, and what failed as a file."""

import datetime as dt
import uuid

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from orders import booking, gateway, printing
from orders.models.pauses import BOOKINGS
from orders.views.replies import sentence
from shipping_portal import sheets
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.importing import booking as importing
from shipping_portal.importing import progress
from shipping_portal.importing.models import Import

LISTED = 50


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def import_progress(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """How far the booking is. A press pauses, goes on, tries again or agrees to prices that went up."""
    found = _mine(request, file)
    if request.method == "POST":
        return _act(request, found)
    if found.state != Import.State.BOOKING:
        return redirect("check_import", found.uuid)
    counts = progress.counts(found)
    if counts.waiting:
        progress.watched(found, timezone.now())
    context = {
        "file": found,
        "counts": counts,
        "held_up": held_up(timezone.now()) if counts.waiting else "",
        "to_print": [] if counts.waiting else progress.to_print(found, printing.MOST),
        "risen": progress.risen(found)[:LISTED],
        "nothing": progress.came_to_nothing(found)[:LISTED],
    }
    return render(request, "importing/import.html", context)


@audience(*BOOKERS)
@require_GET
def failed_rows(request: MemberRequest, file: uuid.UUID) -> StreamingHttpResponse:
    found = _mine(request, file)
    return sheets.stream("rows-not-booked.csv", *progress.failed_sheet(found))


def held_up(now: dt.datetime) -> str:
    """Why bookings wait just now, or ""."""
    account = gateway.account()
    pause = account.pause_of(BOOKINGS, now) or account.stop_as_a_pause()
    return pause.text if pause else ""


def _act(request: MemberRequest, file: Import) -> HttpResponse:
    now = timezone.now()
    act = request.POST.get("act")
    if act == "pause":
        importing.pause(file, now)
    elif act == "resume":
        if not importing.resume(file):
            messages.info(request, "Only the operator can let this import go on.")
    elif act == "retry":
        importing.retry(file, now)
        return redirect("check_import", file.uuid)
    elif act == "agree":
        _agree(request, file)
    return redirect("import", file.uuid)


def _agree(request: MemberRequest, file: Import) -> None:
    said = [one.partition("|") for one in request.POST.getlist("price")]
    prices = {order: price for order, _, price in said}
    try:
        agreed = importing.agree(file, prices, by=request.user, now=timezone.now())
    except (booking.Suspended, booking.Paused, booking.LimitReached, booking.PickupDayPassed) as error:
        messages.error(request, sentence(error, request.sender))
    else:
        if agreed < len(prices):
            messages.info(
                request,
                f"{agreed} of {len(prices)} were booked by this. Nothing was booked for the others: they changed "
                "meanwhile, their pickup day has passed, or booking stopped on the way. "
                "Open one of them to book it at today's price, or on another day.",
            )


def _mine(request: MemberRequest, file: uuid.UUID) -> Import:
    return get_object_or_404(Import.objects.for_user(request.user).select_related("sender"), uuid=file)
