"""Show orders to operators. Nothing is edited here: orders change only by their jobs."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.calling import carrier_settings, gateway
from orders.drafting.receivers import who_and_where
from orders.masking import PERSONAL, mask_value
from orders.models import BookingAttempt, CancelAttempt, Order
from orders.models.statuses import UNCLEAR_BOOKING
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, ReadOnlyInline, column
from shipping_portal.accounts.adminkit.filters import SenderFilter, by_day, choices, on_day
from shipping_portal.accounts.adminkit.queues import needs
from shipping_portal.billing import queues as billing_queues
from shipping_portal.staff import finding, queues
from shipping_portal.staff.admin import erasing, noting, order_actions, parcel_page, resolving


class AssignedFilter(admin.SimpleListFilter):
    """Filter by the user's own cases or those without an owner."""

    title = "assigned to"
    parameter_name = "case"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mine", "Me"), ("others", "Others"), ("nobody", "No one")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        match self.value():
            case "mine":
                return queryset.filter(assignment__operator=request.user.pk)
            case "others":
                return queryset.filter(assignment__isnull=False).exclude(
                    assignment__operator=request.user.pk
                )
            case "nobody":
                return queryset.filter(assignment=None)
        return queryset


class AccountFilter(admin.SimpleListFilter):
    """Filter by carrier account. It isn't shown if there is only one account."""

    title = "carrier account"
    parameter_name = "account"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        if len(carrier_settings.all_settings()) == 1:
            return []
        return [(str(row.pk), row.name) for row in gateway.all_accounts()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        chosen, known = self.value(), {value for value, _ in self.lookup_choices}
        return queryset.filter(account=int(chosen)) if chosen in known else queryset


class AttemptInline(ReadOnlyInline):
    """Show each attempt to book, as recorded before it was sent."""

    model = BookingAttempt
    fields = [
        "generation",
        "state",
        "sent_at",
        "done_at",
        "http_status",
        "error",
        "seen_reference",
        "replays",
    ]
    deferred = ("body", "response")


class CancelInline(ReadOnlyInline):
    """Show each cancellation and its reply."""

    model = CancelAttempt
    fields = ["asked_at", "by", "why", "state", "tries", "done_at", "http_status", "answer"]
    show_change_link = False
    related = ("by",)
    deferred = ("response",)


def midnight(now: dt.datetime) -> dt.datetime:
    """Return when the operators' day began."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)


MASKED = ("email", "phone", "line1", "line2", "instructions")
DAYS: Any = {  # by when it was last submitted, which has an index
    "today": (f"Today, {settings.TIME_ZONE}", lambda now: Q(submitted_at__gte=midnight(now))),
    "yesterday": (
        f"Yesterday, {settings.TIME_ZONE}",
        lambda now: Q(
            submitted_at__gte=midnight(now) - dt.timedelta(days=1), submitted_at__lt=midnight(now)
        ),
    ),
    "week": ("Last 7 days", lambda now: Q(submitted_at__gte=now - dt.timedelta(days=7))),
    "older": ("More than a week ago", lambda now: Q(submitted_at__lt=now - dt.timedelta(days=7))),
}
# exactly as the index has it
WAITS_FOR_DRIVER = Q(status="booked", progress="", first_mile="pickup")
COUNTRIES = {"AU": "Australia", "CA": "Canada", "US": "United States"}


@admin.register(Order)
class OrderAdmin(ActionsAdmin):
    """Show an order with everything known about it, and the actions that it currently allows."""

    admin_actions = (
        resolving.ADD_ORDER_ID,
        order_actions.UNDO,
        order_actions.CONTEST,
        order_actions.OPEN_AGAIN,
        order_actions.RESOLVED,
        order_actions.CANCEL,
        order_actions.CONFIRMED,
        order_actions.STILL_BOOKED,
    )
    admin_pages = (
        AdminPage(
            "resolve",
            resolving.page,
            needs="resolve",
            label="Resolve",
            is_first=True,
            applies=lambda order: order.status in UNCLEAR_BOOKING,
        ),
        AdminPage("reveal", resolving.reveal_page, needs="reveal", label="Reveal personal data"),
        AdminPage("mail", parcel_page.mail_page, needs="cases"),
        AdminPage("note", noting.page, needs="cases"),
        AdminPage("assign", parcel_page.give_case, needs="cases"),
        AdminPage("erase", erasing.page, needs="erase", label="Erase a person", is_of_list=True),
    )
    list_display = ["name", "sender", "state", "to", "made", "looked_after_by"]
    waits = ("needs", {**queues.ORDERS, **billing_queues.ORDERS})
    list_filter = [
        needs(waits[1]),
        AssignedFilter,
        SenderFilter,
        AccountFilter,
        choices("created", "made", DAYS),
        by_day(f"day booked, {settings.TIME_ZONE}", "day", on_day("submitted_at")),
        by_day(
            "pickup day, not collected",
            "pickup",
            lambda day: WAITS_FOR_DRIVER & Q(carrier_pickup_date=day),
        ),
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
    search_fields = ["search"]  # turns on the box; get_search_results does the search
    search_help_text = (
        "Reference, order number, sender or A-number, or the receiver's name, postcode, or whole"
        " email or phone"
    )
    change_form_template = "admin/parcel.html"
    exclude = [
        "pickup",
        "search",
        "form_token",
        "form_hash",
        *(f"receiver_{name}" for name in MASKED),
    ]
    readonly_fields = ["uuid", "reached", "from_where", "public_tracking_url"]
    inlines = [AttemptInline, CancelInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        near = ("sender", "account", "made_by", "replaces", "parcel", "assignment__operator")
        rows, wait = Order.objects.select_related(*near), self.wait_of(request)
        return queues.with_age(rows, wait) if wait else rows  # the list sorts by it

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Order], typed: str
    ) -> QuerySet[Order]:
        """Search for every word; a whole uuid or A-number is looked up directly."""
        finding.record_search(request.user, typed)
        return rows.filter(finding.orders_by(typed))

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Show the link to resolve a case beside the name: the row is wider than many screens.

        A queue's list shows the waiting time in place of the creation time.
        """
        is_queue = self.wait_of(request) is not None
        name, *facts = (
            column
            for column in super().get_list_display(request)
            if not (is_queue and column == "made")
        )
        return [name, *(["resolve"] if permissions.may(request.user, "resolve") else []), *facts]

    def thing_context(self, request: HttpRequest, thing: Order) -> Context:
        """Show a readable summary of the parcel above its columns."""
        return (
            super().thing_context(request, thing)
            | parcel_page.context(thing, request.user)
            | {"masked_contact": self.reached(thing), "masked_pickup": self.from_where(thing)}
        )

    def notice(self, thing: Order) -> str:
        """Return the notice of a waiting duplicate booking, if any."""
        return order_actions.duplicate_booking_notice(thing)

    @admin.display(description="next step")
    def resolve(self, order: Order) -> SafeString | str:
        """Link to the page that resolves an unclear booking."""
        if order.status not in UNCLEAR_BOOKING:
            return "–"
        url = reverse("admin:orders_order_resolve", args=[order.pk])
        return format_html(
            '<a href="{}">Resolve<span class="visually-hidden"> {}</span></a>', url, order
        )

    # the carrier's reference, or the order's number here
    name = column("order", str, ordering="pk")

    @admin.display(description="status", ordering="status")
    def state(self, order: Order) -> str:
        """Show its status, and where the parcel is while it is booked."""
        shown = order.get_progress_display() if order.status == "booked" else ""
        return (
            f"{order.get_status_display()}: {shown.lower()}"
            if shown
            else order.get_status_display()
        )

    to = column("to", who_and_where)
    made = column("created", lambda order: order.created_at, ordering="pk")
    looked_after_by = column(
        "assigned to", lambda it: it.assignment.operator if hasattr(it, "assignment") else "–"
    )

    @admin.display(description="email, phone, street and instructions")
    def reached(self, order: Order) -> str:
        """Show enough to tell two receivers apart; operators reveal the rest by giving a reason."""
        return (
            ", ".join(
                mask_value(text) for name in MASKED if (text := getattr(order, f"receiver_{name}"))
            )
            or "–"
        )

    @admin.display(description="from")
    def from_where(self, order: Order) -> str:
        """Show the sender's side as booked, with people masked."""
        return ", ".join(
            mask_value(text) if name in PERSONAL else text
            for name, text in order.pickup.items()
            if text
        )
