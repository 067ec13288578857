"""Define what is true of every EasyPost account, as points of its contract."""

from typing import Any

from shipping_portal.carrier.points import WORDS

# A scan's status detail overrides its status if it says more.
DETAILS = {
    "received_at_origin_facility": "collected",
    "damaged": "damaged",
    "lost": "lost",
    "expired": "expired",
    "refused": "cannot_deliver",
    "return": "returning",
}
STATUSES = {
    "unknown": "",
    "pre_transit": "",
    "in_transit": "in_transit",
    "out_for_delivery": "out_for_delivery",
    "available_for_pickup": "held",
    "delivered": "delivered",
    "return_to_sender": "returning",
    "failure": "cannot_deliver",
    "cancelled": "",
    "error": "",
}
# One label for any paper, because each carrier has its own names for its sizes.
LABEL_SIZES = ("any",)
POINTS: dict[str, Any] = {
    "partner_query": "",
    "partner_field": "",
    "idempotency_header": "",
    # until the carrier records the request; an undecided one is viewed again
    "cancel_repeatable": True,
    "quote_contents": "POST /v2/shipments",
    "book": "POST /v2/shipments/{id}/buy",
    "view": "GET /v2/shipments/{id}",
    "cancel": "POST /v2/shipments/{id}/refund",
    "track": "GET /v2/trackers?tracking_code={reference}",
    "subscribe": "",  # a tracker that we create ourselves costs money
    "ping": "GET /v2/trackers?page_size=1",  # its account pages only accept a live key
    "export_origins": ("AU", "CA", "US"),
    "cover_origins": ("US",),  # insurance is in US dollars
    "duties_paid_word": "",
    "pickup_suffix": "",
    "dropoff_suffix": "",
    "quoted_code": "service",
    "quoted_name": "carrier",
    "quoted_first_mile": "",
    "quoted_service": "service",
    "quoted_price": "rate",
    "quoted_currency": "currency",
    "quoted_cover": "",
    "breakdown": "",
    "taxes": "",
    "plan": "",
    "eta_dates": "delivery_date",
    "eta_days": "delivery_days",
    "eta_send_date": "",
    "order_id": "id",
    "order_key": "reference",
    "reference": "tracking_code",
    "reference_shape": "[A-Za-z0-9-]{5,60}",
    "state": "refund_status",
    "cancelled_word": "refunded",
    "asked_word": "submitted",
    "cancel_refused_states": ("rejected", "not_applicable"),
    "labels": "postage_label",
    "label_format": "label_file_type",
    "label_size": "",
    "label_url": "label_pdf_url",
    "label_fetch": "get",
    "label_hosts": (
        "easypost-files.s3.us-west-2.amazonaws.com easypost-files.s3-us-west-2.amazonaws.com"
    ),
    "full_page_sizes": LABEL_SIZES,
    "cropped_sizes": LABEL_SIZES,
    "test_field": "mode",
    "test_word": "test",
    "booked_price": "selected_rate.rate",
    "booked_currency": "selected_rate.currency",
    "booked_breakdown": "",
    "booked_pickup_date": "",
    "booked_eta_from": "tracker.est_delivery_date",
    "booked_eta_to": "tracker.est_delivery_date",
    "is_cancellable": "",
    "tracking_url": "tracker.public_url",
    "events": "tracking_details",
    "event_reference": "result.tracking_code",  # in a webhook; scans in a history have none
    "event_id": "",
    "event_type": "status",
    "scan_time": "datetime",
    "event_description": "message",
    "webhook_means": "look",  # a delivery has the whole history, without ids
    "location": "tracking_location",
    "location_suburb": "city",
    "location_postcode": "zip",
    "error_code": "error.code",
    "error_text": "error.message",
    "error_messages": "error.errors",
    "words": WORDS | STATUSES | DETAILS,
}
