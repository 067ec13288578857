"""Parcels by reference, their scans, and what the carrier posted."""

import datetime as dt
import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils.safestring import SafeString

from orders.calling.contract import contract_of
from orders.masking import masked
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin, ReadOnlyInline, details, link_to
from shipping_portal.accounts.adminkit.filters import Rule, by_day, choices, on_day
from tracking import queues, word_admin
from tracking.models import IS_AHEAD, Parcel, TrackingEvent, Watch, WebhookDelivery, WebhookTally, happened_at
from tracking.receiving import replaying, webhook_health
from tracking.receiving.replaying import MOST

__all__ = ["word_admin"]


class EventInline(ReadOnlyInline):
    model = TrackingEvent
    fields = [
        *("scan_time", "clock_ahead_by", "event_type", "description", "suburb", "postcode", "country", "source"),
        "set_aside",
    ]
    readonly_fields = ["clock_ahead_by"]
    ordering = [happened_at().desc(), "-scan_time", "-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrackingEvent]:
        return super().get_queryset(request).defer("raw")


class WatchInline(ReadOnlyInline):
    model = Watch
    fields = ["sender", "name", "made_by", "made_at"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Watch]:
        return super().get_queryset(request).select_related("sender", "made_by")


@admin.register(Parcel)
class ParcelAdmin(ReadOnlyAdmin):
    waits = ("whose", queues.PARCELS)
    list_display = [*("reference", "order", "progress", "last_scan_at", "polled_at", "polled_next_at", "subscription")]
    list_filter = [
        choices(
            "whose",
            "whose",
            {
                "nobody": ("Unknown reference", queues.unmatched),
                "ours": ("Booked here", Q(order__isnull=False)),
                "watched": ("Watched", lambda now: Q(pk__in=Watch.objects.values("parcel"))),
            },
        ),
        "progress",
        "subscription",
    ]
    linked = ("created_at__gte",)
    search_fields = ["reference"]  # turns the box on; get_search_results does the looking
    search_help_text = "Full reference"
    readonly_fields = ["polled_at", "polled_next_at"]
    inlines = [EventInline, WatchInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Parcel]:
        return super().get_queryset(request).select_related("order", "poll")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Parcel], search_term: str
    ) -> tuple[QuerySet[Parcel], bool]:
        return queryset.filter(Q(reference__upper=search_term.strip().upper()) if search_term.strip() else Q()), False

    @admin.display(description="polled at", ordering="poll__polled_at")
    def polled_at(self, parcel: Parcel) -> dt.datetime | None:
        return parcel.poll.polled_at if hasattr(parcel, "poll") else None

    @admin.display(description="next poll", ordering="poll__due_at")
    def polled_next_at(self, parcel: Parcel) -> dt.datetime | None:
        return parcel.poll.due_at if hasattr(parcel, "poll") else None


def _found_by_polling(within: dt.timedelta) -> Rule:
    """Return what the gap meter's alarm counts, and the same over a day."""
    return lambda now: Q(pk__in=webhook_health.found_first_by_polling(now, within=within).values("pk"))


@admin.register(TrackingEvent)
class TrackingEventAdmin(ReadOnlyAdmin):
    list_display = [
        *("scan_time", "clock_ahead_by", "parcel", "event_type", "description", "source", "received_at", "set_aside")
    ]
    list_filter = [
        choices(
            "found",
            "found",
            {
                "polling": ("First by polling, last hour", _found_by_polling(dt.timedelta(hours=1))),
                "polling-day": ("First by polling, last 24 hours", _found_by_polling(dt.timedelta(days=1))),
            },
        ),
        choices("carrier's clock", "clock", {"ahead": ("Ahead of the receipt", IS_AHEAD)}),
        "source",
        ("set_aside", admin.EmptyFieldListFilter),
    ]
    linked = ("account",)
    search_fields = ["parcel__reference"]
    search_help_text = "Full reference or event ID"
    exclude = ["raw"]
    readonly_fields = ["clock_ahead_by", "as_it_came"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrackingEvent]:
        return super().get_queryset(request).select_related("parcel", "account").defer("raw")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TrackingEvent], search_term: str
    ) -> tuple[QuerySet[TrackingEvent], bool]:
        return _found_by_scan(queryset, search_term, ""), False

    @admin.display(description="raw")
    def as_it_came(self, event: TrackingEvent) -> SafeString | str:
        return details(masked(event.raw, contract_of(event.account)), "Show original")


