"""Carry out a sender's decisions on a checked import.

They concern services, rows that look wrong, or the whole file.
"""

import re
import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.quoting import choosing
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.importing import (
    answering,
    checking,
    chosen_service,
    keeping,
    outliers,
    progress,
    row_form,
    submitting,
    units,
    unread,
)
from shipping_portal.importing.forms import BookAllForm, RateForm
from shipping_portal.importing.listing import import_of
from shipping_portal.importing.views.checking import check_page, chosen_carrier
from shipping_portal.refused import Refused

KEY = re.compile(r"[0-9]{1,18}", re.ASCII)
CHANGED = "Rows or prices have changed. Nothing is booked yet: check them once more."


def _return_to_rows(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Redirect to the rows that were shown."""
    return redirect(f"{reverse('check_import', args=[file])}?{request.GET.urlencode()}")


@audience(BOOKERS)
@require_POST
def choose_services(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Store the services chosen for single rows: `service-7` is for the row with key 7."""
    found, chosen = import_of(request, file), dict[int, str]()
    for name in request.POST:
        key = name.removeprefix("service-")
        if key != name and KEY.fullmatch(key):
            chosen[int(key)] = str(request.POST[name])
    chosen_service.choose(found, chosen)
    return _return_to_rows(request, file)


@audience(BOOKERS)
@require_POST
def decide_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Confirm rows that look wrong, or read the whole file in another unit."""
    found, now = import_of(request, file), timezone.now()
    kind, _, unit = request.POST.get("unit", "").partition(":")
    if kind:
        known = unit in units.TABLES.get(kind, ())
        # This overrides the unit in the column's own name, for this file only.
        named = (
            f"{units.READ_AS}{kind}"
            if units.of_columns(found.header, found.columns, kind)
            else kind
        )
        if not known or not checking.begin(
            found, found.columns, found.constants | {named: unit}, now
        ):
            messages.warning(request, CHANGED)
        return redirect("check_import", file)
    rule, last = (request.POST.get(name, "") for name in ("rule", "last"))
    carrier = chosen_carrier(choosing.carrier_choices(), request.POST.get("carrier"))
    press = submitting.Press(rule, request.user, now, last=last, carrier=carrier)
    _, doubts = submitting.choose(found, press)
    answer = outliers.skip_outliers if "skip" in request.POST else outliers.confirm_outliers
    if not answer(found, doubts, request.POST.get("skip") or request.POST.get("right", "")):
        messages.warning(request, CHANGED)
    return _return_to_rows(request, file)


@audience(BOOKERS)
@require_POST
def answer_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Apply one answer to all rows that wait for it: columns, emails, rates or corrections."""
    found, now, posted = import_of(request, file), timezone.now(), request.POST
    address, form = request.sender.pickup_address(), RateForm(request.POST)
    waiting = {str(place): place for place in unread.waiting(row_form.to_fix(found))}
    answered = 0
    if "rate" in posted:
        if not form.is_valid():
            return check_page(request, found, BookAllForm(), rate_form=form, status=422)
        answered = answering.use_rate(
            found, form.cleaned_data["code"], form.cleaned_data["rate"], now
        )
    elif posted.get("column") == "all":
        answered = answering.ignore_columns(found, waiting.values(), now)
    elif posted.get("column") in waiting:
        answered = answering.ignore_columns(found, [waiting[posted["column"]]], now)
    elif "prices" in posted:
        answered = answering.use_prices(found, posted["prices"], now)
    elif "own_email" in posted and address:
        answered = answering.use_own_email(found, address, now)
    elif "correct" in posted:
        answered = answering.correct(found, posted["correct"], now)
    if answered:
        messages.success(
            request, f"{answered} row{'s are' if answered > 1 else ' is'} checked again."
        )
    else:
        messages.warning(request, CHANGED)
    return redirect("check_import", file)


@audience(BOOKERS)
@require_get_or_post
def remove_import(request: MemberRequest, file: uuid.UUID) -> HttpResponse:
    """Ask, then delete an import, archive it if it has bookings, or restore an archived one."""
    found = import_of(request, file)
    if request.method == "GET":
        context = {
            "file": found,
            "counts": progress.counts(found),
            "may_delete": keeping.may_delete(found),
        }
        return render(request, "importing/import_remove.html", context)
    if "back" in request.POST:
        keeping.unarchive(found)
        return redirect("imports")
    try:
        is_deleted = keeping.delete_or_archive(found, timezone.now())
    except Refused as error:
        messages.warning(request, str(error))
    else:
        messages.success(
            request, f"{found.file_name} is {'deleted' if is_deleted else 'archived'}."
        )
    return redirect("imports")
