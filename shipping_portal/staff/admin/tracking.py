"""Parcels by reference, and their scans."""

import datetime as dt
import uuid
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from orders.contract import contract_of
from shipping_portal.staff import queues
from shipping_portal.staff.admin.reading import ReadOnlyAdmin, ReadOnlyInline, folded
from shipping_portal.staff.masking import masked
from tracking import gaps
from tracking.models import Parcel, TrackingEvent, Watch


class WhoseFilter(admin.SimpleListFilter):
    title = "whose"
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("nobody", "Nobody's: unknown reference"), ("ours", "Booked here"), ("watched", "Watched")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Parcel]) -> QuerySet[Parcel]:
        match self.value():
            case "nobody":
                return queryset.filter(queues.unmatched())
            case "ours":
                return queryset.filter(order__isnull=False)
            case "watched":
                return queryset.filter(pk__in=Watch.objects.values("parcel"))
        return queryset


class EventInline(ReadOnlyInline):
    model = TrackingEvent
    fields = [
        "scan_time",
        "event_type",
        "description",
        "suburb",
        "postcode",
        "country",
        "source",
        "set_aside",
    ]
    ordering = ["-scan_time", "-pk"]

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
    list_display = [
        "reference",
        "order",
        "progress",
        "last_scan_at",
        "polled_at",
        "polled_next_at",
        "subscription",
    ]
    list_filter = [WhoseFilter, "progress", "subscription"]
    list_select_related = ["order", "poll"]
    search_fields = ["reference"]  # turns the box on; get_search_results does the looking
    search_help_text = "A whole reference"
    readonly_fields = ["polled_at", "polled_next_at"]
    inlines = [EventInline, WatchInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Parcel]:
        return super().get_queryset(request).select_related("order", "poll")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Parcel], search_term: str
    ) -> tuple[QuerySet[Parcel], bool]:
        typed = search_term.strip().upper()
        return (queryset.filter(reference__upper=typed) if typed else queryset), False

    @admin.display(description="polled at", ordering="poll__polled_at")
    def polled_at(self, parcel: Parcel) -> dt.datetime | None:
        return parcel.poll.polled_at if hasattr(parcel, "poll") else None

    @admin.display(description="next poll", ordering="poll__due_at")
    def polled_next_at(self, parcel: Parcel) -> dt.datetime | None:
        return parcel.poll.due_at if hasattr(parcel, "poll") else None


class FoundFilter(admin.SimpleListFilter):
    """What the gap meter's alarm counts, and the same over a day."""

    title = "found"
    parameter_name = "found"
    spans = {"polling": dt.timedelta(hours=1), "polling-day": dt.timedelta(days=1)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("polling", "First by polling, last hour"),
            ("polling-day", "First by polling, last 24 hours"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[TrackingEvent]) -> QuerySet[TrackingEvent]:
        if self.value() not in self.spans:
            return queryset
        found = gaps.found_first_by_polling(timezone.now(), within=self.spans[str(self.value())])
        return queryset.filter(pk__in=found.values("pk"))


@admin.register(TrackingEvent)
class TrackingEventAdmin(ReadOnlyAdmin):
    list_display = ["scan_time", "parcel", "event_type", "description", "source", "received_at", "set_aside"]
    list_filter = [FoundFilter, "source", ("set_aside", admin.EmptyFieldListFilter)]
    list_select_related = ["parcel"]
    search_fields = ["parcel__reference"]
    search_help_text = "A whole reference, or an event id"
    exclude = ["raw"]
    readonly_fields = ["as_it_came"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrackingEvent]:
        return super().get_queryset(request).select_related("parcel", "account").defer("raw")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TrackingEvent], search_term: str
    ) -> tuple[QuerySet[TrackingEvent], bool]:
        return found_by_scan(queryset, search_term, ""), False

    @admin.display(description="raw")
    def as_it_came(self, event: TrackingEvent) -> SafeString | str:
        return folded(masked(event.raw, contract_of(event.account)), "As the carrier sent it")


def found_by_scan(queryset: QuerySet[Any], text: str, prefix: str) -> QuerySet[Any]:
    """Rows by a whole reference or an event id; `prefix` leads from the row to its scan."""
    text = text.strip()
    if not text:
        return queryset
    try:
        return queryset.filter(**{f"{prefix}event_id": uuid.UUID(text)})
    except ValueError:
        return queryset.filter(**{f"{prefix}parcel__reference__upper": text.upper()})
