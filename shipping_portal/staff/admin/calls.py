"""The log of calls to the carrier: what was asked and how it went. Kept for CALL_LOG_DAYS; holds no body or query."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from orders.models import CarrierCall
from shipping_portal.staff import queues
from shipping_portal.staff.admin.reading import ReadOnlyAdmin, link_to

SLOW_MILLISECONDS = 2000
OPERATIONS = ("quote", "quote_contents", "book", "view", "cancel", "label", "track", "subscribe", "ping")


class OperationFilter(admin.SimpleListFilter):
    """By name, as a list of what occurs would read the whole log."""

    title = "operation"
    parameter_name = "operation"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.replace("_", " ").capitalize()) for name in OPERATIONS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CarrierCall]) -> QuerySet[CarrierCall]:
        return queryset.filter(operation=self.value()) if self.value() in OPERATIONS else queryset


class StatusFilter(admin.SimpleListFilter):
    title = "answer"
    parameter_name = "answer"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(f"{digit}", f"{digit}00 to {digit}99") for digit in range(2, 6)] + [("none", "No answer")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CarrierCall]) -> QuerySet[CarrierCall]:
        if self.value() == "none":
            return queryset.filter(status=None)
        if self.value() in {"2", "3", "4", "5"}:
            first = int(str(self.value())) * 100
            return queryset.filter(status__range=(first, first + 99))
        return queryset


class SlowFilter(admin.SimpleListFilter):
    title = "time"
    parameter_name = "time"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("slow", "Over 2 seconds")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CarrierCall]) -> QuerySet[CarrierCall]:
        return queryset.filter(milliseconds__gt=SLOW_MILLISECONDS) if self.value() == "slow" else queryset


class ReadingFilter(admin.SimpleListFilter):
    """Those of the queue, by its own rule."""

    title = "reading"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("reading", "Not read in full, last 24 hours")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CarrierCall]) -> QuerySet[CarrierCall]:
        wanted = self.value() == "reading"
        return queryset.filter(queues.not_read_in_full(timezone.now())) if wanted else queryset


@admin.register(CarrierCall)
class CarrierCallAdmin(ReadOnlyAdmin):
    list_display = [
        *("at", "operation", "method", "path", "status", "outcome", "unreadable", "milliseconds", "about"),
    ]
    list_filter = [
        OperationFilter,
        StatusFilter,
        SlowFilter,
        ReadingFilter,
        ("order", admin.EmptyFieldListFilter),
    ]
    list_select_related = ["order"]
    search_fields = ["=operation", "=outcome", "=order__carrier_reference"]
    search_help_text = "Operation, outcome or the order's reference"

    @admin.display(description="order")
    def about(self, call: CarrierCall) -> SafeString | str:
        return link_to(call.order)
