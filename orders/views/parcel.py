"""Show one parcel, the progress of its booking, and the consent to a new price."""

import datetime as dt
import uuid

from django.contrib import messages
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.booking import booking_rules, bookings
from orders.cancelling.cancel_rules import can_cancel
from orders.drafting import returning
from orders.drafting.receivers import sees_contact, shown_receiver
from orders.labels.printing import has_worthless_label, label_of
from orders.models import Label, Order, Replacement
from orders.models.statuses import UNCLEAR_BOOKING, Progress, Status
from orders.quoting.offers import money_lines
from orders.status import consignments, dismissing
from orders.status.references import with_reference
from orders.status.status_labels import NEEDS_SENDER, reason_to_look, status_label, waits_for
from orders.status.status_sentences import heading, status_sentence
from orders.views.responses import (
    NOTHING_TO_COPY,
    error_sentence,
    refused_page,
    suspended_page,
)
from shipping_portal.accounts.access import (
    BOOKERS,
    BOOKKEEPER,
    EVERY_MEMBER,
    SEE_MONEY,
    MemberRequest,
    audience,
)
from shipping_portal.accounts.address import countries, places

SLOW_AFTER_SECONDS = 10
# Who acts when a parcel has a problem: its sender on the carrier's own page, or us.
HELP = {
    **dict.fromkeys(
        (Progress.PICKUP_FUTILE, Progress.DELIVERY_ATTEMPTED, Progress.CANNOT_DELIVER), "tools"
    ),
    **dict.fromkeys((Progress.DAMAGED, Progress.LOST, Progress.RETURNING), "us"),
}
CHOOSE_AGAIN = (
    booking_rules.CarrierChanged,
    booking_rules.PickupMoved,
    booking_rules.PickupDayPassed,
)
POLL_MILLISECONDS = {"quick": 500, "slow": 3000}


def orders_of(request: MemberRequest) -> QuerySet[Order]:
    """Return the orders this user may see, with what their pages read."""
    mine = Order.objects.for_user(request.user).select_related(
        "sender", "account", "parcel__account", "replaces", "returns", "printed_by", "receiver_page"
    )
    needs = ExpressionWrapper(NEEDS_SENDER, BooleanField())
    return mine.annotate(needs_sender=needs).prefetch_related("labels")


