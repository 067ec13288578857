"""Orders as an operator finds and reads them. Nothing here is edited: an order changes by its jobs only."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from orders.masking import PERSONAL, mask
from orders.models import BookingAttempt, CancelAttempt, Order
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin
from shipping_portal.accounts.adminkit.facts import ReadOnlyInline
from shipping_portal.accounts.adminkit.filters import SenderFilter, by_day, choices, on_day
from shipping_portal.accounts.adminkit.queues import needs
from shipping_portal.billing import queues as billing_queues
from shipping_portal.staff import finding, queues
from shipping_portal.staff.admin import erasing, noting, order_actions, parcel_page, resolving


class AssignedFilter(admin.SimpleListFilter):
    """One's own cases, and those nobody looks after."""

    title = "assigned to"
    parameter_name = "case"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mine", "Me"), ("others", "Others"), ("nobody", "No one")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        match self.value():
            case "mine":
                return queryset.filter(assignment__operator=request.user.pk)
            case "others":
                return queryset.filter(assignment__isnull=False).exclude(assignment__operator=request.user.pk)
            case "nobody":
                return queryset.filter(assignment=None)
        return queryset


class AttemptInline(ReadOnlyInline):
    """Each attempt to book, as it was written down before it left."""

    model = BookingAttempt
    fields = [*("generation", "state", "sent_at", "done_at", "http_status", "error", "seen_reference", "replays")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BookingAttempt]:
        return super().get_queryset(request).defer("body", "response")


class CancelInline(ReadOnlyInline):
    """Each cancellation that was asked for, and its answer."""

    model = CancelAttempt
    fields = ["asked_at", "by", "why", "state", "tries", "done_at", "http_status", "answer"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[CancelAttempt]:
        return super().get_queryset(request).select_related("by").defer("response")


def midnight(now: dt.datetime) -> dt.datetime:
    """Return when the day began, in UTC."""
    return now.astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)


MASKED = ("email", "phone", "line1", "line2", "instructions")
DAYS: Any = {  # by an index: when it was sent in, the last time it was
    "today": ("Today, UTC", lambda now: Q(submitted_at__gte=midnight(now))),
    "yesterday": (
        "Yesterday, UTC",
        lambda now: Q(submitted_at__gte=midnight(now) - dt.timedelta(days=1), submitted_at__lt=midnight(now)),
    ),
    "week": ("Last 7 days", lambda now: Q(submitted_at__gte=now - dt.timedelta(days=7))),
    "older": ("More than a week ago", lambda now: Q(submitted_at__lt=now - dt.timedelta(days=7))),
}
WAITS_FOR_DRIVER = Q(status="booked", progress="", first_mile="pickup")  # in the words of the index
COUNTRIES = {"AU": "Australia", "CA": "Canada", "US": "United States"}


