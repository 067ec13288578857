"""How the list of charges is narrowed down; each way has an index, or is few."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from shipping_portal.billing.models import BillingReport, Charge

WEEKS = 26


class WeekFilter(admin.SimpleListFilter):
    title = "week"
    parameter_name = "week"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        weeks = BillingReport.objects.order_by("-week").values_list("week", flat=True).distinct()[:WEEKS]
        return [(week.isoformat(), f"{week:%Y-%m-%d}") for week in weeks]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Charge]) -> QuerySet[Charge]:
        """By its reports, which have an index, and the operator's own lines, which are few."""
        if self.value() not in dict(self.lookup_choices):
            return queryset
        week = str(self.value())
        of_week = BillingReport.objects.filter(week=week).values("pk")
        return queryset.filter(Q(report__in=of_week) | Q(report=None, week=week))


class OwnerFilter(admin.SimpleListFilter):
    """“Nobody's, posted” is the same rule as the queue on the first page."""

    title = "owner"
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("nobody", "Nobody's, posted"), ("unmatched", "Nobody's"), ("sender", "A sender's")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Charge]) -> QuerySet[Charge]:
        match self.value():
            case "nobody":
                return queryset.filter(pk__in=Charge.objects.unmatched().posted().values("pk"))
            case "unmatched":
                return queryset.filter(pk__in=Charge.objects.unmatched().values("pk"))
            case "sender":
                return queryset.filter(sender__isnull=False)
        return queryset


class RepeatFilter(admin.SimpleListFilter):
    title = "repeat of a posted line"
    parameter_name = "repeat"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Yes, left out"), ("no", "No")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Charge]) -> QuerySet[Charge]:
        if self.value() in {"yes", "no"}:
            return queryset.filter(is_repeat=self.value() == "yes")
        return queryset
