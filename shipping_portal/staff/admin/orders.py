"""Orders as an operator finds and reads them. Nothing here is edited: an order changes by its jobs only."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.masking import PERSONAL, mask
from orders.models import BookingAttempt, CancelAttempt, Label, Order, OrderChange
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin
from shipping_portal.accounts.adminkit.facts import ReadOnlyInline, link_to
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.accounts.adminkit.queues import needs
from shipping_portal.accounts.models import Sender
from shipping_portal.billing import queues as billing_queues
from shipping_portal.billing.models import Charge
from shipping_portal.staff import queues
from shipping_portal.staff.admin import erasing, order_actions, resolving

FIELDSETS: Any = [
    (
        None,
        {
            "fields": [
                ("status", "progress"),
                ("carrier_reference", "carrier_order_id"),
                "sender",
                "problem",
                "scans",
                "calls_made",
            ]
        },
    ),
    (
        "When",
        {
            "fields": [
                ("created_at", "submitted_at", "made_by"),
                ("booked_at", "cancelled_at"),
                ("pickup_date", "carrier_pickup_date"),
                ("progress_at", "used_after_cancel_at"),
                ("due_at", "tries"),
            ]
        },
    ),
    (
        "Receiver",
        {
            "fields": [
                ("receiver_name", "receiver_company"),
                "reached",
                ("receiver_suburb", "receiver_state", "receiver_postcode", "receiver_country"),
            ]
        },
    ),
    (
        "Parcel",
        {
            "fields": [
                ("description", "customer_reference"),
                ("weight_kg", "length_cm", "width_cm", "height_cm"),
                "entered",
                ("contents_type", "contents"),
                "cover_amount",
                "from_where",
            ]
        },
    ),
    (
        "Product and price",
        {
            "fields": [
                ("product_name", "product_code", "first_mile", "duties_paid"),
                ("price", "charged_price", "currency"),
                ("unagreed_price", "unagreed_currency"),
                ("reserved_on", "reserved", "unbilled"),
                "breakdown",
                ("eta_from", "eta_to"),
                ("plan", "quoted_at"),
            ]
        },
    ),
    ("Numbers", {"fields": ["uuid", "generation", "replaces", "account", "public_tracking_url"]}),
]


class AttemptInline(ReadOnlyInline):
    """Each attempt to book, as it was written down before it left."""

    model = BookingAttempt
    fields = [*("generation", "state", "sent_at", "done_at", "http_status", "error", "seen_reference", "replays")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BookingAttempt]:
        return super().get_queryset(request).defer("body", "response")


class ChangeInline(ReadOnlyInline):
    """Every move from one status to another."""

    model = OrderChange
    fields = ["at", "old", "new", "by", "reason"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderChange]:
        return super().get_queryset(request).select_related("by")


class CancelInline(ReadOnlyInline):
    """Each cancellation that was asked for, and its answer."""

    model = CancelAttempt
    fields = ["asked_at", "by", "why", "state", "tries", "done_at", "http_status", "answer"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[CancelAttempt]:
        return super().get_queryset(request).select_related("by").defer("response")


class LabelInline(ReadOnlyInline):
    """The label files: stored, owed or gone. Their bytes are not shown."""

    model = Label
    fields = ["size", "state", "sha256", "length", "tries", "problem", "stored_at", "served_at", "purged_at"]


class ChargeInline(ReadOnlyInline):
    """Its lines of the carrier's reports, and what the operator gave back."""

    model = Charge
    fields = ["week", "kind", "amount", "currency", "word", "posted_at"]
    ordering = ["week", "pk"]


MASKED = ("email", "phone", "line1", "line2", "instructions")
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
    list_display = [
        *("name", "sender", "status", "progress", "product_name", "receiver_name", "receiver_suburb"),
        *("created_at", "due_at"),
    ]
    list_filter = [
        needs({**queues.ORDERS, **billing_queues.ORDERS}),
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
    search_help_text = "Reference, receiver's name, e-mail or postcode, our number, sender or its A-number"
    fieldsets = FIELDSETS
    exclude = ["pickup", *(f"receiver_{name}" for name in MASKED)]
    readonly_fields = ["uuid", "scans", "calls_made", "reached", "from_where"]
    inlines = [ChangeInline, AttemptInline, CancelInline, LabelInline, ChargeInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return super().get_queryset(request).select_related("sender", "account", "made_by", "replaces", "parcel")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Return the rows in which every word is found; a whole uuid or A-number is looked up as what it is."""
        for word in search_term.split()[:8]:
            queryset = queryset.filter(_names(word))
        return queryset, False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Put the way to settle it beside the name, for those who may: the row is wider than many a screen."""
        name, *facts = self.list_display
        return [name, *(["resolve"] if permissions.may(request.user, "resolve") else []), *facts]

    def get_urls(self) -> list[URLPattern]:
        pages = {"resolve": self.resolve_view, "reveal": self.reveal_view}
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

    @admin.display(description="e-mail, phone, street and instructions")
    def reached(self, order: Order) -> str:
        """Show as much as tells two receivers apart; the rest is revealed for a reason."""
        return ", ".join(mask(text) for name in MASKED if (text := getattr(order, f"receiver_{name}"))) or "–"

    @admin.display(description="picked up from")
    def from_where(self, order: Order) -> str:
        """Show the sender's side as it was booked, its people masked."""
        return ", ".join(mask(text) if name in PERSONAL else text for name, text in order.pickup.items() if text)

    @admin.display(description="scans")
    def scans(self, order: Order) -> SafeString | str:
        """Link to the parcel with its scans."""
        return link_to(getattr(order, "parcel", None))

    @admin.display(description="calls to the carrier")
    def calls_made(self, order: Order) -> SafeString:
        """Link to the calls to the carrier about it."""
        url = reverse("admin:orders_carriercall_changelist")
        return format_html('<a href="{}?order__id__exact={}">Calls about this order</a>', url, order.pk)


def _names(word: str) -> Q:
    """Return what one searched word may be: our own text, a reference, a number, a uuid, or a sender."""
    named = Q(search__contains=word.lower()) | Q(carrier_reference__upper=word.upper())
    senders = Q(name__icontains=word) | Q(memberships__user__email=word.lower()) | Q(pk=Sender.pk_of(word))
    named |= Q(sender__in=Sender.objects.filter(senders).values("pk"))
    if word.isdecimal() and len(word) < 10:
        named |= Q(pk=int(word))
    try:
        return named | Q(uuid=uuid.UUID(word))
    except ValueError:
        return named
