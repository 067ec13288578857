"""Act on many chosen parcels at once: cancel those that may be, note, export, send again."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.cancelling import cancels
from orders.cancelling.cancel_rules import (
    CANNOT_CANCEL,
    refuse_cancel_unless_allowed,
    why_not_cancelled_now,
)
from orders.drafting.receivers import shown_receiver
from orders.labels.printing import MOST
from orders.list.export import export_columns, read_orders
from orders.models import Order
from orders.models.statuses import Status
from orders.status import dismissing
from orders.views.chosen import read_uuids
from orders.views.parcels import ListQuery
from shipping_portal import sheets
from shipping_portal.accounts.access import (
    BOOKERS,
    EVERY_MEMBER,
    MemberRequest,
    audience,
    require_get_or_post,
)
from shipping_portal.accounts.address.text import normalise_text

LONGEST_NOTE = 500
NOT_BOOKED = "It isn't booked, so there is nothing to cancel."
WHY_NOT = {
    Status.CANCELLED: "It is cancelled already.",
    Status.CANCELLING: "A cancellation is already under way.",
    Status.CANCEL_UNCONFIRMED: "A cancellation is already under way.",
    Status.CANCEL_ASKED: "A refund is already requested.",
    Status.UNCONFIRMED: "We're still checking with the carrier whether it is booked.",
    Status.CONFLICT: "The carrier's answers don't agree; a person is looking at it.",
}
EXPIRED = "Its label is too old to use. Throw it away."


def chosen_parcels(request: MemberRequest) -> QuerySet[Order]:
    """Return up to 500 chosen parcels of this user, newest first. Unknown ones are left out."""
    uuids = read_uuids(request.POST.getlist("order")[:MOST])
    return Order.objects.for_user(request.user).filter(uuid__in=uuids).order_by("-pk")


def _back_to_list(request: MemberRequest) -> HttpResponse:
    """Redirect to the list as it was."""
    query = QueryDict(request.POST.get("query", "")[:2000]).urlencode()
    return redirect(f"{reverse('parcels')}?{query}" if query else "parcels")


def _nothing_chosen(request: MemberRequest) -> HttpResponse:
    messages.warning(request, "Choose at least one parcel first.")
    return _back_to_list(request)


@audience(BOOKERS)
@require_POST
def cancel_many(request: MemberRequest) -> HttpResponse:
    """Show what can be cancelled and what can't, with reasons; with `sure`, cancel each one."""
    found = list(chosen_parcels(request).select_related("account"))
    if not found:
        return _nothing_chosen(request)
    if request.POST.get("sure") == "yes":
        return _cancel_each(request, found)
    rows = [_judge_cancelling(request, order) for order in found]
    context = {
        "eligible": [row for row in rows if not row["why"]],
        "excluded": [row for row in rows if row["why"]],
        "query": request.POST.get("query", "")[:2000],
    }
    return render(request, "orders/parcels_cancel.html", context)


def _judge_cancelling(request: MemberRequest, order: Order) -> dict[str, Any]:
    order.sender = request.sender
    try:
        refuse_cancel_unless_allowed(order, timezone.now())
    except CANNOT_CANCEL as error:
        why = why_not(order, error)
    else:
        why = ""
    return {"order": order, "receiver": shown_receiver(order, request.membership.role), "why": why}


def why_not(order: Order, error: Exception) -> str:
    """Return why this parcel can't be cancelled, in a sentence."""
    if isinstance(error, Order.AlreadyCollected | Order.PickupProblem):
        now = timezone.now()
        return (
            why_not_cancelled_now(order, order.shown_progress(now), order.progress_at, now=now)
            or EXPIRED
        )
    return str(error) if order.is_booked else WHY_NOT.get(Status(order.status), NOT_BOOKED)


