"""Pages for booking an import: Book, the question about rows that look wrong, the progress."""

import datetime as dt
import uuid

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.booking import booking_rules, bookings
from orders.calling import gateway
from orders.labels import printing
from orders.models.account import BOOKINGS
from orders.views.chosen import read_uuid
from orders.views.responses import error_sentence, suspended_page
from shipping_portal import sheets
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.models import Sender
from shipping_portal.importing import booking as importing
from shipping_portal.importing import checking, progress, shipped, shops, submitting
from shipping_portal.importing.forms import BookAllForm
from shipping_portal.importing.listing import import_of
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.views.checking import check_page, common_pickup_days

SOME_LEFT = (
    "{due} of {rows} rows are being booked. The others have changed, or their order number is"
    " booked already."
)

MOVED = (
    "Your pickup address has changed since these rows were checked. Rows checked again: {}. Nothing"
    " is booked yet."
)
OPEN_ONE = "Open one of them to book it at today's price, or on another day."
OTHERS_LEFT = (
    f"your pickup address has changed, or booking stopped before it came to them. {OPEN_ONE}"
)
REFUSED = (
    booking_rules.Suspended,
    booking_rules.Paused,
    bookings.LimitReached,
    booking_rules.PickupMoved,
)


@audience(BOOKERS)
@require_POST
def book_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Make every ready row due. Rows that look wrong stay, as do all others."""
    found, form = import_of(request, file), BookAllForm(request.POST)
    if request.sender.is_suspended:
        return suspended_page(request, status=403)
    if not form.is_valid():
        return check_page(request, found, form, status=422)
    press = _press(request, form)
    day, sure = press.pickup_date, submitting.choose(found, press)[0] if press.pickup_date else []
    if day and day not in common_pickup_days(request.sender, [choice.row for choice in sure]):
        form.add_error(
            "pickup_date", error_sentence(booking_rules.PickupDayPassed(), request.sender)
        )
        return check_page(request, found, form, status=422)
    try:
        booking_rules.refuse_unless_booking_is_on(request.sender, timezone.now())
    except (booking_rules.Paused, bookings.LimitReached) as error:
        messages.error(request, error_sentence(error, request.sender))
        return redirect("check_import", found.uuid)
    return _begin(request, found, press)


def _press(request: MemberRequest, form: BookAllForm) -> submitting.Press:
    chosen = form.cleaned_data
    shown = {name: chosen[name] for name in ("rows", "newest", "doubts", "services")}
    kept = {name: chosen[name] for name in ("rule", "pickup_date", "last", "carrier")}
    return submitting.Press(
        by=request.user, now=timezone.now(), seen=submitting.Seen(**shown), **kept
    )


def _begin(request: MemberRequest, file: Import, press: submitting.Press) -> HttpResponse:
    """Book what the page showed.

    If more rows are ready by now, show the page again with the new total.
    """
    if moved := checking.check_moved(file, press.now):
        messages.warning(request, MOVED.format(moved))
        return redirect("check_import", file.uuid)
    try:
        due = submitting.begin(file, press)
    except submitting.MoreIsReady:
        messages.warning(
            request,
            "Rows or prices have changed. Nothing is booked yet: check the total, then book.",
        )
        return redirect("check_import", file.uuid)
    if not due:
        messages.info(request, "No row was left to book. Nothing was booked by this.")
    elif press.seen and due < press.seen.rows:
        messages.info(request, SOME_LEFT.format(due=due, rows=press.seen.rows))
    return redirect("import", file.uuid)


LISTED = 50


@audience(BOOKERS)
@require_get_or_post
def import_progress(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Show the booking's progress. A POST pauses, resumes, retries or accepts higher prices."""
    found = import_of(request, file)
    if request.method == "POST":
        return _act(request, found)
    if found.state != Import.State.BOOKING:
        return redirect("check_import", found.uuid)
    counts = progress.counts(found)
    if counts.waiting:
        progress.note_watched(found, timezone.now())
    context = {
        "file": found,
        "counts": counts,
        "held_up": held_up(timezone.now()) if counts.waiting else "",
        "to_print": [] if counts.waiting else progress.to_print(found, printing.MOST),
        "price_increased": progress.price_increased(found)[:LISTED],
        "day_passed": progress.day_passed(found).count(),
        "nothing": progress.failed_rows(found).exclude(state=ImportRow.State.FIX)[:LISTED],
        "shop": shops.find_shop(found.header),
    }
    return render(request, "importing/import.html", context)


@audience(BOOKERS)
@require_GET
def shipped_rows(request: MemberRequest, file: uuid.UUID) -> StreamingHttpResponse:
    """Download what was booked, in the shop's own format."""
    found = import_of(request, file)
    upload, is_ours = shipped.upload_of(found), not shops.find_shop(found.header)
    ending = "csv" if upload.delimiter == "," else "txt"
    return sheets.stream_sheet(
        f"shipped-orders.{ending}",
        [name for name, _ in upload.columns],
        shipped.lines(found, upload),
        has_mark=is_ours,
        delimiter=upload.delimiter,
    )


@audience(BOOKERS)
@require_GET
def failed_rows(request: MemberRequest, file: uuid.UUID) -> StreamingHttpResponse:
    found = import_of(request, file)
    return sheets.stream_sheet("rows-not-booked.csv", *progress.failed_sheet(found))


def held_up(now: dt.datetime) -> str:
    """Return why bookings are waiting now, or "". The carrier is named if there are two."""
    titles, found = gateway.carrier_titles(), list[str]()
    for account in gateway.accounts_for_new_orders():
        if pause := account.pause_of(BOOKINGS, now) or account.stop_as_a_pause():
            found.append(f"{titles[account.pk]}: {pause.text}" if titles else pause.text)
    return " ".join(found)


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
    elif act == "next_day":
        _book_next_day(request, file)
    elif act == "agree":
        _agree(request, file)
    return redirect("import", file.uuid)


def _book_next_day(request: MemberRequest, file: Import) -> None:
    try:
        importing.book_next_day(file, by=request.user, now=timezone.now())
    except (*REFUSED, booking_rules.CarrierChanged) as error:
        messages.error(request, _refusal(error, request.sender))
    else:
        if left := progress.day_passed(file).count():
            messages.info(request, f"Nothing was booked for {left} of them: {OTHERS_LEFT}")


def _agree(request: MemberRequest, file: Import) -> None:
    pairs = [one.partition("|") for one in request.POST.getlist("price")]
    prices = {key: price for text, _, price in pairs if (key := read_uuid(text))}
    try:
        agreed = importing.agree(file, prices, by=request.user, now=timezone.now())
    except (*REFUSED, booking_rules.PickupDayPassed) as error:
        messages.error(request, _refusal(error, request.sender))
    else:
        if agreed < len(prices):
            messages.info(
                request,
                f"{agreed} of {len(prices)} were booked by this. Nothing was booked for the others:"
                f" they changed, their pickup day has passed, {OTHERS_LEFT}",
            )


def _refusal(error: Exception, sender: Sender) -> str:
    if isinstance(error, booking_rules.PickupMoved):
        moved = "Your pickup address has changed since these were priced. Nothing was booked."
        return f"{moved} {OPEN_ONE}"
    return error_sentence(error, sender)
