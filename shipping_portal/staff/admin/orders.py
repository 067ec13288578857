"""Orders as an operator finds and reads them. Nothing here is edited: an order changes by its journeys only."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.staff import groups, money, queues
from shipping_portal.staff.admin import cancelling, resolving, revealing, second_orders, unadopting
from shipping_portal.staff.admin.acts import ActsAdmin
from shipping_portal.staff.admin.order_page import (
    FIELDSETS,
    AttemptInline,
    CancelInline,
    ChangeInline,
    ChargeInline,
    LabelInline,
)
from shipping_portal.staff.admin.reading import link_to

COUNTRIES = [("AU", "Australia"), ("CA", "Canada"), ("US", "United States")]


class NeedsFilter(admin.SimpleListFilter):
    """The same rules as the queues on the first page."""

    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, title) for name, (title, _) in {**queues.ORDER_RULES, **money.ORDER_RULES}.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        if self.value() in money.ORDER_RULES:
            return queryset.filter(money.orders_that(str(self.value()), timezone.now()))
        if self.value() not in queues.ORDER_RULES:
            return queryset
        return queryset.filter(queues.ORDER_RULES[str(self.value())][1](timezone.now()))


class CountryFilter(admin.SimpleListFilter):
    title = "receiver's country"
    parameter_name = "country"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*COUNTRIES, ("other", "Elsewhere")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        known = [code for code, _ in COUNTRIES]
        if self.value() == "other":
            return queryset.exclude(receiver_country__in=known)
        return queryset.filter(receiver_country=self.value()) if self.value() in known else queryset


@admin.register(Order)
class OrderAdmin(ActsAdmin):
    acts = (
        resolving.ADD_ORDER_ID,
        unadopting.UNDO,
        unadopting.CONTEST,
        second_orders.SETTLED,
        cancelling.CANCEL,
        cancelling.CONFIRMED,
        cancelling.STILL_BOOKED,
    )
    list_display = [
        "name",
        "sender",
        "status",
        "progress",
        "product_name",
        "receiver_name",
        "receiver_suburb",
        "created_at",
        "due_at",
    ]
    list_filter = [NeedsFilter, "status", "progress", CountryFilter]
    list_select_related = ["sender"]
    search_fields = ["search"]  # turns the box on; get_search_results does the looking
    search_help_text = "Reference, receiver's name, e-mail or postcode, our number, sender or its A-number"
    fieldsets = FIELDSETS
    readonly_fields = ["uuid", "scans", "calls_made"]
    inlines = [ChangeInline, AttemptInline, CancelInline, LabelInline, ChargeInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return (
            super().get_queryset(request).select_related("sender", "account", "made_by", "replaces", "parcel")
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Every word must be found; a whole uuid or A-number is looked up as what it is."""
        for word in search_term.split()[:8]:
            queryset = queryset.filter(_names(word))
        return queryset, False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """With the way to settle it beside the name, for those who may: the row is wider than many a screen."""
        name, *facts = self.list_display
        return [name, *(["resolve"] if groups.may(request.user, "resolve") else []), *facts]

    def get_urls(self) -> list[URLPattern]:
        pages = {"resolve": self.resolve_view, "reveal": self.reveal_view}
        own = [
            path(f"<int:pk>/{name}/", self.admin_site.admin_view(view), name=f"orders_order_{name}")
            for name, view in pages.items()
        ]
        return [*own, *super().get_urls()]

    def resolve_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        groups.demand(request.user, "resolve")
        return resolving.page(request, self._order(request, pk), self._context(request))

    def reveal_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        groups.demand(request.user, "reveal")
        return revealing.page(request, self._order(request, pk), self._context(request))

    def _order(self, request: HttpRequest, pk: int) -> Order:
        order = self.get_queryset(request).filter(pk=pk).first()
        if order is None:
            raise Http404
        return order

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "opts": self.opts}

    def notice(self, thing: Order) -> str:
        return second_orders.notice(thing)

    def open_acts(self, request: HttpRequest, object_id: str) -> list[tuple[str, str]]:
        order = self.get_object(request, object_id)
        is_open = order is not None and order.status in resolving.RESOLVABLE
        may_resolve = is_open and groups.may(request.user, "resolve")
        first = [("Resolve", reverse("admin:orders_order_resolve", args=[object_id]))] if may_resolve else []
        return [*first, *super().open_acts(request, object_id)]

    @admin.display(description="next step")
    def resolve(self, order: Order) -> SafeString | str:
        if order.status not in resolving.RESOLVABLE:
            return "–"
        url = reverse("admin:orders_order_resolve", args=[order.pk])
        return format_html('<a href="{}">Resolve<span class="visually-hidden"> {}</span></a>', url, order)

    @admin.display(description="order", ordering="pk")
    def name(self, order: Order) -> str:
        return str(order)

    @admin.display(description="scans")
    def scans(self, order: Order) -> SafeString | str:
        return link_to(getattr(order, "parcel", None))

    @admin.display(description="calls to the carrier")
    def calls_made(self, order: Order) -> SafeString:
        url = reverse("admin:orders_carriercall_changelist")
        return format_html('<a href="{}?order__id__exact={}">Calls about this order</a>', url, order.pk)


def _names(word: str) -> Q:
    """What one searched word may be: our own text, a reference, a number, a uuid, or a sender."""
    named = Q(search__contains=word.lower()) | Q(carrier_reference__upper=word.upper())
    senders = Q(name__icontains=word) | Q(memberships__user__email=word.lower()) | Q(pk=Sender.pk_of(word))
    named |= Q(sender__in=Sender.objects.filter(senders).values("pk"))
    if word.isdecimal() and len(word) < 10:
        named |= Q(pk=int(word))
    try:
        return named | Q(uuid=uuid.UUID(word))
    except ValueError:
        return named
