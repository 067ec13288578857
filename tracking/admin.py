"""Show parcels by reference, their scans, and stored webhooks to operators."""

import datetime as dt
import uuid
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from orders.calling.contract import contract_of
from orders.masking import masked_body
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.facts import (
    AdminPage,
    ReadOnlyAdmin,
    ReadOnlyInline,
    column,
    details,
    link_to,
)
from shipping_portal.accounts.adminkit.filters import Rule, by_day, choices, on_day
from tracking import queues, word_admin
from tracking.models import (
    IS_AHEAD,
    Parcel,
    TrackingEvent,
    Watch,
    WebhookDelivery,
    WebhookTally,
    happened_at,
)
from tracking.receiving import replaying, webhook_health
from tracking.receiving.replaying import MOST

__all__ = ["word_admin"]


class EventInline(ReadOnlyInline):
    model = TrackingEvent
    fields = [
        *(
            "scan_time",
            "clock_ahead_by",
            "event_type",
            "description",
            "suburb",
            "postcode",
            "country",
            "source",
        ),
        "set_aside",
    ]
    readonly_fields = ["clock_ahead_by"]
    ordering = [happened_at().desc(), "-scan_time", "-pk"]
    deferred = ("raw",)


class WatchInline(ReadOnlyInline):
    model = Watch
    fields = ["sender", "name", "made_by", "made_at"]
    show_change_link = False
    related = ("sender", "made_by")


@admin.register(Parcel)
class ParcelAdmin(ReadOnlyAdmin):
    waits = ("whose", queues.PARCELS)
    list_display = [
        "reference",
        "order",
        "progress",
        "last_scan_at",
        "polled_at",
        "polled_next_at",
        "subscription",
    ]
    list_filter = [
        choices(
            "whose",
            "whose",
            {
                "nobody": ("Unknown reference", queues.unmatched_references),
                "ours": ("Booked here", Q(order__isnull=False)),
                "watched": ("Watched", Q(pk__in=Watch.objects.values("parcel"))),
            },
        ),
        "progress",
        "subscription",
    ]
    linked = ("created_at__gte",)
    # This turns on the search box; get_search_results does the searching.
    search_fields = ["reference"]
    search_help_text = "Full reference"
    readonly_fields = ["polled_at", "polled_next_at"]
    inlines = [EventInline, WatchInline]
    related = ("order", "poll")
    polled_at = column(
        "polled at",
        lambda parcel: parcel.poll.polled_at if hasattr(parcel, "poll") else None,
        ordering="poll__polled_at",
    )
    polled_next_at = column(
        "next poll",
        lambda parcel: parcel.poll.due_at if hasattr(parcel, "poll") else None,
        ordering="poll__due_at",
    )

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Parcel], typed: str
    ) -> QuerySet[Parcel]:
        return rows.filter(reference__upper=typed.upper())


def _found_by_polling(within: dt.timedelta) -> Rule:
    """Return a rule for the scans that the gap alarm counts, within this time."""
    return lambda now: Q(
        pk__in=webhook_health.found_first_by_polling(now, within=within).values("pk")
    )


