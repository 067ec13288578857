"""Define what is true of every ShipStation account, as points of its contract.

Replies are rewritten in the interface's shape before they are read
(`shipstation_replies`), so most points stay as they are.
"""

from typing import Any

from shipping_portal.carrier.points import WORDS

# Operations that the contract has no point for, or only with another method.
OPERATIONS = {
    "quote": "POST /rates/estimate",
    "prepare": "POST /rates",
    "find": "GET /labels/external_shipment_id/{id}",
    "history": "GET /labels/{id}/track",
}
STATUSES = {"un": "", "ny": "", "ac": "", "ex": "", "it": "in_transit", "de": "delivered"}
STATUSES |= {"at": "delivery_attempted", "sp": "held"}
# A status detail takes precedence over its status if it says more.
DETAILS = {
    "dropped_off": "dropped_off",
    "picked_up": "collected",
    "pickup_failed": "pickup_futile",
    "out_for_delivery": "out_for_delivery",
    "customer_carded": "delivery_attempted",
    "awaiting_collection_from_pickup_point": "held",
    "collect_at_local_po": "held",
    "customer_to_collect_from_carrier": "held",
    "parcel_damaged": "damaged",
    "parcel_lost": "lost",
    "not_delivered": "cannot_deliver",
    "refused_by_customer": "cannot_deliver",
    "return_to_sender": "returning",
    "undeliverable_returned_to_sender": "returning",
    "tracking_expired": "expired",
}
LABEL_SIZES = ("4x6", "letter")  # one label for any paper size
POINTS: dict[str, Any] = {
    "auth": "header:API-Key",
    "idempotency_header": "",
    "cancel_repeatable": True,  # the answer says that the label is already voided
    "quote_contents": OPERATIONS["quote"],
    "book": "POST /labels/rates/{id}",
    "view": "GET /labels/{id}",
    "cancel": "PUT /labels/{id}/void",
    "track": "GET /labels?tracking_number={reference}",
    "subscribe": "",  # tracking a parcel booked elsewhere is charged
    "ping": "GET /carriers",
    "export_origins": ("AU", "CA", "GB", "US"),
    "cover_origins": (),  # estimates don't show what it costs
    "duties_paid_word": "",
    "pickup_suffix": "",
    "dropoff_suffix": "",
    "reference_shape": "[A-Za-z0-9-]{5,60}",
    "cancelled_word": "voided",
    "refused_states": ("error",),
    "pending_states": ("processing",),
    "test_field": "test_label",
    "label_fetch": "get",
    "label_hosts": "api.shipengine.com api.shipstation.com",
    "full_page_sizes": LABEL_SIZES,
    "cropped_sizes": LABEL_SIZES,
    "webhook_means": "look",  # it has the whole history, without ids
    "event_reference": "data.tracking_number",  # in a webhook; a scan in a history has none
    "event_id": "",
    "words": WORDS | STATUSES | DETAILS,
}
