"""An import's check: what is ready with its price, what there is to fix, and the button that books what is ready."""

import re
import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders import booking, choosing, quoting
from orders.models.quotes import bookable
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.importing import checking, listing, overview, progress, row_form, submitting, uploads
from shipping_portal.importing.forms import BookAllForm
from shipping_portal.importing.models import Import, ImportRow

TABS = {
    "ready": (ImportRow.State.READY, ImportRow.State.OWED, ImportRow.State.BOOKED),
    "warnings": (ImportRow.State.WARNING,),
    "skipped": (ImportRow.State.SKIPPED,),
    "joined": (ImportRow.State.FOLDED,),
}
PAGE = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


@audience(*BOOKERS)
@require_GET
def check_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """The dry run as far as it is: what is ready, what there is to fix, what was left out."""
    return check_page(request, _mine(request, file), BookAllForm())


def check_page(request: MemberRequest, file: Import, form: BookAllForm, *, status: int = 200) -> HttpResponse:
    address = request.sender.pickup_address()
    if file.state == Import.State.MATCHING or address is None:
        return redirect("match_columns", file.uuid)
    counts = progress.counts(file)
    show = request.GET.get("show") or next(
        (tab for tab in ("fix", "ready", "warnings") if getattr(counts, tab)), "ready"
    )
    context = {"file": file, "form": form, "counts": counts, "show": show}
    context["by_price"] = request.GET.get("sort") == "price"
    if "HX-Request" not in request.headers:  # a poll swaps the progress alone, and comes every two seconds
        context |= _to_book(request, file, form)
        context["fixes"] = row_form.grid(file, address) if show == "fix" else []
        context["page"] = _listed(request, file, context)
        context["joined"] = overview.joined(file) if counts.folded else []
        context["left_out"] = overview.left_out_by_shop(file) if counts.skipped else []
        context["unused"] = overview.unused(file)
    return render(request, "importing/import_check.html", context, status=status)


def _listed(request: MemberRequest, file: Import, context: dict[str, Any]) -> listing.Page:
    rows, asked = file.rows.filter(state__in=TABS.get(context["show"], ())), request.GET.get("page", "")
    number = int(asked) if PAGE.fullmatch(asked) else 1
    by_price = context["ready"] if context["by_price"] else None
    return listing.page(rows, context["rule"], context["last"], dearest_of=by_price, number=number)


def _to_book(request: MemberRequest, file: Import, form: BookAllForm) -> dict[str, Any]:
    """What the Book form says: the rows that are ready, what they cost by each rule, and the days for a pickup."""
    ready, last = submitting.ready(file), choosing.last_product(request.sender)
    address = request.sender.pickup_address()
    firsts = [quoting.first_pickup(offer) for row in ready for offer in bookable(row.products)]
    first = max(filter(None, firsts), default=None)  # a day before it isn't on offer for every row
    totals = choosing.totals([row.products for row in ready], last) if ready else []
    offered = [total.rule for total in totals]
    wanted = [form["rule"].value(), request.GET.get("rule"), request.sender.service_rule, *offered]
    return {
        "before": uploads.booked_before(file) if ready else None,
        "ready": ready,
        "last": last,
        "newest": max((row.quote for row in ready), default=0),
        "totals": totals,
        "rule": next((rule for rule in wanted if rule in offered), ""),
        "has_pickup": any(total.has_pickup for total in totals),
        "pickup_days": booking.pickup_days(request.sender, address.party(), timezone.now(), first=first)
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


def _mine(request: MemberRequest, file: uuid.UUID) -> Import:
    return get_object_or_404(Import.objects.for_user(request.user).select_related("sender"), uuid=file)
