"""Read a contract file independently: the points that the interface document leaves open."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shipping_portal.sandbox.paths import Operation

SIDES = ("sender", "receiver")
OPERATIONS = ("quote", "quote_contents", "book", "view", "cancel", "track", "subscribe", "ping")

CLOSED_WORDS = {
    "numbers": ("string", "number"),
    "label_fetch": ("head", "get"),
    "webhook_means": ("scan", "look"),
    "link": ("none", "response", "signed"),
    "units": ("entered", "metric"),
}

PROGRESS = (
    "",
    "collected",
    "dropped_off",
    "pickup_futile",
    "pickup_missed",
    "in_transit",
    "out_for_delivery",
    "delivery_attempted",
    "held",
    "delivered",
    "cannot_deliver",
    "damaged",
    "lost",
    "returning",
    "expired",
)

# The words on a scan of each kind, unless the contract file has its own.
SPOKEN = {
    "": "Info",
    "collected": "Pickup",
    "dropped_off": "Dropped off",
    "pickup_futile": "Pickup Attempted",
    "pickup_missed": "Missed Pickup",
    "in_transit": "In Transit",
    "out_for_delivery": "Out for Delivery",
    "delivery_attempted": "Delivery Attempted",
    "held": "Left with Agent",
    "delivered": "Delivered",
    "cannot_deliver": "Unable to Deliver",
    "damaged": "Damaged",
    "lost": "Lost",
    "returning": "Return to Sender",
    "expired": "Expired",
}

# Other words used in this family: an injected scan may use any of them.
HEARD = {
    "picked up": "collected",
    "drop off": "dropped_off",
    "transit": "in_transit",
    "local delivery": "out_for_delivery",
    "delivery failed": "delivery_attempted",
    "card left": "delivery_attempted",
    "futile pickup": "pickup_futile",
    "return": "returning",
    "parcel measured": "",
}

PARTY = {
    "name": "contact.name",
    "company": "contact.company",
    "email": "contact.email",
    "phone": "contact.phone",
    "line1": "address.address_line1",
    "line2": "address.address_line2",
    "suburb": "address.suburb",
    "postcode": "address.postcode",
    "state": "address.state_name",
    "country": "address.country",
    "instructions": "instructions",
}

QUERY_PARTY = {
    "suburb": "suburb",
    "postcode": "postcode",
    "country": "country",
    "line1": "address_line1",
    "line2": "address_line2",
}

DEFAULTS: dict[str, Any] = {
    "auth": "basic",
    "version_header": "",
    "partner_query": "partner_id",
    "partner_field": "metadata.partner_id",
    "idempotency_header": "Idempotency-Key",
    "replays": False,
    "replay_hours": 48,
    "too_many_requests_is_unprocessed": True,
    "cancel_repeatable": True,
    "quote": "GET /products",
    "quote_contents": "POST /products",
    "book": "POST /orders",
    "view": "GET /orders/{id}",
    "cancel": "DELETE /orders/{id}",
    "track": "GET /tracking/{reference}",
    "subscribe": "POST /tracking/{reference}/subscribe",
    "ping": "GET /ping",
    **{
        f"query_{side}_{ours}": f"{side}_{name}"
        for side in SIDES
        for ours, name in QUERY_PARTY.items()
    },
    "query_weight": "weight_value",
    "query_weight_units": "weight_units",
    "query_length": "length_value",
    "query_width": "width_value",
    "query_height": "height_value",
    "query_dimension_units": "dimension_units",
    "query_packaging": "packaging_type",
    "numbers": "string",
    "refused_statuses": [400, 404, 405, 413, 415, 422],
    "stopped_statuses": [401, 402, 403, 412],
    "cancel_refused_statuses": [409],
    "cancelled_statuses": [200, 204],
    "post_quote": False,
    "post_quote_abroad": True,
    "post_quote_with_cover": True,
    "longest_name": 120,
    "longest_instructions": 200,
    "description_needed": True,
    "contents_types": ["Merchandise", "Gift", "Sample", "Documents", "Returned Goods", "Other"],
    "hs_code_shortest": 6,
    "hs_code_longest": 10,
    "hs_code_duties_paid": 10,
    "duties_paid_word": "DDP",
    "pickup_suffix": "-PICKUP",
    "dropoff_suffix": "-DROPOFF",
    "cover_number": "number",
    "destinations": [],
    "export_origins": ["AU", "US"],
    "cover_origins": ["AU"],
    "cover_limit": 1500.0,
    **{f"{side}_{ours}": f"{side}.{path}" for side in SIDES for ours, path in PARTY.items()},
    "description": "description",
    "weight": "weight.value",
    "weight_units": "weight.units",
    "length": "dimensions.length",
    "width": "dimensions.width",
    "height": "dimensions.height",
    "dimension_units": "dimensions.units",
    "product_code": "product_code",
    "pickup_date": "pickup_date",
    "packaging": "packaging_type",
    "packaging_word": "box",
    "customer_reference": "customer_reference",
    "order_key": "metadata.portal_order",
    "cover_amount": "cover.total_cover.amount",
    "contents": "parcel_contents",
    "item_description": "description",
    "item_value": "value",
    "item_quantity": "quantity",
    "item_origin": "country_of_origin",
    "item_hs_code": "hs_code",
    "contents_type": "contents_type",
    "products": "",
    "quoted_code": "product.code",
    "quoted_name": "product.name",
    "quoted_first_mile": "product.first_mile_option",
    "quoted_service": "product.service",
    "quoted_price": "quote.gross.amount",
    "quoted_currency": "quote.gross.currency",
    "breakdown": "price_breakdown",
    "taxes": "tax_breakdown",
    "plan": "plan",
    "eta_dates": "eta.date_range",
    "eta_days": "eta.days_range",
    "eta_send_date": "eta.for_send_date",
    "quoted_cover": "cover.price.gross.amount",
    "order_id": "order_id",
    "reference": "carrier_reference",
    "reference_shape": "S[A-Za-z0-9]{5,99}",
    "state": "state",
    "labels": "labels",
    "refused_states": [],
    "pending_states": [],
    "test_field": "",
    "test_word": "true",
    "label_format": "format",
    "label_size": "size",
    "label_url": "url",
    "full_page_sizes": ["a4", "letter"],
    "cropped_sizes": ["cropped"],
    "booked_eta_from": "scheduling.estimated_delivery_date_minimum",
    "booked_eta_to": "scheduling.estimated_delivery_date_maximum",
    "is_cancellable": "scheduling.is_cancellable",
    "booked_pickup_date": "scheduling.pickup_date",
    "booked_price": "price.gross.amount",
    "booked_currency": "price.gross.currency",
    "booked_breakdown": "price_breakdown",
    "tracking_url": "tracking_url",
    "cancel_message": "cancellation_message",
    "cancelled_word": "cancelled",
    "asked_word": "",
    "cancel_refused_states": [],
    "events": "tracking_events",
    "event_reference": "carrier_reference",
    "event_id": "event_id",
    "event_type": "event_type",
    "scan_time": "scan_time",
    "event_description": "description",
    "webhook_means": "scan",
    "tracking_next": "",
    "tracking_page_query": "page",
    "most_tracking_pages": 20,
    "location": "location_data",
    "location_suburb": "suburb",
    "location_state": "state",
    "location_postcode": "postcode",
    "location_country": "country",
    "error_code": "error",
    "error_text": "error_description",
    "error_messages": "messages",
    "label_fetch": "head",
    "label_hosts": "",
    "link": "none",
    "link_field": "authorised_tracking_url",
    "link_page": "",
    "link_reference_query": "ref",
    "link_token_query": "token",
    "link_seconds": 900,
    "link_hosts": "",
    "tracking_per_second": 5.0,
    "requests_per_second": 5.0,
    "units": "entered",
    "public_tracking": "",
    "words": {},
}


class ContractError(ValueError):
    """Raised for a contract file that this carrier won't start with; the message names the key."""


