"""Define every contract point with its default and its source, in the register's order.

*documented* points are the interface document's own words ("§"); *assumed* ones are the best public
knowledge of this family of carriers. The sections are those of docs/interface.md.
"""

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
    """The points themselves. `Contract` adds loading and reading."""

    auth: str = assumed("basic", auth_scheme, section="§5")
    version_header: str = assumed("", header_line, section="§9")
    partner_query: str = documented("partner_id", "§4 rule 1", name)
    partner_field: str = documented("metadata.partner_id", "§2.1, §4 rule 1")
    idempotency_header: str = assumed("Idempotency-Key", name)
    replays: bool = assumed(False, anything)
    replay_hours: int = assumed(48, positive)
    too_many_requests_is_unprocessed: bool = assumed(True, anything)
    cancel_repeatable: bool = assumed(True, anything)
    refused_statuses: tuple[int, ...] = assumed((400, 404, 405, 413, 415, 422), statuses)
    stopped_statuses: tuple[int, ...] = assumed((401, 402, 403, 412), statuses)
    cancel_refused_statuses: tuple[int, ...] = assumed((409,), statuses)
    cancelled_statuses: tuple[int, ...] = assumed((200, 204), yes_statuses)

    quote: str = documented("GET /products", "§4", operation)
    quote_contents: str = documented("POST /products", "§4", operation)
    post_quote: bool = assumed(False, anything)
    post_quote_abroad: bool = assumed(True, anything)
    post_quote_with_cover: bool = assumed(True, anything, section="§4: not shown; decision 0005")
    book: str = documented("POST /orders", "§4", operation)
    view: str = assumed("GET /orders/{id}", optional_operation)
    cancel: str = assumed("DELETE /orders/{id}", optional_operation, section="§4")
    track: str = assumed("GET /tracking/{reference}", optional_operation, section="§4")
    subscribe: str = assumed(
        "POST /tracking/{reference}/subscribe", optional_operation, section="§4"
    )
    ping: str = assumed("GET /ping", optional_operation)

    destinations: tuple[str, ...] = assumed((), countries, section="§1: not shown")
    export_origins: tuple[str, ...] = documented(("AU", "US"), "§1", countries)
    longest_name: int = assumed(120, up_to(120))
    longest_instructions: int = assumed(200, up_to(200))
    description_needed: bool = assumed(True, anything)
    contents_types: tuple[str, ...] = assumed(CONTENTS_TYPES, short_words)
    hs_code_shortest: int = assumed(6, up_to(14))
    hs_code_longest: int = assumed(10, up_to(14))
    hs_code_duties_paid: int = assumed(10, up_to(14))
    duties_paid_word: str = assumed("DDP", anything, section="§2.4: in its one product code")
    pickup_suffix: str = assumed("-PICKUP", anything, section="§2.4: of its one product code")
    dropoff_suffix: str = assumed("-DROPOFF", anything)
    cover_number: str = assumed("number", one_of("string", "number"))
    cover_limit: float = assumed(1500.0, positive)
    cover_origins: tuple[str, ...] = documented(("AU",), "§2.1", countries)

    query_sender_suburb: str = assumed("sender_suburb", name)
    query_sender_postcode: str = assumed("sender_postcode", name)
    query_sender_country: str = assumed("sender_country", needed_name)
    query_sender_line1: str = assumed("sender_address_line1", name)
    query_sender_line2: str = assumed("sender_address_line2", name)
    query_receiver_suburb: str = assumed("receiver_suburb", name)
    query_receiver_postcode: str = assumed("receiver_postcode", name)
    query_receiver_country: str = assumed("receiver_country", needed_name)
    query_receiver_line1: str = assumed("receiver_address_line1", name)
    query_receiver_line2: str = assumed("receiver_address_line2", name)
    query_weight: str = assumed("weight_value", needed_name)
    query_weight_units: str = assumed("weight_units", name)
    query_length: str = assumed("length_value", needed_name)
    query_width: str = assumed("width_value", needed_name)
    query_height: str = assumed("height_value", needed_name)
    query_dimension_units: str = assumed("dimension_units", name)
    query_packaging: str = assumed("packaging_type", name)

    numbers: str = assumed(
        "string", one_of("string", "number"), section="§2.1 (number; its notation not shown)"
    )
    sender_name: str = assumed("sender.contact.name")
    sender_company: str = assumed("sender.contact.company")
    sender_email: str = documented("sender.contact.email", "§2.1")
    sender_phone: str = assumed("sender.contact.phone")
    sender_line1: str = assumed("sender.address.address_line1")
    sender_line2: str = assumed("sender.address.address_line2")
    sender_suburb: str = assumed("sender.address.suburb")
    sender_postcode: str = assumed("sender.address.postcode")
    sender_state: str = assumed("sender.address.state_name")
    sender_country: str = assumed("sender.address.country", needed_path)
    sender_instructions: str = assumed("sender.instructions")
    receiver_name: str = assumed("receiver.contact.name", needed_path)
    receiver_company: str = assumed("receiver.contact.company")
    receiver_email: str = assumed("receiver.contact.email", needed_path)
    receiver_phone: str = assumed("receiver.contact.phone")
    receiver_line1: str = assumed("receiver.address.address_line1", needed_path)
    receiver_line2: str = assumed("receiver.address.address_line2")
    receiver_suburb: str = assumed("receiver.address.suburb", needed_path)
    receiver_postcode: str = assumed("receiver.address.postcode", needed_path)
    receiver_state: str = assumed("receiver.address.state_name")
    receiver_country: str = assumed("receiver.address.country", needed_path)
    receiver_instructions: str = assumed("receiver.instructions")
    description: str = assumed("description")
    weight: str = assumed("weight.value", needed_path)
    weight_units: str = assumed("weight.units")
    length: str = assumed("dimensions.length", needed_path, section="§2.1 (name) (nesting)")
    width: str = assumed("dimensions.width", needed_path, section="§2.1 (name) (nesting)")
    height: str = assumed("dimensions.height", needed_path, section="§2.1 (name) (nesting)")
    dimension_units: str = assumed("dimensions.units")
    product_code: str = assumed("product_code", needed_path)
    pickup_date: str = documented("pickup_date", "§2.1", needed_path)
    packaging: str = assumed("packaging_type")
    packaging_word: str = assumed("box", anything)
    customer_reference: str = assumed("customer_reference")
    order_key: str = assumed("metadata.portal_order")
    cover_amount: str = assumed("cover.total_cover.amount", section="§2.1")
    contents: str = assumed("parcel_contents")
    item_description: str = assumed("description", needed_path)
    item_value: str = assumed("value", needed_path)
    item_quantity: str = assumed("quantity", needed_path)
    item_origin: str = assumed("country_of_origin", needed_path)
    item_hs_code: str = assumed("hs_code")
    contents_type: str = assumed("contents_type")

    products: str = assumed("")
    quoted_code: str = assumed("product.code", needed_path)
    quoted_name: str = assumed("product.name")
    quoted_first_mile: str = assumed("product.first_mile_option")
    quoted_service: str = assumed("product.service")
    quoted_price: str = assumed("quote.gross.amount", needed_path)
    quoted_currency: str = assumed("quote.gross.currency", needed_path)
    breakdown: str = documented("price_breakdown", "§2.3")
    taxes: str = assumed("tax_breakdown")
    plan: str = assumed("plan")
    eta_dates: str = assumed("eta.date_range")
    eta_days: str = assumed("eta.days_range")
    eta_send_date: str = assumed("eta.for_send_date")
    quoted_cover: str = assumed("cover.price.gross.amount")

    order_id: str = assumed("order_id", needed_path)
    reference: str = assumed(
        "carrier_reference", needed_path, section="§2.2: the real name contains the carrier's brand"
    )
    reference_shape: str = documented(
        "S[A-Za-z0-9]{5,99}", "§2.2; upper bound assumed", check_shape
    )
    state: str = assumed("state", needed_path)
    refused_states: tuple[str, ...] = assumed((), any_words)
    pending_states: tuple[str, ...] = assumed((), any_words)
    test_field: str = assumed("")
    test_word: str = assumed("true", anything)
    labels: str = assumed("labels", needed_path)
    label_format: str = assumed("format")
    label_size: str = assumed("size")
    label_url: str = assumed("url", needed_path)
    full_page_sizes: tuple[str, ...] = assumed(("a4", "letter"), listed, section="§1")
    cropped_sizes: tuple[str, ...] = assumed(("cropped",), listed, section="§1")
    booked_pickup_date: str = assumed("scheduling.pickup_date")
    booked_eta_from: str = assumed("scheduling.estimated_delivery_date_minimum")
    booked_eta_to: str = assumed("scheduling.estimated_delivery_date_maximum")
    is_cancellable: str = assumed("scheduling.is_cancellable")
    booked_price: str = assumed("price.gross.amount")
    booked_currency: str = assumed("price.gross.currency")
    booked_breakdown: str = assumed("price_breakdown")
    tracking_url: str = assumed("tracking_url")
    cancel_message: str = assumed("cancellation_message")
    cancelled_word: str = assumed("cancelled", anything)
    asked_word: str = assumed("", anything)
    cancel_refused_states: tuple[str, ...] = assumed((), any_words)

    events: str = documented("tracking_events", "§2.2, §4", needed_path)
    event_reference: str = assumed(
        "carrier_reference", needed_path, section="§2.2: the real name contains the carrier's brand"
    )
    event_id: str = documented("event_id", "§2.2")
    event_type: str = documented("event_type", "§2.2", needed_path)
    scan_time: str = documented("scan_time", "§2.2", needed_path)
    event_description: str = documented("description", "§2.2")
    webhook_means: str = assumed("scan", one_of("scan", "look"), section="§2.2")
    tracking_next: str = assumed("", section="§4: not shown")
    tracking_page_query: str = assumed("page", name, section="§4: not shown")
    most_tracking_pages: int = assumed(20, positive, section="§4: not shown")
    location: str = documented("location_data", "§2.2")
    location_suburb: str = documented("suburb", "§2.2")
    location_state: str = documented("state", "§2.2")
    location_postcode: str = documented("postcode", "§2.2")
    location_country: str = documented("country", "§2.2")

    error_code: str = assumed("error")
    error_text: str = assumed("error_description")
    error_messages: str = assumed("messages")

    label_fetch: str = assumed("head", one_of("head", "get"))
    label_hosts: str = assumed("", hosts)
    link: str = assumed("none", one_of("none", "response", "signed"), section="§5")
    link_field: str = assumed("authorised_tracking_url")
    link_page: str = assumed("", page)
    link_reference_query: str = assumed("ref", name)
    link_token_query: str = assumed("token", name)
    link_seconds: int = assumed(900, positive)
    link_hosts: str = assumed("", hosts)
    tracking_per_second: float = assumed(5.0, positive, section="§8")
    requests_per_second: float = assumed(5.0, bookable, section="§8")
    units: str = assumed("entered", one_of("entered", "metric"))
    public_tracking: str = assumed("", page)
    words: Mapping[str, str] = assumed(WORDS, progress_words, section="§6")
