"""Hold what is true of every ShipStation account, as points of its contract."""

from __future__ import annotations

from typing import Any

from shipping_portal.carrier.points import WORDS

# Operations that the contract has no point for, or a point with another method.
OPERATIONS = {
    "quote": "POST /rates/estimate",
    "prepare": "POST /rates",
    "find": "GET /labels/external_shipment_id/{id}",
    "history": "GET /labels/{id}/track",
}
STATUSES = {
    **{"un": "", "ny": "", "ac": "", "ex": ""},
    **{"it": "in_transit", "at": "delivery_attempted", "de": "delivered", "sp": "held"},
}
# A status detail counts before its status, where it says more.
DETAILS = {
    "dropped_off": "dropped_off",
    "picked_up": "collected",
    "pickup_failed": "pickup_futile",
    "out_for_delivery": "out_for_delivery",
    "attempted_delivery": "delivery_attempted",
    "attempted_delivery_final": "delivery_attempted",
    "customer_carded": "delivery_attempted",
    "awaiting_collection_from_pickup_point": "held",
    "collect_at_local_po": "held",
    "customer_to_collect_from_carrier": "held",
    "delivered_to_pickup_point": "held",
    "parcel_damaged": "damaged",
    "parcel_lost": "lost",
    "not_delivered": "cannot_deliver",
    "refused_by_customer": "cannot_deliver",
    "return_to_sender": "returning",
    "undeliverable_returned_to_sender": "returning",
    "tracking_expired": "expired",
}
# One label, whatever paper it is printed on.
LABEL_SIZES = ("4x6", "letter")
POINTS: dict[str, Any] = {
    "auth": "header:API-Key",
    "partner_query": "",
    "partner_field": "",
    "idempotency_header": "",
    "cancel_repeatable": False,  # a second void says that the label is voided already: look
    "quote_contents": OPERATIONS["quote"],
    "book": "POST /labels/rates/{id}",
    "view": "GET /labels/{id}",
    "cancel": "PUT /labels/{id}/void",
    "track": "GET /labels?tracking_number={reference}",
    "subscribe": "",  # a parcel booked elsewhere is charged for
    "ping": "GET /carriers",
    "export_origins": ("AU", "CA", "GB", "US"),
    "cover_origins": (),  # estimates don't say what it costs
    "duties_paid_word": "",
    "pickup_suffix": "",
    "dropoff_suffix": "",
    "quoted_code": "service_code",
    "quoted_name": "service_type",
    "quoted_first_mile": "",
    "quoted_service": "service_code",
    "quoted_price": "shipping_amount.amount",
    "quoted_currency": "shipping_amount.currency",
    "quoted_cover": "",
    "breakdown": "",
    "taxes": "",
    "plan": "",
    "eta_dates": "estimated_delivery_date",
    "eta_days": "delivery_days",
    "eta_send_date": "",
    "order_id": "label_id",
    "order_key": "external_shipment_id",
    "reference": "tracking_number",
    "reference_shape": "[A-Za-z0-9-]{5,60}",
    "state": "status",
    "cancelled_word": "voided",
    "refused_states": ("error",),
    "pending_states": ("processing",),
    "test_field": "test_label",
    "labels": "label_download",
    "label_format": "",
    "label_size": "",
    "label_url": "pdf",
    "label_fetch": "get",
    "label_hosts": "api.shipengine.com api.shipstation.com",
    "full_page_sizes": LABEL_SIZES,
    "cropped_sizes": LABEL_SIZES,
    "booked_price": "shipment_cost.amount",
    "booked_currency": "shipment_cost.currency",
    "booked_breakdown": "",
    "booked_pickup_date": "",
    "booked_eta_from": "",
    "booked_eta_to": "",
    "is_cancellable": "",
    "tracking_url": "tracking_url",
    "events": "events",
    "event_reference": "data.tracking_number",  # of a webhook; a scan in a history names none
    "event_id": "",
    "event_type": "kind",
    "scan_time": "occurred_at",
    "event_description": "description",
    "location": "location",
    "location_suburb": "city_locality",
    "location_state": "state_province",
    "location_postcode": "postal_code",
    "location_country": "country_code",
    "error_code": "",
    "error_text": "",
    "error_messages": "errors",
    "words": WORDS | STATUSES | DETAILS,
}