@audience(EVERY_MEMBER)
@require_GET
def parcel(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show everything this role may see of one parcel.

    htmx polls with `seen` and gets 204 while the state is unchanged.
    """
    found = get_object_or_404(_with_replacements(orders_of(request)), uuid=order)
    state = _page_state(found, sees_money=request.membership.role in SEE_MONEY)
    if request.GET.get("seen") == state:
        return HttpResponse(status=204)
    template = "orders/_parcel.html" if "seen" in request.GET else "orders/parcel.html"
    return render(request, template, parcel_context(request, found, state))


def _with_replacements(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Annotate each order with a replacement that is planned, or was left out after a restore."""
    replacements = Replacement.objects.filter(order=OuterRef("pk"))
    open_now = Exists(replacements.filter(ended_at=None))
    return orders.annotate(
        is_being_replaced=open_now, is_left_out=Exists(replacements.left_out()) & ~open_now
    )


def _page_state(order: Order, *, sees_money: bool) -> str:
    """Return a value that changes whenever the page would.

    It includes charges for people who see them.
    """
    there = _count_related(order)
    labels = "-".join(sorted(f"{label.size}:{label.state}" for label in order.labels.all()))
    paused = ".paused" if waits_for(order, timezone.now()) else ""
    printed = f".{order.printed_at:%j%H%M%S}" if order.printed_at else ""
    refused = ".refused" if order.cancel_refused_at else ""
    refused += ".dismissed" if order.dismissed_at else ""
    soon = ".soon" if _waits_for_label(order, timezone.now()) else ""
    state = (
        f"{order.status}.{order.progress}.{there['scans']}.{labels}{paused}{printed}{refused}{soon}"
    )
    if order.parcel_count:
        state += consignments.state_of(order)
    return (
        f"{state}.{there['lines']}-{there['answers']}" if sees_money and there["lines"] else state
    )


def _count_related(order: Order) -> dict[str, int]:
    """Return the numbers of scans, posted charges and answered disputes, in one query."""
    posted = Q(charges__posted_at__isnull=False)
    answered = posted & Q(charges__disputes__answered_at__isnull=False)
    return Order.objects.filter(pk=order.pk).aggregate(
        scans=Count("parcel__events", distinct=True),
        lines=Count("charges", filter=posted, distinct=True),
        answers=Count("charges__disputes", filter=answered, distinct=True),
    )


def _waits_for_label(order: Order, now: dt.datetime) -> bool:
    """Return whether a booked parcel's label is being fetched.

    The page then checks again for a while.
    """
    if not order.is_booked or order.booked_at is None:
        return False
    is_new = (now - order.booked_at).total_seconds() < SLOW_AFTER_SECONDS
    return is_new and any(label.is_awaited for label in order.labels.all())


def parcel_context(request: MemberRequest, order: Order, state: str) -> dict[str, object]:
    now = timezone.now()
    role, progress = request.membership.role, order.shown_progress(now)
    cancels = sees_contact(role) and can_cancel(order, now)
    head = heading(order, now)
    sentence = status_sentence(order, now, sees_contact=sees_contact(role), can_cancel=cancels)
    return {
        "order": order,
        "state": state,
        "status_label": status_label(order, now),
        "reason": reason_to_look(order),
        "sentence": "" if sentence == f"{head}." else sentence,
        "heading": head,
        "progress": progress,
        "needs_help": HELP.get(Progress(progress), ""),
        "is_over": progress in {Progress.DELIVERED, Progress.EXPIRED},
        "receiver": shown_receiver(order, role),
        "sees_contact": sees_contact(role),
        "labels": _shown_labels(order) if sees_contact(role) else [],
        "ready_label": _ready_label(order) if sees_contact(role) else None,
        "is_worthless": has_worthless_label(order),
        "receiver_country": countries.country_name(order.receiver_country),
        "lines": money_lines(order.breakdown),
        "changes": order.changes.select_related("by"),
        "masks_details": role == BOOKKEEPER,
        "can_cancel": cancels,
        "can_copy": not (order.sender.is_suspended or order.erased_at),
        "can_send_back": (
            sees_contact(role)
            and not order.sender.is_suspended
            and not returning.why_not_sent_back(order)
        ),
        "returns": _returns_of(order),
        "together": consignments.parcels_of_booking(order),
        "is_put_away": order.status in Replacement.GOES_ON,
        "is_moving": (
            order.status in {Status.BOOKING, Status.BOOKED, Status.CANCELLING, Status.UNCONFIRMED}
        ),
        "waits_for_label": _waits_for_label(order, now),
    }


def _returns_of(order: Order) -> list[Order]:
    """Return the parcels that send this one back, the newest first."""
    return list(order.sent_back.order_by("-pk")) if order.progress in returning.ARRIVED else []


def _ready_label(order: Order) -> Label | None:
    """Return the label to frame and print, or None while this account's dispatch is stopped."""
    return None if order.is_stopped(order.sender) else label_of(order)


def _shown_labels(order: Order) -> list[Label]:
    """Return the labels that may be shown, the size this sender prints first."""
    if not order.is_booked:
        return []
    return sorted(order.labels.all(), key=lambda label: label.size != order.sender.label_size)


@audience(EVERY_MEMBER)
@require_GET
def parcel_by_reference(request: MemberRequest, reference: str) -> HttpResponse:
    """Open a parcel by the carrier's reference; 404 unless it is the user's own."""
    found = with_reference(Order.objects.for_user(request.user), reference).first()
    if found is None:
        raise Http404
    return redirect("parcel", found.uuid)


@audience(BOOKERS)
@require_GET
def booking_progress(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show the wait for the carrier's reply.

    htmx refreshes it; without JavaScript the page reloads by itself.
    """
    found = get_object_or_404(orders_of(request), uuid=order)
    if found.is_held or found.erased_at:
        return _to_parcel(request, found)
    pace, pause = _refresh_pace(found), waits_for(found, timezone.now())
    state = f"{found.status}.{pace}.{found.tries > 0}{'.paused' if pause else ''}"
    if found.parcel_count:
        state += consignments.state_of(found)
    if request.GET.get("seen") == state:
        return HttpResponse(status=204)
    template = "orders/_booking.html" if "seen" in request.GET else "orders/booking.html"
    context = {
        "order": found,
        "state": state,
        "pace": pace,
        "pause": pause,
        "pickup_has_come": places.is_day_reached(
            found.pickup_date, found.details().pickup, timezone.now()
        ),
        "together": consignments.parcels_of_booking(found),
    }
    return render(request, template, context | {"milliseconds": POLL_MILLISECONDS.get(pace)})


def _refresh_pace(order: Order) -> str:
    """Return how soon to check again, or "" if a person has to act next."""
    if order.status in UNCLEAR_BOOKING:
        return "slow"
    if order.status != Status.BOOKING:
        return ""
    seconds = (timezone.now() - order.submitted_at).total_seconds()
    return "slow" if seconds > SLOW_AFTER_SECONDS else "quick"


def _to_parcel(request: HttpRequest, order: Order) -> HttpResponse:
    """Redirect to the parcel. htmx would follow a 303 inside the fragment, so it gets a header."""
    if "seen" in request.GET:
        return HttpResponse(headers={"HX-Redirect": reverse("parcel", args=[order.uuid])})
    return redirect("parcel", order.uuid)


@audience(BOOKERS)
@require_POST
def confirm_price(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Book with the sender's consent to the amount and currency shown on the page."""
    found = get_object_or_404(orders_of(request), uuid=order)
    if found.erased_at or found.status not in {Status.DRAFT, Status.NOT_BOOKED}:
        moved_on = "It moved on since you opened the page. Nothing was booked twice."
        text = NOTHING_TO_COPY if found.erased_at else moved_on
        return refused_page(request, title="This parcel needs no yes now", text=text, order=found)
    if request.POST.get("agreed") != str(found.price_to_confirm):
        messages.warning(
            request, "The price changed again. Nothing was booked; this is the newest one."
        )
        return redirect("booking_progress", found.uuid)
    try:
        bookings.confirm(
            found, by=request.user, now=timezone.now(), next_day="next_day" in request.POST
        )
    except booking_rules.Suspended:
        return suspended_page(request, status=403)
    except (booking_rules.Paused, bookings.LimitReached) as error:
        messages.error(request, error_sentence(error, request.sender))
    except CHOOSE_AGAIN as error:
        # The sender has to choose again, at current prices.
        messages.error(request, error_sentence(error, request.sender))
        return redirect(f"{reverse('new_parcel')}?again={found.uuid}")
    except Order.Duplicate:
        messages.error(request, returning.ANOTHER)
    except Order.WrongStatus:
        # A simultaneous request was faster.
        pass
    return redirect("booking_progress", found.uuid)


@audience(BOOKERS)
@require_POST
def dismiss(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Dismiss a parcel that its sender has dealt with, or undo that."""
    mine = Order.objects.for_user(request.user).filter(uuid=order)
    if not mine.exists():
        raise Http404
    if "undo" in request.POST:
        dismissing.undo(mine)
    else:
        dismissing.dismiss(mine, timezone.now())
    return redirect("parcel", order)
