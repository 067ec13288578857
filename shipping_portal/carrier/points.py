"""Every contract point with its default and where it is from, in the order the register prints them.

*documented* points are the interface document's own words ("§"); *assumed* ones are the best public knowledge
of this family of carriers ("contract" names the section of the research it comes from).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shipping_portal.carrier.shapes import shape
from shipping_portal.carrier.validators import (
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

    auth: str = assumed("basic", "§5; contract 2.1", auth_scheme)
    version_header: str = assumed("", "§9; contract 2.1", header_line)
    partner_query: str = documented("partner_id", "§4 rule 1", name)
    partner_field: str = documented("metadata.partner_id", "§2.1, §4 rule 1")
    idempotency_header: str = assumed("Idempotency-Key", "contract 2.11", name)
    replays: bool = assumed(False, "contract 2.11", anything)
    replay_hours: int = assumed(48, "contract 2.11", positive)
    too_many_requests_is_unprocessed: bool = assumed(True, "contract 2.10", anything)
    cancel_repeatable: bool = assumed(True, "contract 2.7", anything)
    refused_statuses: tuple[int, ...] = assumed((400, 404, 405, 413, 415, 422), "contract 2.10", statuses)
    stopped_statuses: tuple[int, ...] = assumed((401, 402, 403, 412), "contract 2.10", statuses)
    cancel_refused_statuses: tuple[int, ...] = assumed((409,), "contract 2.7", statuses)
    cancelled_statuses: tuple[int, ...] = assumed((200, 204), "contract 2.7", yes_statuses)

    quote: str = documented("GET /products", "§4", operation)
    quote_contents: str = documented("POST /products", "§4", operation)
    post_quote_abroad: bool = assumed(True, "contract 2.3", anything)
    post_quote_with_cover: bool = assumed(True, "§4: not shown; decision 0005", anything)
    book: str = documented("POST /orders", "§4", operation)
    view: str = assumed("GET /orders/{id}", "contract 2.5", optional_operation)
    cancel: str = assumed("DELETE /orders/{id}", "§4; contract 2.7", optional_operation)
    track: str = assumed("GET /tracking/{reference}", "§4; contract 2.8", optional_operation)
    subscribe: str = assumed("POST /tracking/{reference}/subscribe", "§4; contract 2.8", optional_operation)
    ping: str = assumed("GET /ping", "contract 2.1", optional_operation)

    destinations: tuple[str, ...] = assumed((), "§1: not shown", countries)
    export_origins: tuple[str, ...] = documented(("AU", "US"), "§1", countries)
    longest_name: int = assumed(120, "contract 2.4", up_to(120))
    longest_instructions: int = assumed(200, "contract 2.4", up_to(200))
    description_needed: bool = assumed(True, "contract 2.4", anything)
    contents_types: tuple[str, ...] = assumed(CONTENTS_TYPES, "contract 2.4", short_words)
    hs_code_shortest: int = assumed(6, "contract 2.4", up_to(14))
    hs_code_longest: int = assumed(10, "contract 2.4", up_to(14))
    hs_code_duties_paid: int = assumed(10, "contract 2.4", up_to(14))
    duties_paid_word: str = assumed("DDP", "§2.4: in its one product code", anything)
    pickup_suffix: str = assumed("-PICKUP", "§2.4: of its one product code", anything)
    dropoff_suffix: str = assumed("-DROPOFF", "contract 2.2", anything)
    cover_number: str = assumed("number", "contract 2.4", one_of("string", "number"))
    cover_limit: float = assumed(1500.0, "contract 2.4", positive)
    cover_origins: tuple[str, ...] = documented(("AU",), "§2.1", countries)

    query_sender_suburb: str = assumed("sender_suburb", "contract 2.2", name)
    query_sender_postcode: str = assumed("sender_postcode", "contract 2.2", name)
    query_sender_country: str = assumed("sender_country", "contract 2.2", needed_name)
    query_sender_line1: str = assumed("sender_address_line1", "contract 2.2", name)
    query_sender_line2: str = assumed("sender_address_line2", "contract 2.2", name)
    query_receiver_suburb: str = assumed("receiver_suburb", "contract 2.2", name)
    query_receiver_postcode: str = assumed("receiver_postcode", "contract 2.2", name)
    query_receiver_country: str = assumed("receiver_country", "contract 2.2", needed_name)
    query_receiver_line1: str = assumed("receiver_address_line1", "contract 2.2", name)
    query_receiver_line2: str = assumed("receiver_address_line2", "contract 2.2", name)
    query_weight: str = assumed("weight_value", "contract 2.2", needed_name)
    query_weight_units: str = assumed("weight_units", "contract 2.2", name)
    query_length: str = assumed("length_value", "contract 2.2", needed_name)
    query_width: str = assumed("width_value", "contract 2.2", needed_name)
    query_height: str = assumed("height_value", "contract 2.2", needed_name)
    query_dimension_units: str = assumed("dimension_units", "contract 2.2", name)
    query_packaging: str = assumed("packaging_type", "contract 2.2", name)

    numbers: str = assumed("string", "§2.1 (number; its notation not shown); contract 2.4", one_of("string", "number"))
    sender_name: str = assumed("sender.contact.name", "contract 2.4")
    sender_company: str = assumed("sender.contact.company", "contract 2.4")
    sender_email: str = documented("sender.contact.email", "§2.1")
    sender_phone: str = assumed("sender.contact.phone", "contract 2.4")
    sender_line1: str = assumed("sender.address.address_line1", "contract 2.4")
    sender_line2: str = assumed("sender.address.address_line2", "contract 2.4")
    sender_suburb: str = assumed("sender.address.suburb", "contract 2.4")
    sender_postcode: str = assumed("sender.address.postcode", "contract 2.4")
    sender_state: str = assumed("sender.address.state_name", "contract 2.4")
    sender_country: str = assumed("sender.address.country", "contract 2.4", needed_path)
    sender_instructions: str = assumed("sender.instructions", "contract 2.4")
    receiver_name: str = assumed("receiver.contact.name", "contract 2.4", needed_path)
    receiver_company: str = assumed("receiver.contact.company", "contract 2.4")
    receiver_email: str = assumed("receiver.contact.email", "contract 2.4", needed_path)
    receiver_phone: str = assumed("receiver.contact.phone", "contract 2.4")
    receiver_line1: str = assumed("receiver.address.address_line1", "contract 2.4", needed_path)
    receiver_line2: str = assumed("receiver.address.address_line2", "contract 2.4")
    receiver_suburb: str = assumed("receiver.address.suburb", "contract 2.4", needed_path)
    receiver_postcode: str = assumed("receiver.address.postcode", "contract 2.4", needed_path)
    receiver_state: str = assumed("receiver.address.state_name", "contract 2.4")
    receiver_country: str = assumed("receiver.address.country", "contract 2.4", needed_path)
    receiver_instructions: str = assumed("receiver.instructions", "contract 2.4")
    description: str = assumed("description", "contract 2.4")
    weight: str = assumed("weight.value", "contract 2.4", needed_path)
    weight_units: str = assumed("weight.units", "contract 2.4")
    length: str = assumed("dimensions.length", "§2.1 (name); contract 2.4 (nesting)", needed_path)
    width: str = assumed("dimensions.width", "§2.1 (name); contract 2.4 (nesting)", needed_path)
    height: str = assumed("dimensions.height", "§2.1 (name); contract 2.4 (nesting)", needed_path)
    dimension_units: str = assumed("dimensions.units", "contract 2.4")
    product_code: str = assumed("product_code", "contract 2.4", needed_path)
    pickup_date: str = documented("pickup_date", "§2.1", needed_path)
    packaging: str = assumed("packaging_type", "contract 2.4")
    packaging_word: str = assumed("box", "contract 2.4", anything)
    customer_reference: str = assumed("customer_reference", "contract 2.4")
    order_key: str = assumed("metadata.portal_order", "contract 2.4; reliability 2.3")
    cover_amount: str = assumed("cover.total_cover.amount", "§2.1; contract 2.4")
    contents: str = assumed("parcel_contents", "contract 2.4")
    item_description: str = assumed("description", "contract 2.4", needed_path)
    item_value: str = assumed("value", "contract 2.4", needed_path)
    item_quantity: str = assumed("quantity", "contract 2.4", needed_path)
    item_origin: str = assumed("country_of_origin", "contract 2.4", needed_path)
    item_hs_code: str = assumed("hs_code", "contract 2.4")
    contents_type: str = assumed("contents_type", "contract 2.4")

    products: str = assumed("", "contract 2.2")
    quoted_code: str = assumed("product.code", "contract 2.2", needed_path)
    quoted_name: str = assumed("product.name", "contract 2.2")
    quoted_first_mile: str = assumed("product.first_mile_option", "contract 2.2")
    quoted_service: str = assumed("product.service", "contract 2.2")
    quoted_price: str = assumed("quote.gross.amount", "contract 2.2", needed_path)
    quoted_currency: str = assumed("quote.gross.currency", "contract 2.2", needed_path)
    breakdown: str = documented("price_breakdown", "§2.3")
    taxes: str = assumed("tax_breakdown", "contract 2.2")
    plan: str = assumed("plan", "contract 2.2")
    eta_dates: str = assumed("eta.date_range", "contract 2.2")
    eta_days: str = assumed("eta.days_range", "contract 2.2")
    eta_send_date: str = assumed("eta.for_send_date", "contract 2.2")
    quoted_cover: str = assumed("cover.price.gross.amount", "contract 2.2")

    order_id: str = assumed("order_id", "contract 2.5", needed_path)
    reference: str = assumed("carrier_reference", "§2.2: the true name bears the carrier's brand", needed_path)
    reference_shape: str = documented("S[A-Za-z0-9]{5,99}", "§2.2; upper bound assumed", shape)
    state: str = assumed("state", "contract 2.5", needed_path)
    labels: str = assumed("labels", "contract 2.6", needed_path)
    label_format: str = assumed("format", "contract 2.6")
    label_size: str = assumed("size", "contract 2.6")
    label_url: str = assumed("url", "contract 2.6", needed_path)
    full_page_sizes: tuple[str, ...] = assumed(("a4", "letter"), "§1; contract 2.6", listed)
    cropped_sizes: tuple[str, ...] = assumed(("cropped",), "§1; contract 2.6", listed)
    booked_pickup_date: str = assumed("scheduling.pickup_date", "contract 2.5")
    booked_eta_from: str = assumed("scheduling.estimated_delivery_date_minimum", "contract 2.5")
    booked_eta_to: str = assumed("scheduling.estimated_delivery_date_maximum", "contract 2.5")
    is_cancellable: str = assumed("scheduling.is_cancellable", "contract 2.5")
    booked_price: str = assumed("price.gross.amount", "contract 2.5")
    booked_currency: str = assumed("price.gross.currency", "contract 2.5")
    booked_breakdown: str = assumed("price_breakdown", "contract 2.5")
    tracking_url: str = assumed("tracking_url", "contract 2.5")
    cancel_message: str = assumed("cancellation_message", "contract 2.7")
    cancelled_word: str = assumed("cancelled", "contract 2.7", anything)

    events: str = documented("tracking_events", "§2.2, §4", needed_path)
    event_reference: str = assumed("carrier_reference", "§2.2: the true name bears the carrier's brand", needed_path)
    event_id: str = documented("event_id", "§2.2")
    event_type: str = documented("event_type", "§2.2", needed_path)
    scan_time: str = documented("scan_time", "§2.2", needed_path)
    event_description: str = documented("description", "§2.2")
    tracking_next: str = assumed("", "§4: not shown")
    tracking_page_query: str = assumed("page", "§4: not shown", name)
    most_tracking_pages: int = assumed(20, "§4: not shown", positive)
    location: str = documented("location_data", "§2.2")
    location_suburb: str = documented("suburb", "§2.2")
    location_state: str = documented("state", "§2.2")
    location_postcode: str = documented("postcode", "§2.2")
    location_country: str = documented("country", "§2.2")

    error_code: str = assumed("error", "contract 2.10")
    error_text: str = assumed("error_description", "contract 2.10")
    error_messages: str = assumed("messages", "contract 2.10")

    label_fetch: str = assumed("head", "contract 2.6", one_of("head", "get"))
    label_hosts: str = assumed("", "contract 2.6", hosts)
    link: str = assumed("none", "§5; contract 2.14", one_of("none", "response", "signed"))
    link_field: str = assumed("authorised_tracking_url", "contract 2.14")
    link_page: str = assumed("", "contract 2.14", page)
    link_reference_query: str = assumed("ref", "contract 2.14", name)
    link_token_query: str = assumed("token", "contract 2.14", name)
    link_seconds: int = assumed(900, "contract 2.14", positive)
    link_hosts: str = assumed("", "contract 2.14", hosts)
    tracking_per_second: float = assumed(5.0, "§8; contract 2.8", positive)
    requests_per_second: float = assumed(5.0, "§8; contract 2.8", bookable)
    units: str = assumed("entered", "contract 2.4", one_of("entered", "metric"))
    public_tracking: str = assumed("", "contract 2.14", page)
    words: Mapping[str, str] = assumed(WORDS, "§6; contract 2.8", progress_words)
