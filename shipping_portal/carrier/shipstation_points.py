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
# Version 2 of the API documents these words as statuses; version 1 as details beside a status.
WORDS_OF_PROGRESS = {
    "": "awaiting_despatch awaiting_electronic_advice collection_requested information cancelled"
    " elec_advice_recd_by_carrier not_yet_received_by_carrier cancelled_before_despatch"
    " carrier_status_not_mapped post_transit_status unspecified_exception address_query"
    " carrier_delays delayed_not_carrier held_by_carrier held_by_customs held_by_export_customs"
    " held_by_import_customs held_by_carrier_for_clearance_pre_processing incorrect_declaration"
    " misrouted missorted routing_error parcel_repacked parcel_over_labelled cod_amount_paid"
    " parcel_update_notification_via_email parcel_update_notification_via_sms"
    " shipment_created awaiting_pickup_drop_off parcel_update_notification duty_not_paid",
    "dropped_off": "despatched",
    "collected": "collection_made",
    "pickup_futile": "collection_failed",
    "in_transit": "in_transit received_by_carrier recd_by_carrier_no_elec_advice hub_scan_in"
    " hub_scan_out hub_processing received_local_delivery_depot sub_contractor_event"
    " sub_contractor_received customs_cleared customs_processing"
    " delivery_arranged_with_recipient delivery_scheduled delivery_rescheduled parcel_redirected"
    " parcel_redirected_by_carrier",
    "delivery_attempted": "attempted_delivery attempted_delivery_2nd attempted_delivery_3rd"
    " attempted_delivery_final invalid_method_of_payment",
    "held": "delivered_to_locker_collection_point delivered_to_pickup_point",
    "delivered": "delivered delivered_damaged delivered_in_part delivered_specified_safe_place"
    " delivered_to_alternative_delivery_location delivered_to_neighbour delivered_to_po_box"
    " delivered_to_reception parcel_collected_from_pickup_point proof_of_delivery",
}
STATUSES |= {
    word: progress for progress, words in WORDS_OF_PROGRESS.items() for word in words.split()
}
# A status detail overrides its status if it says more.
DETAILS = {
    "dropped_off": "dropped_off",
    "picked_up": "collected",
    "pickup_failed": "pickup_futile",
    "out_for_delivery": "out_for_delivery",
    "customer_carded": "delivery_attempted",
    "customer_identification_failed": "delivery_attempted",
    "no_access_to_recipients_address": "delivery_attempted",
    "cod_amount_not_paid": "delivery_attempted",
    "awaiting_collection_from_pickup_point": "held",
    "collect_at_local_po": "held",
    "customer_to_collect_from_carrier": "held",
    "parcel_damaged": "damaged",
    "parcel_lost": "lost",
    "not_delivered": "cannot_deliver",
    "not_delivered_addressee_deceased": "cannot_deliver",
    "not_collected_from_pickup_point": "cannot_deliver",
    "customer_moved": "cannot_deliver",
    "hazardous_prohibited": "cannot_deliver",
    "parcel_disposed": "cannot_deliver",
    "parcel_outside_of_service_capability": "cannot_deliver",
    "refused_by_customer": "cannot_deliver",
    "return_to_sender": "returning",
    "undeliverable_returned_to_sender": "returning",
    "tracking_expired": "expired",
}
# One label for any paper, because each carrier has its own names for its layouts.
LABEL_SIZES = ("any",)
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
    "cover_origins": (),  # estimates don't show its cost
    "duties_paid_word": "",
    "pickup_suffix": "",
    "dropoff_suffix": "",
    # 200 requests a minute are allowed, and a history takes two.
    "requests_per_second": 2.0,
    "tracking_per_second": 1.25,
    "reference_shape": "[A-Za-z0-9-]{5,60}",
    "cancelled_word": "voided",
    "refused_states": ("error",),
    "pending_states": ("processing",),
    "test_field": "test_label",
    "label_fetch": "get",
    "label_hosts": "api.shipengine.com api.shipstation.com",
    "full_page_sizes": LABEL_SIZES,
    "cropped_sizes": LABEL_SIZES,
    "webhook_means": "look",  # a webhook has the whole history, without ids
    "event_reference": "data.tracking_number",  # in a webhook; scans in a history have none
    "event_id": "",
    "words": WORDS | STATUSES | DETAILS,
}
