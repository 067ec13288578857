"""Define every contract point with its default and its source, in the register's order.

*documented* points are the interface document's own words ("§"); *assumed* ones are the best public
knowledge of this family of carriers. The sections are those of docs/interface.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shipping_portal.carrier.shapes import check_shape
from shipping_portal.carrier.validators import (
    any_words,
    anything,
    assumed,
    auth_scheme,
    bookable,
    countries,
    documented,
    header_line,
    hosts,
    listed,
    name,
    needed_name,
    needed_path,
    one_of,
    operation,
    optional_operation,
    page,
    positive,
    progress_words,
    short_words,
    statuses,
    up_to,
    yes_statuses,
)

WORDS = {
    "pickup": "collected",
    "picked up": "collected",
    "drop off": "dropped_off",
    "dropped off": "dropped_off",
    "info": "",
    "in transit": "in_transit",
    "transit": "in_transit",
    "out for delivery": "out_for_delivery",
    "delivery attempted": "delivery_attempted",
    "delivery failed": "delivery_attempted",
    "card left": "delivery_attempted",
    "left with agent": "held",
    "delivered": "delivered",
    "local delivery": "out_for_delivery",
    "pickup attempted": "pickup_futile",
    "futile pickup": "pickup_futile",
    "missed pickup": "pickup_missed",
    "damaged": "damaged",
    "unable to deliver": "cannot_deliver",
    "lost": "lost",
    "return": "returning",
    "return to sender": "returning",
    "expired": "expired",
    "parcel measured": "",
}
CONTENTS_TYPES = ("Merchandise", "Gift", "Sample", "Documents", "Returned Goods", "Other")


@dataclass(frozen=True)
class Fields:
    """The points themselves; `Contract` adds how they are loaded and read."""

    auth: str = assumed("basic", "§5", auth_scheme)
    version_header: str = assumed("", "§9", header_line)
    partner_query: str = documented("partner_id", "§4 rule 1", name)
    partner_field: str = documented("metadata.partner_id", "§2.1, §4 rule 1")
    idempotency_header: str = assumed("Idempotency-Key", "not in the interface", name)
    replays: bool = assumed(False, "not in the interface", anything)
    replay_hours: int = assumed(48, "not in the interface", positive)
    too_many_requests_is_unprocessed: bool = assumed(True, "not in the interface", anything)
    cancel_repeatable: bool = assumed(True, "not in the interface", anything)
    refused_statuses: tuple[int, ...] = assumed(
        (400, 404, 405, 413, 415, 422), "not in the interface", statuses
    )
    stopped_statuses: tuple[int, ...] = assumed(
        (401, 402, 403, 412), "not in the interface", statuses
    )
    cancel_refused_statuses: tuple[int, ...] = assumed((409,), "not in the interface", statuses)
    cancelled_statuses: tuple[int, ...] = assumed((200, 204), "not in the interface", yes_statuses)

    quote: str = documented("GET /products", "§4", operation)
    quote_contents: str = documented("POST /products", "§4", operation)
    post_quote: bool = assumed(False, "not in the interface", anything)
    post_quote_abroad: bool = assumed(True, "not in the interface", anything)
    post_quote_with_cover: bool = assumed(True, "§4: not shown; decision 0005", anything)
    book: str = documented("POST /orders", "§4", operation)
    view: str = assumed("GET /orders/{id}", "not in the interface", optional_operation)
    cancel: str = assumed("DELETE /orders/{id}", "§4", optional_operation)
    track: str = assumed("GET /tracking/{reference}", "§4", optional_operation)
    subscribe: str = assumed("POST /tracking/{reference}/subscribe", "§4", optional_operation)
    ping: str = assumed("GET /ping", "not in the interface", optional_operation)

    destinations: tuple[str, ...] = assumed((), "§1: not shown", countries)
    export_origins: tuple[str, ...] = documented(("AU", "US"), "§1", countries)
    longest_name: int = assumed(120, "not in the interface", up_to(120))
    longest_instructions: int = assumed(200, "not in the interface", up_to(200))
    description_needed: bool = assumed(True, "not in the interface", anything)
    contents_types: tuple[str, ...] = assumed(CONTENTS_TYPES, "not in the interface", short_words)
    hs_code_shortest: int = assumed(6, "not in the interface", up_to(14))
    hs_code_longest: int = assumed(10, "not in the interface", up_to(14))
    hs_code_duties_paid: int = assumed(10, "not in the interface", up_to(14))
    duties_paid_word: str = assumed("DDP", "§2.4: in its one product code", anything)
    pickup_suffix: str = assumed("-PICKUP", "§2.4: of its one product code", anything)
    dropoff_suffix: str = assumed("-DROPOFF", "not in the interface", anything)
    cover_number: str = assumed("number", "not in the interface", one_of("string", "number"))
    cover_limit: float = assumed(1500.0, "not in the interface", positive)
    cover_origins: tuple[str, ...] = documented(("AU",), "§2.1", countries)

    query_sender_suburb: str = assumed("sender_suburb", "not in the interface", name)
    query_sender_postcode: str = assumed("sender_postcode", "not in the interface", name)
    query_sender_country: str = assumed("sender_country", "not in the interface", needed_name)
    query_sender_line1: str = assumed("sender_address_line1", "not in the interface", name)
    query_sender_line2: str = assumed("sender_address_line2", "not in the interface", name)
    query_receiver_suburb: str = assumed("receiver_suburb", "not in the interface", name)
    query_receiver_postcode: str = assumed("receiver_postcode", "not in the interface", name)
    query_receiver_country: str = assumed("receiver_country", "not in the interface", needed_name)
    query_receiver_line1: str = assumed("receiver_address_line1", "not in the interface", name)
    query_receiver_line2: str = assumed("receiver_address_line2", "not in the interface", name)
    query_weight: str = assumed("weight_value", "not in the interface", needed_name)
    query_weight_units: str = assumed("weight_units", "not in the interface", name)
    query_length: str = assumed("length_value", "not in the interface", needed_name)
    query_width: str = assumed("width_value", "not in the interface", needed_name)
    query_height: str = assumed("height_value", "not in the interface", needed_name)
    query_dimension_units: str = assumed("dimension_units", "not in the interface", name)
    query_packaging: str = assumed("packaging_type", "not in the interface", name)

    numbers: str = assumed(
        "string", "§2.1 (number; its notation not shown)", one_of("string", "number")
    )
    sender_name: str = assumed("sender.contact.name", "not in the interface")
    sender_company: str = assumed("sender.contact.company", "not in the interface")
    sender_email: str = documented("sender.contact.email", "§2.1")
    sender_phone: str = assumed("sender.contact.phone", "not in the interface")
    sender_line1: str = assumed("sender.address.address_line1", "not in the interface")
    sender_line2: str = assumed("sender.address.address_line2", "not in the interface")
    sender_suburb: str = assumed("sender.address.suburb", "not in the interface")
    sender_postcode: str = assumed("sender.address.postcode", "not in the interface")
    sender_state: str = assumed("sender.address.state_name", "not in the interface")
    sender_country: str = assumed("sender.address.country", "not in the interface", needed_path)
    sender_instructions: str = assumed("sender.instructions", "not in the interface")
    receiver_name: str = assumed("receiver.contact.name", "not in the interface", needed_path)
    receiver_company: str = assumed("receiver.contact.company", "not in the interface")
    receiver_email: str = assumed("receiver.contact.email", "not in the interface", needed_path)
    receiver_phone: str = assumed("receiver.contact.phone", "not in the interface")
    receiver_line1: str = assumed(
        "receiver.address.address_line1", "not in the interface", needed_path
    )
    receiver_line2: str = assumed("receiver.address.address_line2", "not in the interface")
    receiver_suburb: str = assumed("receiver.address.suburb", "not in the interface", needed_path)
    receiver_postcode: str = assumed(
        "receiver.address.postcode", "not in the interface", needed_path
    )
    receiver_state: str = assumed("receiver.address.state_name", "not in the interface")
    receiver_country: str = assumed("receiver.address.country", "not in the interface", needed_path)
    receiver_instructions: str = assumed("receiver.instructions", "not in the interface")
    description: str = assumed("description", "not in the interface")
    weight: str = assumed("weight.value", "not in the interface", needed_path)
    weight_units: str = assumed("weight.units", "not in the interface")
    length: str = assumed("dimensions.length", "§2.1 (name) (nesting)", needed_path)
    width: str = assumed("dimensions.width", "§2.1 (name) (nesting)", needed_path)
    height: str = assumed("dimensions.height", "§2.1 (name) (nesting)", needed_path)
    dimension_units: str = assumed("dimensions.units", "not in the interface")
    product_code: str = assumed("product_code", "not in the interface", needed_path)
    pickup_date: str = documented("pickup_date", "§2.1", needed_path)
    packaging: str = assumed("packaging_type", "not in the interface")
    packaging_word: str = assumed("box", "not in the interface", anything)
    customer_reference: str = assumed("customer_reference", "not in the interface")
    order_key: str = assumed("metadata.portal_order", "not in the interface")
    cover_amount: str = assumed("cover.total_cover.amount", "§2.1")
    contents: str = assumed("parcel_contents", "not in the interface")
    item_description: str = assumed("description", "not in the interface", needed_path)
    item_value: str = assumed("value", "not in the interface", needed_path)
    item_quantity: str = assumed("quantity", "not in the interface", needed_path)
    item_origin: str = assumed("country_of_origin", "not in the interface", needed_path)
    item_hs_code: str = assumed("hs_code", "not in the interface")
    contents_type: str = assumed("contents_type", "not in the interface")

    products: str = assumed("", "not in the interface")
    quoted_code: str = assumed("product.code", "not in the interface", needed_path)
    quoted_name: str = assumed("product.name", "not in the interface")
    quoted_first_mile: str = assumed("product.first_mile_option", "not in the interface")
    quoted_service: str = assumed("product.service", "not in the interface")
    quoted_price: str = assumed("quote.gross.amount", "not in the interface", needed_path)
    quoted_currency: str = assumed("quote.gross.currency", "not in the interface", needed_path)
    breakdown: str = documented("price_breakdown", "§2.3")
    taxes: str = assumed("tax_breakdown", "not in the interface")
    plan: str = assumed("plan", "not in the interface")
    eta_dates: str = assumed("eta.date_range", "not in the interface")
    eta_days: str = assumed("eta.days_range", "not in the interface")
    eta_send_date: str = assumed("eta.for_send_date", "not in the interface")
    quoted_cover: str = assumed("cover.price.gross.amount", "not in the interface")

    order_id: str = assumed("order_id", "not in the interface", needed_path)
    reference: str = assumed(
        "carrier_reference", "§2.2: the real name contains the carrier's brand", needed_path
    )
    reference_shape: str = documented(
        "S[A-Za-z0-9]{5,99}", "§2.2; upper bound assumed", check_shape
    )
    state: str = assumed("state", "not in the interface", needed_path)
    refused_states: tuple[str, ...] = assumed((), "not in the interface", any_words)
    pending_states: tuple[str, ...] = assumed((), "not in the interface", any_words)
    test_field: str = assumed("", "not in the interface")
    test_word: str = assumed("true", "not in the interface", anything)
    labels: str = assumed("labels", "not in the interface", needed_path)
    label_format: str = assumed("format", "not in the interface")
    label_size: str = assumed("size", "not in the interface")
    label_url: str = assumed("url", "not in the interface", needed_path)
    full_page_sizes: tuple[str, ...] = assumed(("a4", "letter"), "§1", listed)
    cropped_sizes: tuple[str, ...] = assumed(("cropped",), "§1", listed)
    booked_pickup_date: str = assumed("scheduling.pickup_date", "not in the interface")
    booked_eta_from: str = assumed(
        "scheduling.estimated_delivery_date_minimum", "not in the interface"
    )
    booked_eta_to: str = assumed(
        "scheduling.estimated_delivery_date_maximum", "not in the interface"
    )
    is_cancellable: str = assumed("scheduling.is_cancellable", "not in the interface")
    booked_price: str = assumed("price.gross.amount", "not in the interface")
    booked_currency: str = assumed("price.gross.currency", "not in the interface")
    booked_breakdown: str = assumed("price_breakdown", "not in the interface")
    tracking_url: str = assumed("tracking_url", "not in the interface")
    cancel_message: str = assumed("cancellation_message", "not in the interface")
    cancelled_word: str = assumed("cancelled", "not in the interface", anything)
    asked_word: str = assumed("", "not in the interface", anything)
    cancel_refused_states: tuple[str, ...] = assumed((), "not in the interface", any_words)

    events: str = documented("tracking_events", "§2.2, §4", needed_path)
    event_reference: str = assumed(
        "carrier_reference", "§2.2: the real name contains the carrier's brand", needed_path
    )
    event_id: str = documented("event_id", "§2.2")
    event_type: str = documented("event_type", "§2.2", needed_path)
    scan_time: str = documented("scan_time", "§2.2", needed_path)
    event_description: str = documented("description", "§2.2")
    webhook_means: str = assumed("scan", "§2.2", one_of("scan", "look"))
    tracking_next: str = assumed("", "§4: not shown")
    tracking_page_query: str = assumed("page", "§4: not shown", name)
    most_tracking_pages: int = assumed(20, "§4: not shown", positive)
    location: str = documented("location_data", "§2.2")
    location_suburb: str = documented("suburb", "§2.2")
    location_state: str = documented("state", "§2.2")
    location_postcode: str = documented("postcode", "§2.2")
    location_country: str = documented("country", "§2.2")

    error_code: str = assumed("error", "not in the interface")
    error_text: str = assumed("error_description", "not in the interface")
    error_messages: str = assumed("messages", "not in the interface")

    label_fetch: str = assumed("head", "not in the interface", one_of("head", "get"))
    label_hosts: str = assumed("", "not in the interface", hosts)
    link: str = assumed("none", "§5", one_of("none", "response", "signed"))
    link_field: str = assumed("authorised_tracking_url", "not in the interface")
    link_page: str = assumed("", "not in the interface", page)
    link_reference_query: str = assumed("ref", "not in the interface", name)
    link_token_query: str = assumed("token", "not in the interface", name)
    link_seconds: int = assumed(900, "not in the interface", positive)
    link_hosts: str = assumed("", "not in the interface", hosts)
    tracking_per_second: float = assumed(5.0, "§8", positive)
    requests_per_second: float = assumed(5.0, "§8", bookable)
    units: str = assumed("entered", "not in the interface", one_of("entered", "metric"))
    public_tracking: str = assumed("", "not in the interface", page)
    words: Mapping[str, str] = assumed(WORDS, "§6", progress_words)
