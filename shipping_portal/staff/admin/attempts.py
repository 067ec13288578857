"""One try to book: what was sent, masked, and what came back."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from orders.contract import contract_of
from orders.models import BookingAttempt
from shipping_portal.staff.admin.reading import ReadOnlyAdmin, folded
from shipping_portal.staff.masking import masked


@admin.register(BookingAttempt)
class BookingAttemptAdmin(ReadOnlyAdmin):
    list_display = ["pk", "order", "state", "sent_at", "done_at", "http_status", "error"]
    list_filter = ["state"]
    list_select_related = ["order"]
    search_fields = ["order__carrier_reference", "=key", "=seen_reference"]
    fields = [
        "order",
        "generation",
        "key",
        "state",
        "sent_at",
        "lease_until",
        "done_at",
        "replays",
        "http_status",
        "error",
        "seen_reference",
        "body_sha256",
        "request",
        "answer",
    ]
    readonly_fields = ["key", "request", "answer"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BookingAttempt]:
        return super().get_queryset(request).select_related("order__account").defer("body", "response")

    @admin.display(description="request, masked")
    def request(self, attempt: BookingAttempt) -> SafeString | str:
        return folded(masked(attempt.body, contract_of(attempt.order.account)), "What was sent")

    @admin.display(description="answer, masked")
    def answer(self, attempt: BookingAttempt) -> SafeString | str:
        response = bytes(attempt.response)
        return folded(
            masked(response, contract_of(attempt.order.account)) if response else "", "What came back"
        )