@admin.register(Order)
class OrderAdmin(ActionsAdmin):
    """One order with all that is known of it, and the actions that apply to it now."""

    admin_actions = (
        resolving.ADD_ORDER_ID,
        order_actions.UNDO,
        order_actions.CONTEST,
        order_actions.SETTLED,
        order_actions.CANCEL,
        order_actions.CONFIRMED,
        order_actions.STILL_BOOKED,
    )
    change_list_template = "admin/list_with_acts.html"
    list_display = [*("name", "sender", "state", "to", "made", "looked_after_by")]
    waits = ("needs", {**queues.ORDERS, **billing_queues.ORDERS})
    list_filter = [
        needs(waits[1]),
        AssignedFilter,
        SenderFilter,
        choices("created", "made", DAYS),
        by_day("day booked, UTC", "day", on_day("submitted_at")),
        by_day("pickup day, not collected", "pickup", lambda day: WAITS_FOR_DRIVER & Q(carrier_pickup_date=day)),
        "status",
        "progress",
        choices(
            "receiver's country",
            "country",
            {code: (name, Q(receiver_country=code)) for code, name in COUNTRIES.items()}
            | {"other": ("Elsewhere", ~Q(receiver_country__in=COUNTRIES))},
        ),
    ]
    list_select_related = ["sender"]
    search_fields = ["search"]  # turns the box on; get_search_results does the looking
    search_help_text = (
        "Reference, order number, sender or A-number, or the receiver's name, postcode, or whole email or phone"
    )
    change_form_template = "admin/parcel.html"
    exclude = ["pickup", "search", "form_token", "form_hash", *(f"receiver_{name}" for name in MASKED)]
    readonly_fields = ["uuid", "reached", "from_where", "public_tracking_url"]
    inlines = [AttemptInline, CancelInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        near = ("sender", "account", "made_by", "replaces", "parcel", "assignment__operator")
        rows = Order.objects.select_related(*near)  # the list sorts it, maybe by `since`, which it has from here
        return rows.annotate(since=queues.since()) if self.wait_of(request) else rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Return the rows in which every word is found; a whole uuid or A-number is looked up as what it is."""
        finding.record_search(request.user, search_term)
        return (queryset.filter(finding.orders_by(search_term)) if search_term.strip() else queryset), False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Put the way to settle it beside the name, for those who may: the row is wider than many a screen.

        In a queue, how long it waits stands where else is when it was made.
        """
        is_queue = self.wait_of(request) is not None
        name, *facts = (column for column in super().get_list_display(request) if not (is_queue and column == "made"))
        return [name, *(["resolve"] if permissions.may(request.user, "resolve") else []), *facts]

    def get_urls(self) -> list[URLPattern]:
        pages = {"resolve": self.resolve_view, "reveal": self.reveal_view, "mail": self.mail_view}
        pages |= {"note": self.note_view, "assign": self.assign_view}
        own = [self.own_page(f"<int:pk>/{name}/", name, view) for name, view in pages.items()]
        own.append(self.own_page("erase/", "erase", self.erase_view))
        return [*own, *super().get_urls()]

    def resolve_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer the page that settles an unclear booking."""
        permissions.demand(request.user, "resolve")
        return resolving.page(request, self._order(request, pk), self.page_context(request))

    def reveal_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer the page that shows what is masked elsewhere, once a reason is given."""
        permissions.demand(request.user, "reveal")
        return resolving.reveal_page(request, self._order(request, pk), self.page_context(request))

    def mail_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer the page on which an email to the sender is written."""
        permissions.demand(request.user, "cases")
        return parcel_page.mail_page(request, self._order(request, pk), self.page_context(request))

    def note_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer the page that keeps a note about the order."""
        return noting.page(request, self._order(request, pk), self.page_context(request))

    @method_decorator(require_POST)
    def assign_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Say who looks after the order."""
        permissions.demand(request.user, "cases")
        return parcel_page.give_case(request, self._order(request, pk))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the parcel as a person reads it, above its columns."""
        order = self.get_object(request, object_id)
        shown = parcel_page.context(order, request.user) if order else {}
        if order:
            shown |= {"masked_contact": self.reached(order), "masked_pickup": self.from_where(order)}
        return super().change_view(request, object_id, form_url, shown | (extra_context or {}))

    def erase_view(self, request: HttpRequest) -> HttpResponse:
        """Answer the page that erases a person, of whatever sender."""
        permissions.demand(request.user, "erase")
        return erasing.page(request, self.page_context(request))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may_erase = permissions.may(request.user, "erase")
        acts = [("Erase a person", reverse("admin:orders_order_erase"))] if may_erase else []
        return super().changelist_view(request, {"acts": acts, **(extra_context or {})})

    def _order(self, request: HttpRequest, pk: int) -> Order:
        order = self.get_queryset(request).filter(pk=pk).first()
        if order is None:
            raise Http404
        return order

    def notice(self, thing: Order) -> str:
        """Say that a duplicate booking waits, if one does."""
        return order_actions.duplicate_booking_notice(thing)

    def open_actions(self, request: HttpRequest, object_id: str) -> list[tuple[str, str]]:
        """Return the actions that apply now, and the page that settles an unclear booking."""
        order = self.get_object(request, object_id)
        if order is None:
            return []
        is_open = order.status in resolving.RESOLVABLE and permissions.may(request.user, "resolve")
        first = [("Resolve", reverse("admin:orders_order_resolve", args=[order.pk]))] if is_open else []
        last = [("Reveal personal data", reverse("admin:orders_order_reveal", args=[order.pk]))]
        may_reveal = permissions.may(request.user, "reveal")
        return [*first, *super().open_actions(request, object_id), *(last if may_reveal else [])]

    @admin.display(description="next step")
    def resolve(self, order: Order) -> SafeString | str:
        """Link to the page that settles it, where it is unclear."""
        if order.status not in resolving.RESOLVABLE:
            return "–"
        url = reverse("admin:orders_order_resolve", args=[order.pk])
        return format_html('<a href="{}">Resolve<span class="visually-hidden"> {}</span></a>', url, order)

    @admin.display(description="order", ordering="pk")
    def name(self, order: Order) -> str:
        """Show the carrier's reference, or the order's number here."""
        return str(order)

    @admin.display(description="status", ordering="status")
    def state(self, order: Order) -> str:
        """Show its status, and where the parcel is while it is booked."""
        shown = order.get_progress_display() if order.status == "booked" else ""
        return f"{order.get_status_display()}: {shown.lower()}" if shown else order.get_status_display()

    @admin.display(description="to")
    def to(self, order: Order) -> str:
        """Show who gets it, and where."""
        return f"{order.receiver_name}, {order.receiver_suburb} {order.receiver_postcode}"

    @admin.display(description="created", ordering="pk")
    def made(self, order: Order) -> Any:
        """Show when it was made."""
        return order.created_at

    @admin.display(description="assigned to")
    def looked_after_by(self, order: Order) -> str:
        """Show whose case it is."""
        return str(order.assignment.operator) if hasattr(order, "assignment") else "–"

    @admin.display(description="email, phone, street and instructions")
    def reached(self, order: Order) -> str:
        """Show as much as tells two receivers apart; the rest is revealed for a reason."""
        return ", ".join(mask(text) for name in MASKED if (text := getattr(order, f"receiver_{name}"))) or "–"

    @admin.display(description="from")
    def from_where(self, order: Order) -> str:
        """Show the sender's side as it was booked, its people masked."""
        return ", ".join(mask(text) if name in PERSONAL else text for name, text in order.pickup.items() if text)
