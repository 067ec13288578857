"""Booking a whole import: Book, the question about rows that look wrong, and how far it is."""

import datetime as dt
import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from orders import booking, booking_rules, choosing, gateway, printing
from orders.models.account import BOOKINGS
from orders.views.responses import sentence, suspended
from shipping_portal import sheets
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.models import Sender
from shipping_portal.importing import booking as importing
from shipping_portal.importing import listing, outliers, progress, submitting
from shipping_portal.importing.forms import BookAllForm
from shipping_portal.importing.listing import import_of
from shipping_portal.importing.models import Import
from shipping_portal.importing.views.checking import check_page

EXAMPLES = 5  # of the rows that look wrong for one reason
SOME_LEFT = "{owed} of {rows} rows are being booked. The others changed meanwhile, or their order number is taken."


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def book_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Owe a booking for every ready row, the others stay where they are; or ask once more about what looks wrong."""
    found, form = import_of(request, file), BookAllForm(request.POST)
    if request.method == "GET":
        return _once_more(request, found)
    if request.sender.is_suspended:
        return suspended(request, status=403)
    if not form.is_valid():
        return check_page(request, found, form, status=422)
    try:
        booking_rules.refuse_unless_booking_is_on(request.sender, timezone.now())
    except (booking_rules.Paused, booking.LimitReached) as error:
        messages.error(request, sentence(error, request.sender))
        return redirect("check_import", found.uuid)
    return _begin(request, found, form)


def _begin(request: MemberRequest, file: Import, form: BookAllForm) -> HttpResponse:
    """Show what the page showed is booked. Where more is ready by now, the page is shown again with the whole sum."""
    chosen = form.cleaned_data
    seen = submitting.Seen(chosen["rows"], chosen["newest"])
    press = submitting.Press(
        chosen["rule"], request.user, timezone.now(), chosen["pickup_date"], seen, chosen["last"],
        chosen["confirmed"],
    )  # fmt: skip
    try:
        owed = submitting.begin(file, press)
    except submitting.MoreIsReady:
        messages.warning(request, "More rows are ready by now. Nothing was booked yet: look at the sum, then book.")
        return redirect("check_import", file.uuid)
    except outliers.Unconfirmed:
        if press.confirmed:
            messages.warning(request, "Rows or prices changed meanwhile. Nothing was booked yet: look once more.")
        return redirect(f"{reverse('book_import', args=[file.uuid])}?{_pressed(chosen)}")
    if not owed:
        messages.info(request, "No row was left to book. Nothing was booked by this.")
    elif owed < seen.rows:
        messages.info(request, SOME_LEFT.format(owed=owed, rows=seen.rows))
    return redirect("import", file.uuid)


def _pressed(chosen: dict[str, Any]) -> str:
    """Return the choices of a press, for the page that asks once more."""
    query = QueryDict(mutable=True)
    query.update({name: str(chosen[name] or "") for name in ("rule", "pickup_date", "last")})
    return query.urlencode()


def _once_more(request: MemberRequest, file: Import) -> HttpResponse:
    """Show what looks wrong with the rows as they are now, and what all cost; the sender's yes comes back by POST."""
    rule, last = request.GET.get("rule"), request.GET.get("last") or choosing.last_product(request.sender)
    rule = rule if rule in Sender.ServiceRule.values else Sender.ServiceRule.CHEAPEST.value
    choices = choosing.choices(submitting.ready(file), rule, last)
    stop = outliers.look(file, choices)
    if stop is None:
        return redirect("check_import", file.uuid)
    firsts = [[choice.row.pk for choice in doubt.choices[:EXAMPLES]] for doubt in stop.doubts]
    rows = file.rows.filter(pk__in=[pk for pks in firsts for pk in pks]).select_related("quote", "order")
    lines = {line.row.pk: line for line in listing.lines(rows, rule, last)}
    context = {
        "file": file, "stop": stop, "rule": rule, "last": last, "count": len(choices),
        "pickup_date": request.GET.get("pickup_date", ""),
        "newest": max(choice.row.quote for choice in choices),
        "total": choosing.total(rule, [choice.offer for choice in choices]),
        "doubts": [
            (doubt, [lines[pk] for pk in pks]) for doubt, pks in zip(stop.doubts, firsts, strict=True)
        ],
    }  # fmt: skip
    return render(request, "importing/import_outliers.html", context)


LISTED = 50


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def import_progress(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Show how far the booking is. A press pauses, goes on, tries again or agrees to prices that went up."""
    found = import_of(request, file)
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
        "price_increased": progress.price_increased(found)[:LISTED],
        "nothing": progress.failed_rows(found)[:LISTED],
    }
    return render(request, "importing/import.html", context)


@audience(*BOOKERS)
@require_GET
def failed_rows(request: MemberRequest, file: uuid.UUID) -> StreamingHttpResponse:
    found = import_of(request, file)
    return sheets.stream("rows-not-booked.csv", *progress.failed_sheet(found))


def held_up(now: dt.datetime) -> str:
    """Return why bookings wait just now, or ""."""
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
    pairs = [one.partition("|") for one in request.POST.getlist("price")]
    prices = {order: price for order, _, price in pairs}
    try:
        agreed = importing.agree(file, prices, by=request.user, now=timezone.now())
    except (
        booking_rules.Suspended,
        booking_rules.Paused,
        booking.LimitReached,
        booking_rules.PickupDayPassed,
    ) as error:
        messages.error(request, sentence(error, request.sender))
    else:
        if agreed < len(prices):
            messages.info(
                request,
                f"{agreed} of {len(prices)} were booked by this. Nothing was booked for the others: they changed "
                "meanwhile, their pickup day has passed, or booking stopped on the way. "
                "Open one of them to book it at today's price, or on another day.",
            )
