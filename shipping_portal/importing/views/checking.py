"""Pages for checking an import: ready rows with prices, rows to fix, and the Book button."""

import datetime as dt
import re
import uuid
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.booking import booking_rules
from orders.drafting.contents_form import CURRENCY
from orders.models.quotes import bookable
from orders.quoting import asking, choosing
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.messages import Money
from shipping_portal.importing import (
    answering,
    checking,
    chosen_service,
    columns,
    joining,
    leaving_out,
    listing,
    notes,
    outliers,
    progress,
    row_form,
    shops,
    submitting,
    unread,
    uploads,
)
from shipping_portal.importing.forms import BookAllForm, RateForm
from shipping_portal.importing.listing import import_of
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.read_row import chosen_size

State = ImportRow.State
TABS = {
    "all": Q(),
    "ready": Q(state__in=ImportRow.READY),
    "warnings": Q(state=State.WARNING),
    "decide": Q(state__in=ImportRow.READY),
    "fix": Q(state=State.FIX),
    "skipped": Q(state=State.SKIPPED),
    "joined": Q(state=State.JOINED),
}
NOTHING: row_form.Unsaved = {}
PAGE = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


@audience(BOOKERS)
@require_GET
def check_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Show the dry run so far: rows that are ready, to be fixed, or left out."""
    return check_page(request, import_of(request, file), BookAllForm())


def check_page(
    request: MemberRequest,
    file: Import,
    form: BookAllForm,
    *,
    status: int = 200,
    rate_form: RateForm | None = None,
    unsaved: row_form.Unsaved = NOTHING,
) -> HttpResponse:
    address = request.sender.pickup_address()
    if file.state == Import.State.MATCHING or address is None:
        return redirect("match_columns", file.uuid)
    counts = progress.counts(file)
    show = request.GET.get("show") or ("fix" if counts.fix and not counts.unchecked else "all")
    context: dict[str, Any] = {
        "file": file,
        "form": form,
        "counts": counts,
        "show": "fix" if unsaved else show if show in TABS else "all",
        "unsaved": unsaved,
    }
    context["by_price"] = request.GET.get("sort") == "price"
    context |= _to_book(request, file, form)
    rows = row_form.to_fix(file, unsaved) if counts.fix or unsaved else []
    typed, waiting = row_form.typed_in(file, rows), unread.waiting(rows)
    context["warned"] = counts.warnings - context["doubted_warnings"]
    context["stay"] = counts.rows - counts.submitted - len(context["sure"])
    context["page"] = _list_page(request, file, context)
    context["joined"] = progress.joined(file) if counts.joined else []
    context["left_out"] = progress.left_out_by_shop(file) if counts.skipped else []
    context["notes"] = list(notes.reading_notes(file))
    context["extensions"] = progress.extensions(file)
    context["unread"] = [(place, file.header[place], waiting[place]) for place in sorted(waiting)]
    context["unused"] = unread.listed(file, waiting)
    context["asked"] = answering.find_questions(rows, typed)
    is_shown = context["show"] == "fix"
    context["fixes"] = row_form.grid(file, address, rows, typed, unsaved) if is_shown else []
    context["own_email"] = address.email
    context["own_currency"] = CURRENCY[file.sender.country]
    context["rate_form"] = rate_form or RateForm()
    context["shop"] = shops.find_shop(file.header)
    return render(request, "importing/import_check.html", context, status=status)


def _list_page(request: MemberRequest, file: Import, context: dict[str, Any]) -> listing.RowsPage:
    show, doubted = context["show"], context["doubted"]
    rows, typed = file.rows.filter(TABS[show]), request.GET.get("page", "")
    if show == "all":
        rows = rows.exclude(state=State.JOINED)
    elif show == "decide":
        rows = rows.filter(pk__in=doubted)
    elif show in ("ready", "warnings"):
        rows = rows.exclude(pk__in=doubted)
    number = int(typed) if PAGE.fullmatch(typed) else 1
    by_price = context["ready"] if context["by_price"] else None
    how = context["rule"], context["last"], context["carrier"]
    return listing.page(rows, *how, dearest_of=by_price, number=number)


def _to_book(request: MemberRequest, file: Import, form: BookAllForm) -> dict[str, Any]:
    """Return the Book form: the ready rows, their cost by each rule, and the pickup days.

    The totals leave out rows that look wrong.
    """
    carriers = choosing.carrier_choices()
    typed = form["carrier"].value(), request.GET.get("carrier")
    carrier = chosen_carrier(carriers, *typed, choosing.default_carrier(request.sender))
    ready, last = submitting.ready(file, None, carrier), choosing.last_product(request.sender)
    offered = [rule for rule in Sender.ServiceRule if rule != Sender.ServiceRule.LAST or last]
    wanted = [form["rule"].value(), request.GET.get("rule"), request.sender.service_rule]
    rule = next((rule for rule in wanted if rule in offered), offered[0].value)
    choices = choosing.choices_by_rule(ready, rule, last)
    doubts = outliers.find_outliers(file, choices)
    sure = outliers.without_outliers(choices, doubts)
    totals = choosing.totals_by_rule([choice.row.products for choice in sure], last) if sure else []
    doubted = {choice.row.pk: doubt.reason for doubt in doubts for choice in doubt.choices}
    doubted_warnings = (
        file.rows.filter(state=State.WARNING, pk__in=doubted).count() if doubted else 0
    )
    return {
        "before": uploads.find_booked_copy(file) if ready else None,
        "ready": ready,
        "sure": sure,
        "doubts": doubts,
        "doubted": doubted,
        "doubted_warnings": doubted_warnings,
        "doubts_shown": outliers.doubts_token(doubts),
        "services_shown": chosen_service.services_token(file),
        "average": _average(sure),
        "last": last,
        "newest": max((row.quote for row in ready), default=0),
        "totals": totals,
        "rule": rule,
        "carrier": carrier,
        "carriers": carriers,
        "unpriced": checking.unpriced(file) if carriers else [],
        "total": next((total for total in totals if total.rule == rule), None),
        "has_pickup": any(total.has_pickup for total in totals),
        "has_own_days": columns.PICKUP_DAY in file.columns,
        "pickup_days": common_pickup_days(request.sender, [choice.row for choice in sure]),
        "priced_on": checking.priced_before(file, timezone.now()) if sure else None,
    }


def chosen_carrier(carriers: list[tuple[str, str]], *typed: Any) -> int | None:
    """Return the account of the preselected carrier, or None for whichever fits.

    In `typed`, None means that nothing was chosen, and "" means whichever fits.
    """
    known = {"": None} | {account: int(account) for account, _ in carriers}
    return next((known[one] for one in map(str, typed) if one in known), None)


def common_pickup_days(sender: Sender, rows: list[choosing.Ready]) -> list[dt.date]:
    """Return the pickup days on offer for all rows, from the latest of their first days."""
    address = sender.pickup_address()
    firsts = [asking.first_pickup(offer) for row in rows for offer in bookable(row.products)]
    first = max(filter(None, firsts), default=None)
    return (
        booking_rules.pickup_days(sender, address.party(), timezone.now(), first=first)
        if address
        else []
    )


def _average(sure: list[choosing.Choice]) -> Money | None:
    """Return the average price, or None without parcels or with two currencies."""
    currencies = {choice.offer["currency"] for choice in sure if choice.offer}
    if len(currencies) != 1:
        return None
    return Money(sum((choice.price for choice in sure), Decimal(0)) / len(sure), currencies.pop())


@audience(BOOKERS)
@require_POST
def take_left_out(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Accept every row that was left out for a given reason.

    Each is then checked like any other.
    """
    found = import_of(request, file)
    taken = checking.take_all(found, request.POST.get("why", ""), timezone.now())
    messages.info(
        request, f"{taken} row{'' if taken == 1 else 's'} put back. Nothing is booked yet."
    )
    return redirect("check_import", found.uuid)


