"""How one order is laid out at the desk: its facts in groups, then everything that was done about it."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from orders.models import BookingAttempt, CancelAttempt, Label, OrderChange
from shipping_portal.accounts.adminkit.facts import ReadOnlyInline
from shipping_portal.billing.models import Charge

FIELDSETS: Any = [
    (
        None,
        {
            "fields": [
                ("status", "progress"),
                ("carrier_reference", "carrier_order_id"),
                "sender",
                "problem",
                "scans",
                "calls_made",
            ]
        },
    ),
    (
        "When",
        {
            "fields": [
                ("created_at", "submitted_at", "made_by"),
                ("booked_at", "cancelled_at"),
                ("pickup_date", "carrier_pickup_date"),
                ("progress_at", "used_after_cancel_at"),
                ("due_at", "tries"),
            ]
        },
    ),
    (
        "Receiver",
        {
            "fields": [
                ("receiver_name", "receiver_company"),
                ("receiver_email", "receiver_phone"),
                ("receiver_line1", "receiver_line2"),
                ("receiver_suburb", "receiver_state", "receiver_postcode", "receiver_country"),
                "receiver_instructions",
            ]
        },
    ),
    (
        "Parcel",
        {
            "fields": [
                ("description", "customer_reference"),
                ("weight_kg", "length_cm", "width_cm", "height_cm"),
                "entered",
                ("contents_type", "contents"),
                "cover_amount",
                "pickup",
            ]
        },
    ),
    (
        "Product and price",
        {
            "fields": [
                ("product_name", "product_code", "first_mile", "duties_paid"),
                ("price", "charged_price", "currency"),
                ("unagreed_price", "unagreed_currency"),
                ("reserved_on", "reserved", "unbilled"),
                "breakdown",
                ("eta_from", "eta_to"),
                ("plan", "quoted_at"),
            ]
        },
    ),
    ("Numbers", {"fields": ["uuid", "generation", "replaces", "account", "public_tracking_url"]}),
]


class AttemptInline(ReadOnlyInline):
    model = BookingAttempt
    fields = [
        *("generation", "state", "sent_at", "done_at", "http_status", "error", "seen_reference", "replays")
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BookingAttempt]:
        return super().get_queryset(request).defer("body", "response")


class ChangeInline(ReadOnlyInline):
    model = OrderChange
    fields = ["at", "old", "new", "by", "reason"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderChange]:
        return super().get_queryset(request).select_related("by")


class CancelInline(ReadOnlyInline):
    model = CancelAttempt
    fields = ["asked_at", "by", "why", "state", "tries", "done_at", "http_status", "answer"]
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[CancelAttempt]:
        return super().get_queryset(request).select_related("by").defer("response")


class LabelInline(ReadOnlyInline):
    model = Label
    fields = ["size", "state", "sha256", "length", "tries", "problem", "stored_at", "served_at", "purged_at"]


class ChargeInline(ReadOnlyInline):
    """Its lines of the carrier's reports, and what the operator gave back."""

    model = Charge
    fields = ["week", "kind", "amount", "currency", "word", "posted_at"]
    ordering = ["week", "pk"]
