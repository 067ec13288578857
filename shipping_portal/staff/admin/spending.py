"""What all senders together spent, day by day, and when the limit for it refused somebody."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from orders.models import DailySpend
from shipping_portal.staff import queues
from shipping_portal.staff.admin.reading import ReadOnlyAdmin


class NeedsFilter(admin.SimpleListFilter):
    """The same rules as the queues on the first page."""

    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, title) for name, (title, _, _) in queues.SPENDING_RULES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[DailySpend]) -> QuerySet[DailySpend]:
        if self.value() not in queues.SPENDING_RULES:
            return queryset
        _, rule, _ = queues.SPENDING_RULES[str(self.value())]
        return queryset.filter(rule(timezone.now()))


@admin.register(DailySpend)
class DailySpendAdmin(ReadOnlyAdmin):
    list_display = ["day", "spent", "limit", "refused_at", "mended", "mended_at"]
    list_filter = [NeedsFilter]
    readonly_fields = ["limit"]
    ordering = ["-day"]

    @admin.display(description="DAILY_MONEY_LIMIT now")
    def limit(self, day: DailySpend) -> str:
        return f"{settings.DAILY_MONEY_LIMIT:,.2f}"
