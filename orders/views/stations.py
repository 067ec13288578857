"""Manage print stations: add one, send labels to it, see what it does, stop it."""

import uuid
from pathlib import Path
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.labels import printing, stations
from orders.models import Order, PrintJob, PrintStation
from orders.models.statuses import Status
from orders.views.chosen import queue_query, read_uuids, too_many_labels
from shipping_portal.accounts.access import (
    BOOKERS,
    MemberRequest,
    audience,
    require_get_or_post,
    same_origin,
)
from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.login.forms import Plain
from shipping_portal.accounts.login.shown_once import show_once, take_secret
from shipping_portal.http.forms import refusals_at, render_form

PROGRAM = Path(settings.BASE_DIR) / "tools" / "print_station.py"
CHOSEN = "print_station"  # in the session: where labels scanned in this browser go


class StationForm(Plain):
    """The name of a bench."""

    name = LineField(
        label="Name of the bench",
        max_length=40,
        help_text="Such as “Bench 1” or “Zebra by the door”.",
        error_messages={"required": "Name the bench, so that you know it again."},
    )


@audience(BOOKERS)
@require_get_or_post
@reauthentication_required(allow_get=True)
def print_stations(request: MemberRequest) -> HttpResponse:
    """Show the stations and how to start one; posting adds one, whose token is shown once."""
    form = StationForm(request.POST or None)
    if form.is_valid():
        with refusals_at(form):
            _, text = stations.add_station(
                form.cleaned_data["name"], member=request.membership, now=timezone.now()
            )
            return show_once(request, text, "print_stations")
    context = {
        "form": form,
        "token": take_secret(request),
        "site": settings.SITE_URL,
        **station_context(request),
    }
    return render_form(request, "orders/print_stations.html", context)


@audience(BOOKERS)
@same_origin
@require_GET
def station_program(request: MemberRequest) -> HttpResponse:
    """Serve the station's program. It contains no account's data."""
    return HttpResponse(
        PROGRAM.read_bytes(),
        content_type="text/x-python; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{PROGRAM.name}"'},
    )


def station_context(request: MemberRequest) -> dict[str, Any]:
    """Return the account's stations, what each is doing, and which one this browser prints at."""
    now = timezone.now()
    found = stations.stations_of(request.user, now)
    jobs = PrintJob.objects.filter(station__in=found, state=PrintJob.State.TAKEN)
    taken = {job.station_id: job for job in jobs.select_related("order")}
    on = [one for one in found if one.is_on(now)]
    return {
        "stations": [
            {"station": one, "is_on": one in on, "job": taken.get(one.pk)} for one in found
        ],
        "on": on,
        "here": _current_station(request, on),
    }


def _current_station(request: MemberRequest, on: list[PrintStation]) -> PrintStation | None:
    """Return the station that this browser chose if it is on, or else the only one that is on."""
    chosen = request.session.get(CHOSEN)
    own = [one for one in on if str(one.uuid) == chosen]
    return next(iter(own or (on if len(on) == 1 else [])), None)


def open_jobs(orders: list[Order]) -> dict[int, PrintJob]:
    """Return each parcel's open job, if any, except jobs of stations that have ended."""
    found = PrintJob.objects.filter(
        order__in=orders,
        state__in=PrintJob.OPEN,
        station__token__revoked_at=None,
        station__token__ends_at__gt=timezone.now(),
    )
    return {job.order_id: job for job in found.select_related("station")}


@audience(BOOKERS)
@require_POST
def print_at_station(request: MemberRequest, station: uuid.UUID) -> HttpResponse:
    """Ask a station to print the chosen labels, or the scanned one."""
    found = _station_of(request, station)
    chosen = read_uuids(request.POST.getlist("order"))
    if len(chosen) > printing.MOST:
        return too_many_labels(request)
    query = queue_query(request.POST.get("query", ""))
    back = f"{reverse('print_queue')}?{query}"
    if not found.is_on(timezone.now()):
        messages.warning(request, f"{found} is off, so nothing was sent there.")
        return redirect(back)
    if request.session.get(CHOSEN) != str(found.uuid):
        request.session[CHOSEN] = str(found.uuid)
    if "q" in request.POST:
        return _print_scanned(request, found, back)
    orders = printing.chosen_orders(_printable(request), chosen)
    is_again = request.POST.get("again") == "yes"
    count = stations.request_prints(
        orders, found, by=request.user, now=timezone.now(), is_again=is_again
    )
    _report_sent(request, found, orders, count)
    return redirect(back)


def _report_sent(
    request: MemberRequest, station: PrintStation, orders: list[Order], count: int
) -> None:
    if count == 1:
        only = f" {orders[0].customer_reference or orders[0]}" if len(orders) == 1 else " 1 label"
        messages.success(request, f"{station} prints{only}.")
    elif count:
        messages.success(request, f"{station} prints {count} labels.")
    elif orders:
        messages.info(
            request, "Nothing new to print: printed already, waiting at a station, or in doubt."
        )
    else:
        messages.info(request, f"Your scans print at {station} now.")


def _print_scanned(request: MemberRequest, station: PrintStation, back: str) -> HttpResponse:
    """Print the scanned label. If it may be on paper already, ask first."""
    text = request.POST["q"].replace("\0", "").strip().lstrip("#")[:200]
    same = Q(carrier_reference__iexact=text) | Q(customer_reference__iexact=text)
    found = _printable(request).filter(same)[:50] if text else []  # many have no order number
    orders = [one for one in found if printing.label_of(one)]
    failed = stations.failed_jobs(orders)
    waiting = [one for one in orders if one.printed_at is None and one.pk not in failed]
    if waiting or not orders:
        if not orders:
            messages.warning(request, f"{text} isn't a parcel with a label to print.")
        else:
            count = stations.request_prints(
                waiting[:1], station, by=request.user, now=timezone.now()
            )
            _report_sent(request, station, waiting[:1], count)
        return redirect(back)
    return redirect(f"{back}&again={orders[0].uuid}")


def _printable(request: MemberRequest) -> Any:
    mine = Order.objects.for_user(request.user).filter(status=Status.BOOKED)
    return mine.select_related("sender").prefetch_related("labels")


def parcel_to_reprint(request: MemberRequest) -> Order | None:
    """Return the scanned parcel whose label may be on paper, to ask whether to print it again."""
    found = _printable(request).filter(uuid__in=read_uuids([request.GET.get("again", "")])).first()
    return found if found and (found.printed_at or stations.failed_jobs([found])) else None


@audience(BOOKERS)
@require_POST
def stop_station(request: MemberRequest, station: uuid.UUID) -> HttpResponse:
    """End a station for good."""
    found = _station_of(request, station)
    stations.stop_station(found, by=request.user, now=timezone.now())
    messages.success(request, f"{found} is stopped. What waited there is on the Print page again.")
    return redirect("print_stations")


@audience(BOOKERS)
@require_POST
def withdraw_prints(request: MemberRequest, station: uuid.UUID) -> HttpResponse:
    """Withdraw what a station hasn't taken yet."""
    found = _station_of(request, station)
    count = stations.withdraw_waiting(found, now=timezone.now())
    messages.success(request, f"{count} label{'' if count == 1 else 's'} withdrawn from {found}.")
    return redirect("print_queue")


def _station_of(request: MemberRequest, station: uuid.UUID) -> PrintStation:
    mine = PrintStation.objects.for_user(request.user).select_related("token")
    return get_object_or_404(mine, uuid=station)
