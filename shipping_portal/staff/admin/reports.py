"""The carrier's weekly billing reports: what each came to, what keeps it from counting, and letting it count."""

from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse

from shipping_portal.billing.balancing import tallies
from shipping_portal.billing.models import BillingReport
from shipping_portal.staff import groups, money
from shipping_portal.staff.admin import report_acts, uploading
from shipping_portal.staff.admin.acts import ActsAdmin, ReasonForm


class NeedsFilter(admin.SimpleListFilter):
    """The same rules as the queues on the first page."""

    title = "needs"
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, title) for name, (title, _) in money.REPORT_RULES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[BillingReport]) -> QuerySet[BillingReport]:
        if self.value() not in money.REPORT_RULES:
            return queryset
        return queryset.filter(money.reports_that(str(self.value())))


@admin.register(BillingReport)
class BillingReportAdmin(ActsAdmin):
    own_pages = ("billing_billingreport_upload",)
    acts = report_acts.ACTS
    change_list_template = "admin/list_with_acts.html"
    change_form_template = "admin/billing_report.html"
    list_display = [
        "week", "name", "state", "rows", "matched", "unmatched", "repeats", "comes_to", "says", "account",
    ]  # fmt: skip
    list_display_links = ["week", "name"]
    list_filter = [NeedsFilter, "state"]
    list_select_related = ["account"]
    list_per_page = 20  # the lines of each are counted
    ordering = ["-week", "-pk"]
    search_fields = ["name"]
    exclude = ["profile", "problems"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.upload_view)
        return [path("upload/", view, name="billing_billingreport_upload"), *super().get_urls()]

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        groups.demand(request.user, "billing")
        return uploading.page(request, {**self.admin_site.each_context(request), "opts": self.opts})

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may = groups.may(request.user, "billing")
        acts = [("Upload a report", reverse("admin:billing_billingreport_upload"))] if may else []
        return super().changelist_view(request, {"acts": acts, **(extra_context or {})})

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The rows of the page with their lines counted, in one query."""
        shown: Any = super().get_changelist_instance(request)
        shown.result_list = list(shown.result_list)
        found = tallies(shown.result_list)
        for report in shown.result_list:
            report.tally = found[report.pk]
        return shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[BillingReport]:
        return super().get_queryset(request).select_related("account", "uploaded_by", "ended_by")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Reads what the report came to; the form to post it is on it."""
        report = self.get_object(request, object_id)
        if report is None or not self.has_view_permission(request, report):
            return super().change_view(request, object_id, form_url, extra_context)
        shown = uploading.standing(report)
        if shown["can_post"] and not shown["obstacles"] and groups.may(request.user, report_acts.POST.needs):
            shown |= {"form": ReasonForm(), "post": report_acts.POST}
        shown["acts"] = [
            act for act in self.open_acts(request, object_id) if act[0] != report_acts.POST.label
        ]
        shown["may_bill"] = groups.may(request.user, "billing")
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    @admin.display(description="matched")
    def matched(self, report: Any) -> int:
        return int(report.tally.matched)

    @admin.display(description="unmatched")
    def unmatched(self, report: Any) -> int:
        return int(report.tally.unmatched)

    @admin.display(description="repeats")
    def repeats(self, report: Any) -> int:
        return int(report.tally.repeats)

    @admin.display(description="lines come to")
    def comes_to(self, report: Any) -> str:
        return _sums(report.tally.found)

    @admin.display(description="file says")
    def says(self, report: BillingReport) -> str:
        return _sums({currency: Decimal(total) for currency, total in report.stated.items()})


def _sums(sums: dict[str, Decimal]) -> str:
    return ", ".join(f"{total:,.2f} {currency}" for currency, total in sorted(sums.items())) or "–"
