"""Serve the carrier's label files byte for byte (interface §1), and the queue to print."""

import logging
import uuid
from typing import Any

from django.contrib import messages
from django.http import (
    Http404,
    HttpResponse,
    JsonResponse,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.labels import fetching, originals, printing
from orders.labels.stations import failed_jobs
from orders.models import Label, LabelBytes, Order
from orders.models.statuses import Status
from orders.views.chosen import queue_query, read_uuids, too_many_labels
from orders.views.responses import refused_page, suspended_page
from orders.views.stations import open_jobs, parcel_to_reprint, station_context
from shipping_portal.accounts.access import (
    BOOKERS,
    MemberRequest,
    audience,
    require_get_or_post,
    same_origin,
)
from shipping_portal.accounts.formatting import local_moment
from shipping_portal.accounts.models import Audit
from shipping_portal.db.bucket import OutOfReach

log = logging.getLogger(__name__)


@audience(BOOKERS)
@same_origin
@require_GET
def label(request: MemberRequest, order: uuid.UUID, size: str) -> HttpResponse:
    """Serve the original PDF, inline or as a download; 404 unless the parcel is booked.

    Ranges are ignored. While the label is being fetched, the 404 says so.
    """
    labels = Label.objects.filter(
        order__sender__memberships__user=request.user, order__status=Status.BOOKED
    )
    found = get_object_or_404(labels.select_related("order"), order__uuid=order, size=size)
    if found.purged_at:
        raise Http404
    if found.order.is_stopped(request.sender):
        return suspended_page(request, status=403)
    if not found.is_ready:
        fetching.want_spare(found.order, timezone.now())
        page = "orders/label_damaged.html" if found.is_damaged else "orders/label_late.html"
        return render(request, page, {"label": found, "order": found.order}, status=404)
    now = timezone.now()
    try:
        content = found.serve(at=now)
    except LabelBytes.DoesNotExist:  # purged or withdrawn just now
        raise Http404 from None
    except OutOfReach:
        log.warning("label %s of order %s can't be read now", found.size, found.order_id)
        context = {"label": found, "order": found.order}
        return render(request, "orders/label_late.html", context, status=503)
    except Label.Damaged:
        log.error("label %s of order %s does not match its sha256", found.size, found.order_id)
        return render(request, "orders/label_damaged.html", {"order": found.order}, status=500)
    if "print" in request.GET:
        _note_opened(request, found.order)
    is_download = "download" in request.GET
    action = "label downloaded" if is_download else "label opened"
    Audit.write(
        action, found.order, by=request.user, sender=request.sender, reason=found.size, at=now
    )
    name = f"label-{found.order.carrier_reference}-{found.size}.pdf"
    response = HttpResponse(content, content_type="application/pdf")
    response["Content-Disposition"] = (
        f'{"attachment" if is_download else "inline"}; filename="{name}"'
    )
    response["X-Frame-Options"] = "SAMEORIGIN"
    # No sandbox: the browser's own viewer has to show it.
    response["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'self'"
    return response


def _note_opened(request: MemberRequest, order: Order) -> None:
    """Store in the session that a label was opened to print, so that the page can ask about it."""
    before = [one for one in request.session.get(OPENED, []) if one != str(order.uuid)]
    request.session[OPENED] = [*before, str(order.uuid)][-printing.MOST :]


OPENED = "labels_opened"
MARKS = {
    "yes": printing.mark_printed,
    "again": printing.mark_reprinted,
    "no": printing.unmark_printed,
}
SIZES = {"full": ("full",), "cropped": ("cropped",), "both": ("full", "cropped")}


@audience(BOOKERS)
@require_get_or_post
def print_queue(request: MemberRequest) -> HttpResponse:
    """Show the labels to print, or those chosen by `order`; without JavaScript a list of links.

    POST changes nothing; it is there because five hundred parcels don't fit in an address.
    """
    query = _query_of(request)
    chosen = query.getlist("order")
    if len(chosen) > printing.MOST:
        return too_many_labels(request)
    orders = _in_order(_chosen_labels(request, query), query)
    rows = [_label_row(order, label) for order in orders if (label := printing.label_of(order))]
    today = request.sender.day_of(timezone.now())
    worthless = [order for order in orders if printing.has_worthless_label(order)]
    printed = sum(1 for row in rows if row["order"].printed_at)
    waiting = [row["order"].uuid for row in rows if not row["order"].printed_at]
    opened = set(request.session.get(OPENED, []))
    jobs = open_jobs([row["order"] for row in rows])
    for row in rows:
        row["job"] = jobs.get(row["order"].pk)
    to_send = [row["order"] for row in rows if not row["order"].printed_at and not row["job"]]
    failed = failed_jobs(to_send)
    context = {
        **station_context(request),
        "again": parcel_to_reprint(request),
        "to_send": [order for order in to_send if order.pk not in failed],
        "failed": [(order, failed[order.pk].words) for order in to_send if order.pk in failed],
        "rows": rows,
        "chosen": bool(chosen),
        "printed": printed,
        "unprinted": len(rows) - printed,
        "opened": [one for one in waiting if str(one) in opened],
        "for_today": sum(
            1 for row in rows if row["pickup_day"] == today and not row["order"].printed_at
        ),
        "left_out": max(0, len(set(chosen)) - len(rows) - len(worthless)),
        "worthless": worthless,
        "first": waiting[0] if waiting else None,
        "most": printing.MOST,
        "sort": query.get("sort", ""),
        "sorts": {name: words for name, (words, _) in printing.SORTS.items()},
        "query": queue_query(query),
    }
    return render(request, "orders/print_queue.html", context)


def _query_of(request: MemberRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _in_order(orders: list[Order], query: QueryDict) -> list[Order]:
    _, key = printing.SORTS.get(query.get("sort", ""), printing.SORTS["listed"])
    return sorted(orders, key=key)


def _chosen_labels(request: MemberRequest, query: QueryDict) -> list[Order]:
    """Return the sender's queue, or their chosen parcels. 404 if none of them is theirs."""
    mine = (
        Order.objects.for_user(request.user)
        .select_related("size", "printed_by")
        .prefetch_related("labels")
    )
    if "order" in query:
        found = printing.chosen_orders(mine, read_uuids(query.getlist("order")))
        if not found:
            raise Http404
    elif query.get("view", printing.TO_PRINT) == printing.TO_PRINT:
        today = request.sender.day_of(timezone.now())
        found = list(printing.to_print(mine, today=today)[: printing.MOST])
    else:
        raise Http404
    for order in found:
        # One database row for all of them.
        order.sender = request.sender
    return found


def _label_row(order: Order, label: Label) -> dict[str, Any]:
    place = (order.receiver_suburb, order.receiver_state, order.receiver_postcode)
    return {
        "order": order,
        "label": label,
        "place": " ".join(part for part in place if part),
        "pack": printing.pack_list(order),
        "pickup_day": None if order.first_mile == "drop-off" else order.expected_pickup(),
    }


@audience(BOOKERS)
@require_POST
def printed(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Record whether a label was printed (yes, again or no), then reply or redirect."""
    mine = Order.objects.for_user(request.user).select_related("sender", "printed_by")
    found = get_object_or_404(mine, uuid=order)
    mark = MARKS.get(request.POST.get("printed", ""))
    if mark is None:
        raise Http404
    try:
        if not mark(found, by=request.user, at=timezone.now()):
            found.refresh_from_db(fields=["printed_at", "printed_by"])
    except Order.WrongStatus:
        text = "It moved on since you opened the page. Don't use a label that was printed before."
        return refused_page(
            request, title="This parcel has no label to print now", text=text, order=found
        )
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"printed": _print_trail(found)})
    if "query" in request.POST:
        return redirect(f"{reverse('print_queue')}?{queue_query(request.POST['query'])}")
    return redirect("parcel", found.uuid)


@audience(BOOKERS)
@require_POST
def printed_many(request: MemberRequest) -> HttpResponse:
    """Record that the ticked labels were printed, and return to the queue. The others wait."""
    ticked = read_uuids(request.POST.getlist("order"))
    if len(ticked) > printing.MOST:
        return too_many_labels(request)
    mine = Order.objects.for_user(request.user).filter(uuid__in=ticked)
    found = printing.mark_all_printed(mine, by=request.user, at=timezone.now())
    gone = [str(order) for order in found if not order.is_booked]
    if count := len(found) - len(gone):
        messages.success(request, f"{count} label{'s' if count > 1 else ''} marked printed.")
    else:
        messages.info(request, "Nothing was marked printed.")
    if gone:
        messages.warning(request, f"No longer booked: {', '.join(gone)}. Don't use these labels.")
    return redirect("print_queue")


def _print_trail(order: Order) -> str:
    """Return who printed it and when, or ""."""
    if order.printed_at is None or order.printed_by is None:
        return ""
    return (
        f"Printed by {order.printed_by.get_full_name()},"
        f" {local_moment(order.printed_at, order.sender)}"
    )


@audience(BOOKERS)
@same_origin
@require_get_or_post
def originals_zip(request: MemberRequest) -> HttpResponse | StreamingHttpResponse:
    """Stream the original files of the queue or of the chosen parcels.

    `size` is full, cropped or both.
    """
    query = _query_of(request)
    if len(query.getlist("order")) > printing.MOST:
        return too_many_labels(request)
    orders = _in_order(_chosen_labels(request, query), query)
    if not any(printing.label_of(order) for order in orders):
        why = sorted({originals.why_none(order) for order in orders})
        messages.info(request, " ".join(["There is no label to download here.", *why]))
        return redirect("print_queue")
    now = timezone.now()
    sizes = SIZES.get(query.get("size", ""), SIZES[request.sender.label_size])
    parts = originals.stream_archive(orders, sizes, by=request.user, at=now)
    response = StreamingHttpResponse(parts, content_type="application/zip")
    day = request.sender.day_of(now)
    response["Content-Disposition"] = f'attachment; filename="labels-{day:%Y-%m-%d}.zip"'
    return response


@audience(BOOKERS)
@require_GET
def label_test_page(request: MemberRequest) -> HttpResponse:
    """Show two distances to measure on paper, to check the printer's scale. It isn't a label."""
    return render(request, "orders/test_page.html")