class Contract(Mapping[str, Any]):
    """Every open point of the interface by key, e.g. ``contract["sender_suburb"]``."""

    number_ids = False  # order ids and all-digit references are JSON numbers

    def __init__(self, overrides: Mapping[str, Any] | None = None) -> None:
        self._points = dict(DEFAULTS)
        if unknown := [name for name in overrides or {} if name not in DEFAULTS]:
            keys = "an unknown key" if len(unknown) == 1 else "unknown keys"
            raise ContractError(f"The contract file has {keys}: {', '.join(unknown)}.")
        for name, value in (overrides or {}).items():
            self._points[name] = _checked(name, value)
        self.operations = {name: Operation.parse(self[name]) for name in OPERATIONS if self[name]}

    @classmethod
    def load(cls, path: Path | str | None) -> "Contract":
        """Read a contract file; None gives the defaults.

        Raises ContractError instead of starting.
        """
        if path is None:
            return cls()
        try:
            overrides = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ContractError(f"The contract file cannot be read: {error}.") from error
        return cls(overrides)

    def __getitem__(self, name: str) -> Any:
        return self._points[name]

    def __iter__(self) -> Any:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def value_of(self, name: str) -> str | int:
        """Return an order id or reference as this carrier writes it in JSON."""
        is_number = self.number_ids and name.isdigit() and not name.startswith("0")
        return int(name) if is_number else name

    def code(self, own: str) -> str:
        """Return a product's code with the contract's suffixes and its word for prepaid duties."""
        for suffix, key in (("-PICKUP", "pickup_suffix"), ("-DROPOFF", "dropoff_suffix")):
            if own.endswith(suffix) and self[key]:
                own = own.removesuffix(suffix) + self[key]
        return own.replace("DDP", self["duties_paid_word"] or "DDP")

    def size_word(self, size: str) -> str:
        """Return this carrier's word for a label `size` (a4, letter or cropped)."""
        words: list[str] = self["cropped_sizes" if size == "cropped" else "full_page_sizes"]
        return size if size in words else words[0]

    def spoken(self, progress: str) -> str:
        """Return the event type of a scan with this progress."""
        for word, meaning in self["words"].items():
            if meaning == progress:
                return str(word).title() if word.islower() else str(word)
        return SPOKEN[progress]

    def meaning(self, event_type: str) -> str | None:
        """Return the progress of ``event_type``, or None for an unexplained word."""
        known = HEARD | {word.casefold(): progress for progress, word in SPOKEN.items()}
        known |= {word.casefold(): progress for word, progress in self["words"].items()}
        return known.get(event_type.casefold())

    @property
    def cancel_words(self) -> dict[str, str]:
        """Return the states of a cancelled order, an asked and a refused one ("" if unnamed)."""
        refused = next(iter(self["cancel_refused_states"]), "")
        words = {"cancelled": self["cancelled_word"], "asked": self["asked_word"]}
        return {
            name: word.capitalize() if word.islower() else word
            for name, word in {**words, "refused": refused}.items()
        }


