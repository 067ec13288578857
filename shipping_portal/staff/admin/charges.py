"""Every line of money, of the carrier's reports and of the operator's own: read here, never edited."""

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from orders.models import Order
from orders.references import called
from shipping_portal.billing.models import Charge, Dispute
from shipping_portal.staff.admin.acts import ActsAdmin
from shipping_portal.staff.admin.charge_acts import ACCEPT, ASSIGN, REVERSE
from shipping_portal.staff.admin.charge_filters import OwnerFilter, RepeatFilter, WeekFilter
from shipping_portal.staff.admin.reading import ReadOnlyInline, link_to


class DisputeInline(ReadOnlyInline):
    model = Dispute
    fk_name = "charge"
    fields = ["made_at", "state", "text", "answer"]


@admin.register(Charge)
class ChargeAdmin(ActsAdmin):
    acts = (ASSIGN, ACCEPT, REVERSE)
    list_display = ["week", "parcel", "sender", "kind", "money", "posted", "repeats"]
    list_filter = [WeekFilter, OwnerFilter, RepeatFilter, "kind"]
    list_select_related = ["order", "sender"]
    search_fields = ["reference"]  # turns the box on; get_search_results does the looking
    search_help_text = "A whole carrier reference"
    inlines = [DisputeInline]
    fieldsets = [
        (None, {"fields": ["kind", "money", "from_report", "parcel", "owner", "posted_at"]}),
        ("As the carrier tells it", {"fields": ["word", "stated", "reference", "day", "repeats"]}),
        (
            "Size",
            {"fields": [("declared_kg", "measured_kg"), ("declared_m3", "measured_m3")]},
        ),
        ("By the operator", {"fields": ["reason", "by", "takes_back", "taken_back_by"]}),
    ]
    readonly_fields = ["money", "repeats", "from_report", "parcel", "owner", "takes_back", "taken_back_by"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Charge]:
        near = ("order", "sender", "report", "by", "reverses", "reversed_by")
        return super().get_queryset(request).select_related(*near)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Charge], search_term: str
    ) -> tuple[QuerySet[Charge], bool]:
        """By the order that has the reference, and among the lines that nobody owns: both have an index."""
        typed = search_term.strip()
        if not typed:
            return queryset, False
        theirs = called(Order.objects.all(), typed).order_by().values("pk")
        return queryset.filter(Q(order__in=theirs) | Q(sender=None, reference__upper=typed.upper())), False

    @admin.display(description="posted", ordering="posted_at")
    def posted(self, charge: Charge) -> str:
        return f"{charge.posted_at:%Y-%m-%d}" if charge.posted_at else "–"

    @admin.display(description="repeat", boolean=True)
    def repeats(self, charge: Charge) -> bool:
        return charge.is_repeat

    @admin.display(description="amount")
    def money(self, charge: Charge) -> str:
        return f"{charge.amount:,.2f}\N{NO-BREAK SPACE}{charge.currency}"

    @admin.display(description="parcel", ordering="order")
    def parcel(self, charge: Charge) -> SafeString | str:
        return link_to(charge.order, charge.reference) if charge.order else charge.reference or "–"

    @admin.display(description="sender")
    def owner(self, charge: Charge) -> SafeString | str:
        return link_to(charge.sender) if charge.sender else "Nobody yet"

    @admin.display(description="report")
    def from_report(self, charge: Charge) -> SafeString | str:
        if charge.report is None:
            return "None: a line of the operator's own"
        return link_to(charge.report, f"{charge.report}, line {charge.line}")

    @admin.display(description="takes back")
    def takes_back(self, charge: Charge) -> SafeString | str:
        return link_to(charge.reverses)

    @admin.display(description="taken back by")
    def taken_back_by(self, charge: Charge) -> SafeString | str:
        return link_to(getattr(charge, "reversed_by", None))