def _found_by_scan(queryset: QuerySet[Any], text: str, prefix: str) -> QuerySet[Any]:
    """Find rows by a whole reference or an event id; `prefix` leads from the row to its scan."""
    text = text.strip()
    if not text:
        return queryset
    try:
        return queryset.filter(**{f"{prefix}event_id": uuid.UUID(text)})
    except ValueError:
        return queryset.filter(**{f"{prefix}parcel__reference__upper": text.upper()})


def _set_aside(text: str) -> Q:
    """Return the condition for deliveries that gave no scan, and say of themselves that they are about this."""
    set_aside = Q(state__in=WebhookDelivery.SET_ASIDE)
    try:
        return set_aside & Q(carrier_event_id=uuid.UUID(text))
    except ValueError:
        return set_aside & Q(reference__upper=text.upper())


def _of_nobody(now: dt.datetime) -> Q:
    return Q(event__parcel__in=Parcel.objects.filter(queues.unmatched(now)).values("pk"))


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Webhook bodies as they came. Reading one again shows first what that would change (replaying.py)."""

    change_list_template = "admin/list_with_acts.html"
    change_form_template = "admin/with_acts.html"
    actions = ["read_ticked_again"]
    waits = ("needs", queues.DELIVERIES)
    list_display = ["received_at", "state", "reason", "parcel", "kind"]
    list_filter = [
        choices("queue", "needs", {"reading": ("No scan", queues.unread), "owner": ("Unknown reference", _of_nobody)}),
        by_day("day received, UTC", "day", on_day("received_at")),
        "state",
    ]
    search_fields = ["sha256"]  # turns the box on; get_search_results does the looking
    search_help_text = "Full reference or event ID"
    fields = [
        *("received_at", "account", "state", "reason", "polled_for", "parcel", "event"),
        *("reference", "carrier_event_id", "scan_time", "sha256", "as_it_came"),
    ]
    readonly_fields = ["parcel", "as_it_came"]

    def get_urls(self) -> list[URLPattern]:
        return [self.own_page("replay/", "replay", self.replay_view), *super().get_urls()]

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return permissions.may(request.user, "replay")

    def replay_view(self, request: HttpRequest) -> HttpResponse:
        permissions.demand(request.user, "replay")
        return replaying.page(request, self.admin_site.each_context(request))

    @admin.action(description="Reprocess", permissions=["replay"])
    def read_ticked_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> HttpResponse:
        ids = list(queryset.order_by("pk").values_list("pk", flat=True)[:MOST])
        return replaying.shown(request, self.admin_site.each_context(request), ids)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        acts = [self._replay_of_list(request)] if self.has_replay_permission(request) else []
        return super().changelist_view(request, {"acts": acts, **(extra_context or {})})

    def _replay_of_list(self, request: HttpRequest) -> tuple[str, str]:
        """Read again what the list is filtered by; without a filter the page asks what."""
        url = reverse("admin:tracking_webhookdelivery_replay")
        unread = replaying.UNREAD if request.GET.get("needs") == "reading" else ""
        state = request.GET.get("state__exact", unread)
        if state:
            return "Reprocess these", f"{url}?{urlencode({'state': state})}"
        return "Reprocess by time", url

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        again = f"{reverse('admin:tracking_webhookdelivery_replay')}?ids={object_id}"
        acts = [("Reprocess", again)] if self.has_replay_permission(request) else []
        return super().change_view(request, object_id, form_url, {"acts": acts, **(extra_context or {})})

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookDelivery]:
        rows = super().get_queryset(request).select_related("event__parcel", "account")
        return rows.defer("body", "event__raw")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WebhookDelivery], search_term: str
    ) -> tuple[QuerySet[WebhookDelivery], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        # Two questions, each with an index of its own, and no more rows than anybody reads.
        read, unread = _found_by_scan(queryset, text, "event__"), queryset.filter(_set_aside(text))
        keys = [pk for found in (read, unread) for pk in found.order_by("-pk").values_list("pk", flat=True)[:MOST]]
        return queryset.filter(pk__in=keys), False

    @admin.display(description="parcel")
    def parcel(self, delivery: WebhookDelivery) -> SafeString | str:
        return link_to(delivery.event.parcel if delivery.event else None)

    @admin.display(description="kind")
    def kind(self, delivery: WebhookDelivery) -> str:
        return delivery.event.event_type if delivery.event else "–"

    @admin.display(description="raw")
    def as_it_came(self, delivery: WebhookDelivery) -> SafeString | str:
        return details(masked(delivery.body, contract_of(delivery.account)), "Show original")


@admin.register(WebhookTally)
class WebhookTallyAdmin(ReadOnlyAdmin):
    list_display = ["day", "reason", "count"]
    ordering = ["-day", "reason"]