def _checked(name: str, value: Any) -> Any:
    if name == "words":
        return _checked_words(value)
    default = DEFAULTS[name]
    if _kind(value) != _kind(default):
        raise ContractError(f"{name} must be {_kind(default)}.")
    if name in CLOSED_WORDS and value not in CLOSED_WORDS[name]:
        raise ContractError(f"{name} must be one of {', '.join(CLOSED_WORDS[name])}.")
    if name == "auth" and not _known_auth(value):
        raise ContractError("auth must be basic, bearer, none or header:NAME.")
    if name in OPERATIONS and value:
        _checked_operation(name, value)
    return value


def _checked_operation(name: str, value: str) -> None:
    try:
        Operation.parse(value)
    except ValueError as error:
        raise ContractError(f"{name}: {error}") from error


def _checked_words(words: Any) -> dict[str, str]:
    if not isinstance(words, dict):
        raise ContractError("words must be a table of carrier word = progress.")
    for word, progress in words.items():
        if not isinstance(progress, str) or progress not in PROGRESS:
            raise ContractError(
                f"words: {word} means {progress}, which is not a progress this project knows."
            )
    return dict(words)


def _known_auth(value: str) -> bool:
    return value in ("basic", "bearer", "none") or (
        value.startswith("header:") and len(value) > len("header:")
    )


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list"
    return "a number" if isinstance(value, int | float) else "neither a text nor a number"
