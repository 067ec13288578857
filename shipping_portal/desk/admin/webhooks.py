"""What the carrier posted to the listener, byte for byte, and what the listener refused."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from orders import gateway
from shipping_portal.accounts.models import Audit, User
from shipping_portal.desk import queues
from shipping_portal.desk.admin.acts import Act, ActsAdmin
from shipping_portal.desk.admin.reading import ReadOnlyAdmin, folded, link_to
from shipping_portal.desk.admin.tracking import found_by_scan
from shipping_portal.desk.masking import masked
from tracking import intake
from tracking.models import Parcel, WebhookDelivery, WebhookTally


def _read_again(delivery: WebhookDelivery, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    Audit.write("webhook read again", delivery, by=by, reason=cleaned["reason"], at=now)
    intake.read(delivery.pk)


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
class WebhookDeliveryAdmin(ActsAdmin):
    acts = (
        Act(
            "read-again",
            "Read again",
            "The stored body is read with today's contract. A scan that is known already stays one scan.",
            _read_again,
            applies=lambda delivery: delivery.state != WebhookDelivery.State.STORED,
        ),
    )
    list_display = ["received_at", "state", "reason", "parcel", "kind"]
    list_filter = [NeedsFilter, "state"]
    search_fields = ["sha256"]  # turns the box on; get_search_results does the looking
    search_help_text = "A whole reference, or an event id"
    fields = ["received_at", "state", "reason", "parcel", "event", "sha256", "as_it_came"]
    readonly_fields = ["parcel", "as_it_came"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookDelivery]:
        return super().get_queryset(request).select_related("event__parcel").defer("body", "event__raw")

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
        return folded(masked(delivery.body, gateway.contract()), "As the carrier sent it")


@admin.register(WebhookTally)
class WebhookTallyAdmin(ReadOnlyAdmin):
    list_display = ["day", "reason", "count"]
    ordering = ["-day", "reason"]