def _cancel_each(request: MemberRequest, found: list[Order]) -> HttpResponse:
    """Ask for each cancellation; report those that changed since the page was shown."""
    count, kept = 0, []
    for order in found:
        order.sender = request.sender
        try:
            cancels.ask_to_cancel(order, by=request.user, why="not sending it", now=timezone.now())
        except CANNOT_CANCEL as error:
            order.refresh_from_db(fields=["status", "progress"])
            kept.append(f"{order.carrier_reference or 'One parcel'}: {why_not(order, error)}")
        else:
            count += 1
    if count:
        parcels = "1 parcel" if count == 1 else f"{count} parcels"
        text = (
            f"Cancellation of {parcels} requested. Don't use the labels until the carrier answers."
        )
        messages.info(request, text)
    for words in kept:
        messages.warning(request, f"Not cancelled. {words}")
    return _back_to_list(request)


@audience(BOOKERS)
@require_POST
def note_many(request: MemberRequest) -> HttpResponse:
    """Write a note on each chosen parcel, replacing an earlier one; an empty note removes it."""
    found = chosen_parcels(request)
    count = found.count()
    if not count:
        return _nothing_chosen(request)
    if "note" not in request.POST:
        notes = list(found.exclude(note="").values_list("note", flat=True))
        context = {
            "uuids": list(found.values_list("uuid", flat=True)),
            "count": count,
            "noted": len(notes),
            "note": notes[0] if count == 1 and notes else "",
            "longest": LONGEST_NOTE,
            "query": request.POST.get("query", "")[:2000],
        }
        return render(request, "orders/parcels_note.html", context)
    # A browser counts a line break as one character but sends two.
    typed = normalise_text(request.POST["note"]).replace("\r\n", "\n")
    text = "".join(c if c.isprintable() else " " for c in typed).strip()[:LONGEST_NOTE]
    Order.objects.for_user(request.user).filter(
        pk__in=list(found.values_list("pk", flat=True))
    ).update(note=text)
    messages.success(
        request, f"Note {'saved on' if text else 'removed from'} {count} parcel{'s'[: count != 1]}."
    )
    return _back_to_list(request)


@audience(BOOKERS)
@require_POST
def dismiss_many(request: MemberRequest) -> HttpResponse:
    """Dismiss those of the chosen parcels that need their sender."""
    found = chosen_parcels(request)
    if not found.exists():
        return _nothing_chosen(request)
    pks = found.values_list("pk", flat=True)
    dismissed = dismissing.dismiss(Order.objects.filter(pk__in=list(pks)), timezone.now())
    if dismissed:
        messages.success(
            request,
            f"Dismissed {dismissed} parcel{'s'[: dismissed != 1]}. They come back if something"
            " changes.",
        )
    else:
        messages.warning(
            request,
            "None of them can be dismissed: they don't need you, or we're still"
            " checking with the carrier.",
        )
    return _back_to_list(request)


@audience(BOOKERS)
@require_POST
def send_again(request: MemberRequest) -> HttpResponse:
    """Show the new-parcel form, filled in from one parcel."""
    found = list(chosen_parcels(request)[:2])
    if len(found) != 1:
        messages.warning(
            request, "Choose one parcel to send again. For many at once, import a file."
        )
        return _back_to_list(request)
    return redirect(f"{reverse('new_parcel')}?again={found[0].uuid}")


@audience(EVERY_MEMBER)
@require_get_or_post
def export(request: MemberRequest) -> HttpResponse | StreamingHttpResponse:
    """Stream the chosen parcels, or for GET the whole list, without signed links."""
    found = (
        chosen_parcels(request)
        if request.method == "POST"
        else ListQuery(request).found.order_by("-pk")
    )
    if request.method == "POST" and not found.exists():
        return _nothing_chosen(request)
    heads, cells = export_columns(request.membership.role, request.sender)
    now = timezone.now()

    rows = (cells(order, now) for order in read_orders(found, request.sender))
    day = request.sender.day_of(now)
    has_mark = (request.POST.get("mark") or request.GET.get("mark")) != "no"
    return sheets.stream_sheet(f"parcels-{day:%Y-%m-%d}.csv", heads, rows, has_mark=has_mark)
