"""What the carrier posted to the listener, byte for byte, and what the listener refused."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from orders.contract import contract_of
from shipping_portal.staff import groups, queues
from shipping_portal.staff.admin import replaying
from shipping_portal.staff.admin.reading import ReadOnlyAdmin, folded, link_to
from shipping_portal.staff.admin.tracking import found_by_scan
from shipping_portal.staff.masking import masked
from shipping_portal.staff.replaying import MOST
from tracking.models import Parcel, WebhookDelivery, WebhookTally


class NeedsFilter(admin.SimpleListFilter):
    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("reading", "Gave no scan"), ("owner", "Unknown reference")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]
    ) -> QuerySet[WebhookDelivery]:
        if self.value() == "reading":
            return queryset.filter(queues.unread(timezone.now()))
        if self.value() == "owner":
            return queryset.filter(event__parcel__in=Parcel.objects.filter(queues.unmatched()).values("pk"))
        return queryset


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """What came. The one act is reading again, on a page that tells first what it would change (replaying.py)."""

    change_list_template = "admin/list_with_acts.html"
    change_form_template = "admin/with_acts.html"
    actions = ["read_ticked_again"]
    list_display = ["received_at", "state", "reason", "parcel", "kind"]
    list_filter = [NeedsFilter, "state"]
    search_fields = ["sha256"]  # turns the box on; get_search_results does the looking
    search_help_text = "A whole reference, or an event id"
    fields = [
        "received_at",
        "account",
        "state",
        "reason",
        "polled_for",
        "parcel",
        "event",
        "sha256",
        "as_it_came",
    ]
    readonly_fields = ["parcel", "as_it_came"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.replay_view)
        return [path("replay/", view, name="tracking_webhookdelivery_replay"), *super().get_urls()]

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return groups.may(request.user, "replay")

    def replay_view(self, request: HttpRequest) -> HttpResponse:
        groups.demand(request.user, "replay")
        return replaying.page(request, self.admin_site.each_context(request))

    @admin.action(description="Read again", permissions=["replay"])
    def read_ticked_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> HttpResponse:
        ids = list(queryset.order_by("pk").values_list("pk", flat=True)[:MOST])
        return replaying.shown(request, self.admin_site.each_context(request), ids)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        acts = [self._act_on_list(request)] if self.has_replay_permission(request) else []
        return super().changelist_view(request, {"acts": acts, **(extra_context or {})})

    def _act_on_list(self, request: HttpRequest) -> tuple[str, str]:
        """Reading again what the list is filtered by; without a filter the page asks what."""
        url = reverse("admin:tracking_webhookdelivery_replay")
        needs = replaying.UNREAD if request.GET.get("needs") == "reading" else ""
        state = request.GET.get("state__exact", needs)
        return (
            ("Read these again", f"{url}?{urlencode({'state': state})}")
            if state
            else ("Read again by time", url)
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        again = f"{reverse('admin:tracking_webhookdelivery_replay')}?ids={object_id}"
        acts = [("Read again", again)] if self.has_replay_permission(request) else []
        return super().change_view(request, object_id, form_url, {"acts": acts, **(extra_context or {})})

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookDelivery]:
        return (
            super()
            .get_queryset(request)
            .select_related("event__parcel", "account")
            .defer("body", "event__raw")
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WebhookDelivery], search_term: str
    ) -> tuple[QuerySet[WebhookDelivery], bool]:
        return found_by_scan(queryset, search_term, "event__"), False

    @admin.display(description="parcel")
    def parcel(self, delivery: WebhookDelivery) -> SafeString | str:
        return link_to(delivery.event.parcel if delivery.event else None)

    @admin.display(description="kind")
    def kind(self, delivery: WebhookDelivery) -> str:
        return delivery.event.event_type if delivery.event else "–"

    @admin.display(description="raw")
    def as_it_came(self, delivery: WebhookDelivery) -> SafeString | str:
        return folded(masked(delivery.body, contract_of(delivery.account)), "As the carrier sent it")


@admin.register(WebhookTally)
class WebhookTallyAdmin(ReadOnlyAdmin):
    list_display = ["day", "reason", "count"]
    ordering = ["-day", "reason"]