@admin.register(TrackingEvent)
class TrackingEventAdmin(ReadOnlyAdmin):
    list_display = [
        "scan_time",
        "clock_ahead_by",
        "parcel",
        "event_type",
        "description",
        "source",
        "received_at",
        "set_aside",
    ]
    list_filter = [
        choices(
            "found",
            "found",
            {
                "polling": (
                    "First by polling, last hour",
                    _found_by_polling(dt.timedelta(hours=1)),
                ),
                "polling-day": (
                    "First by polling, last 24 hours",
                    _found_by_polling(dt.timedelta(days=1)),
                ),
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
    related = ("parcel", "account")
    deferred = ("raw",)
    as_it_came = column(
        "raw", lambda it: details(masked_body(it.raw, contract_of(it.account)), "Show original")
    )

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[TrackingEvent], typed: str
    ) -> QuerySet[TrackingEvent]:
        return _found_by_scan(rows, typed, "")


def _found_by_scan(queryset: QuerySet[Any], text: str, prefix: str) -> QuerySet[Any]:
    """Find rows by a whole reference or event id; `prefix` leads from the row to its scan."""
    try:
        return queryset.filter(**{f"{prefix}event_id": uuid.UUID(text)})
    except ValueError:
        return queryset.filter(**{f"{prefix}parcel__reference__upper": text.upper()})


def _set_aside(text: str) -> Q:
    """Match deliveries without a scan that name this reference or event id."""
    set_aside = Q(state__in=WebhookDelivery.SET_ASIDE)
    try:
        return set_aside & Q(carrier_event_id=uuid.UUID(text))
    except ValueError:
        return set_aside & Q(reference__upper=text.upper())


def _of_nobody(now: dt.datetime) -> Q:
    return Q(event__parcel__in=Parcel.objects.filter(queues.unmatched_references(now)).values("pk"))


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Show stored webhook bodies. Reprocessing previews what would change (replaying.py)."""

    actions = ["read_ticked_again"]
    admin_pages = (
        AdminPage(
            "replay",
            replaying.replay_page,
            needs="replay",
            label="Reprocess by time",
            is_of_list=True,
        ),
    )
    waits = ("needs", queues.DELIVERIES)
    list_display = ["received_at", "state", "reason", "parcel", "kind"]
    list_filter = [
        choices(
            "queue",
            "needs",
            {
                "reading": ("No scan", queues.unread_webhooks),
                "owner": ("Unknown reference", _of_nobody),
            },
        ),
        by_day(f"day received, {settings.TIME_ZONE}", "day", on_day("received_at")),
        "state",
    ]
    # This turns on the search box; get_search_results does the searching.
    search_fields = ["sha256"]
    search_help_text = "Full reference or event ID"
    fields = [
        "received_at",
        "account",
        "state",
        "reason",
        "polled_for",
        "parcel",
        "event",
        "reference",
        "carrier_event_id",
        "scan_time",
        "sha256",
        "as_it_came",
    ]
    readonly_fields = ["parcel", "as_it_came"]
    related = ("event__parcel", "account")
    deferred = ("body", "event__raw")
    parcel = column(
        "parcel", lambda delivery: link_to(delivery.event.parcel if delivery.event else None)
    )
    kind = column("kind", lambda delivery: delivery.event.event_type if delivery.event else "–")
    as_it_came = column(
        "raw", lambda it: details(masked_body(it.body, contract_of(it.account)), "Show original")
    )

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return permissions.may(request.user, "replay")

    @admin.action(description="Reprocess", permissions=["replay"])
    def read_ticked_again(
        self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]
    ) -> HttpResponse:
        ids = list(queryset.order_by("pk").values_list("pk", flat=True)[:MOST])
        return replaying.show_preview(request, self.page_context(request), ids)

    def list_buttons(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Offer to reprocess the filtered deliveries; without a filter, the page asks which."""
        unread = replaying.UNREAD if request.GET.get("needs") == "reading" else ""
        state = request.GET.get("state__exact", unread)
        buttons = super().list_buttons(request)
        if not state:
            return buttons
        return [("Reprocess these", f"{url}?{urlencode({'state': state})}") for _, url in buttons]

    def open_actions(self, request: HttpRequest, thing: WebhookDelivery) -> list[tuple[str, str]]:
        return [("Reprocess", f"{url}?ids={thing.pk}") for _, url in super().list_buttons(request)]

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[WebhookDelivery], typed: str
    ) -> QuerySet[WebhookDelivery]:
        # Three queries, each with its own index, and no more rows than anyone reads.
        looks = rows & WebhookDelivery.looks_at([typed])
        read, unread = _found_by_scan(rows, typed, "event__"), rows.filter(_set_aside(typed))
        keys = [
            pk
            for found in (read, unread, looks)
            for pk in found.order_by("-pk").values_list("pk", flat=True)[:MOST]
        ]
        return rows.filter(pk__in=keys)


@admin.register(WebhookTally)
class WebhookTallyAdmin(ReadOnlyAdmin):
    list_display = ["day", "reason", "count"]
    ordering = ["-day", "reason"]