@audience(BOOKERS)
@require_POST
def price_import_again(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Ask again for prices quoted on an earlier day."""
    found = import_of(request, file)
    checking.price_again(found, timezone.now())
    return redirect("check_import", found.uuid)


@audience(BOOKERS)
@require_get_or_post
def import_row(request: MemberRequest, file: uuid.UUID, row: int) -> HttpResponse:
    """Show all fields of a row.

    A POST checks it again and, if asked, rows with the same problem.
    """
    mine = ImportRow.objects.filter(file__sender__memberships__user=request.user, file__uuid=file)
    found = get_object_or_404(
        mine.select_related("file__sender", "file__made_by", "order", "joined_into"), pk=row
    )
    address = request.sender.pickup_address()
    if address is None or found.order or found.state == ImportRow.State.DUE:
        messages.info(request, "This row is handed over for booking, so it stays as it is.")
        return redirect("import", found.file.uuid)
    if found.joined_into:
        return _separate_row(request, found)
    form = row_form.form_of(found, found.file, address, chosen_size(found.file))
    if request.method == "GET":
        context = {"row": found, "file": found.file, "form": form, **_fields_by_need(found, form)}
        return render(request, "importing/import_row.html", context)
    if "leave_out" in request.POST:
        unsaved: dict[str, str] = {}
        is_done = found.finish(state=ImportRow.State.SKIPPED, problems=checking.LEFT_OUT)
    else:
        is_done, unsaved = _save(request, found, form)
    if not is_done:
        messages.warning(
            request,
            f"Row {found.number} was changed or booked meanwhile, so it stays as it is. Look"
            " at it.",
        )
    if unsaved:
        return unsaved_page(request, file, {found.pk: unsaved})
    shown = request.POST.get("show") or "fix"
    return redirect(f"{reverse('check_import', args=[found.file.uuid])}?show={shown}#grid")


@audience(BOOKERS)
@require_POST
def save_rows(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Save every row on the page whose fields were changed."""
    found, address = import_of(request, file), request.sender.pickup_address()
    if address is None:
        return redirect("match_columns", found.uuid)
    posted = request.POST.dict()
    saved, ended, unsaved = row_form.save_changed(found, address, posted, timezone.now())
    if saved:
        messages.success(request, f"{saved} row{'s are' if saved > 1 else ' is'} checked again.")
    elif not (ended or unsaved):
        messages.info(request, "No field was changed, so nothing was saved.")
    if ended:
        numbers = ", ".join(map(str, ended))
        messages.warning(
            request,
            "Left out, joined or booked since this page was shown, so nothing was saved there: row"
            f" {numbers}.",
        )
    if unsaved:
        return unsaved_page(request, file, unsaved)
    return redirect(f"{reverse('check_import', args=[found.uuid])}?show=fix#grid")


def _separate_row(request: MemberRequest, row: ImportRow) -> HttpResponse:
    """Turn a row that was joined to a parcel into a separate parcel."""
    if request.method == "POST" and not joining.separate(row, timezone.now()):
        messages.warning(
            request, f"Row {row.number} is booked with the row it was joined to, so it stays there."
        )
    if request.method == "POST":
        return redirect(f"{reverse('check_import', args=[row.file.uuid])}?show=joined#grid")
    return redirect("import_row", row.file.uuid, row.joined_into_id)


def _fields_by_need(row: ImportRow, form: row_form.ParcelForm) -> dict[str, list[row_form.FixCell]]:
    """Return the filled, required or rejected fields, and separately the optional ones."""
    cells = row_form.cells(row, form, form.fields)
    filled = [cell for cell in cells if cell.control.name in row.problems or cell.is_filled]
    return {"filled": filled, "others": [cell for cell in cells if cell not in filled]}


def unsaved_page(
    request: MemberRequest, file: uuid.UUID, unsaved: row_form.Unsaved
) -> HttpResponse:
    """Show the fields that somebody else changed as well, with what was typed."""
    return check_page(request, import_of(request, file), BookAllForm(), status=409, unsaved=unsaved)


def _save(
    request: MemberRequest, row: ImportRow, form: row_form.ParcelForm
) -> tuple[bool, dict[str, str]]:
    """Save the row. Return False if somebody else changed it first, and what wasn't saved."""
    corrected, unsaved = row_form.corrections(row, form, request.POST)
    if unsaved and not corrected:
        return True, unsaved
    if "anyway" in request.POST:
        corrected |= leaving_out.accepting_correction(row)
    saved = row_form.save(
        row.file,
        row,
        corrected,
        alike="alike" in request.POST or "alike" in request.GET,
        now=timezone.now(),
    )
    checking.check_row(row.pk)
    if saved > 1:
        messages.success(request, f"Applied to {saved} rows. They are checked again.")
    return saved > 0, unsaved
