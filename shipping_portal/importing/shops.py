"""Shops by the header of their export, and what one says of its orders: sent, cancelled, never sent or not paid."""

import re
from collections.abc import Iterator, Sequence

from shipping_portal.accounts.text import normalise

STATUS = "shop_status"  # among a row's problems, and among its corrections once it is taken all the same
SHIPPED = "Already shipped in your shop."
PARTLY = "Partly shipped already in your shop."
CANCELLED = "Cancelled in your shop."
REFUNDED = "Refunded in your shop."
UNPAID = "Not paid yet in your shop."
NO_PARCEL = "Needs no parcel."
NOT_A_PARCEL = "This row holds a sum, so it isn't a parcel."
REASONS = (CANCELLED, REFUNDED, SHIPPED, PARTLY, NO_PARCEL, UNPAID)  # the first that is true is told

_SENT = dict.fromkeys(
    ("fulfilled", "shipped", "dispatched", "posted", "completed", "complete", "delivered"), SHIPPED
) | dict.fromkeys(("partial", "partially fulfilled", "partially shipped"), PARTLY)
_ENDED = {"refunded": REFUNDED} | dict.fromkeys(
    (
        "cancelled",
        "canceled",
        "voided",
        "declined",
        "expired",
        "restocked",
        "failed",
        "closed",
        "chargeback",
        "trash",
        "fraud",
        "suspected fraud",
    ),
    CANCELLED,
)
_OPEN = dict.fromkeys(
    ("pending", "pending payment", "payment pending", "awaiting payment", "authorized", "partially paid", "unpaid",
     "on hold", "holded", "incomplete", "not paid", "payment review", "pending review", "draft", "checkout draft"),
    UNPAID,
)  # fmt: skip
# What the values of a column mean, by its normalised name. Pending is unpaid, but of a shipment it is still to be made.
WORDS = (
    dict.fromkeys(("order status", "status", "order state"), _SENT | _ENDED | _OPEN)
    | dict.fromkeys(("financial status", "payment status"), _ENDED | _OPEN)
    | dict.fromkeys(
        ("fulfillment status", "fulfilment status", "shipping status", "shipment status", "delivery status"),
        _SENT | _ENDED,
    )
    | {"quantity to ship": {"0": SHIPPED}}
)
DAYS = {"cancelled at": CANCELLED, "canceled at": CANCELLED, "refunded at": REFUNDED} | dict.fromkeys(
    ("date shipped", "shipped at", "shipped on date", "dispatched on date", "posted on date"), SHIPPED
)
NO_DAY = {"paid on date": UNPAID}
# How an order reaches its buyer, where that is no parcel: fetched, brought by the seller, downloaded, sent by others.
_FETCHED = (
    "pickup", "pick up", "local pickup", "local pick up", "store pickup", "in store pickup", "in store pick up",
    "pickup in store", "pick up in store", "collect in store", "customer pickup", "curbside", "curbside pickup",
    "click and collect", "click collect", "collection", "customer collection", "in store", "in person", "inperson",
    "local delivery", "hand delivery", "own delivery", "dine in", "digital", "digital delivery", "digital download",
    "digital goods", "digital item", "digital product", "download", "downloadable", "electronic", "e mail", "email",
    "email delivery", "virtual", "gift card", "giftcard", "e gift card",
    "no shipping", "no shipping required", "no shipping needed", "not required", "does not require shipping",
)  # fmt: skip
_BY_METHOD = re.compile(
    r".*\b(?:local pick ?up|(?:in )?store pick ?up|(?:in )?store collection|pick ?up (?:in|from|at) (?:our |the )?"
    r"(?:store|shop|studio|warehouse)|(?:customer|curbside|self) (?:pick ?up|collection|collect)|click (?:and |n )?"
    r"collect|collect (?:in|from) (?:store|shop)|local delivery|digital (?:delivery|download|goods|products?)"
    r"|email delivery|no shipping)\b.*"
)
_TYPES = ("fulfillment type", "fulfilment type", "delivery type", "listings type", "order type", "item type",
          "lineitem type", "product type", "line item type")  # fmt: skip
_METHODS = ("shipping method", "shipping method title", "delivery method", "shipping option", "delivery option",
            "shipping service", "ship method", "delivery", "shipping", "shipping label", "shipping rate name",
            "postage service", "ship service level")  # fmt: skip
_OTHERS = {"fulfillment channel": ("afn", "amazon"), "fulfilment channel": ("afn", "amazon"),
           "fulfilled by": ("amazon",)}  # fmt: skip
_SAYS = {
    **dict.fromkeys(_TYPES, _FETCHED),
    "fulfillment type": (*_FETCHED, "delivery"),  # Square's: by the seller
    **dict.fromkeys(_METHODS, _FETCHED),
    **_OTHERS,
}
_IS_SENT = ("lineitem requires shipping", "requires shipping", "needs shipping", "is shippable", "shippable",
            "physical", "is physical")  # fmt: skip
_IS_NOT_SENT = (
    "downloadable",
    "virtual",
    "is digital",
    "digital",
    "is virtual",
    "is downloadable",
    "click and collect",
)
_AMAZONS = {"order item id", "amazon order id", "quantity purchased", "asin"}
YES, NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
KNOWN_COLUMNS = frozenset((*WORDS, *DAYS, *NO_DAY, *_TYPES, *_OTHERS, *_IS_SENT, *_IS_NOT_SENT))
SUMS = re.compile(
    r"(?:(?:grand|sub|order|orders|overall|sum) ?)?(?:totals?|sum|subtotal|summe|gesamt|zwischensumme|totaal|somme)"
    r"(?: of)?(?: orders| parcels| rows)?"
)

# What only the export of this shop has among its columns, normalised.
SHOPS = (
    ("Shopify", {"financial status", "fulfillment status", "lineitem name", "shipping zip"}),
    ("WooCommerce", {"order status", "address 1 2 shipping", "postcode shipping"}),
    ("WooCommerce", {"billing first name", "shipping postcode", "order number"}),
    ("eBay UK", {"sales record number", "post to postcode", "post to county"}),
    ("eBay Australia", {"sales record number", "post to postcode"}),
    ("eBay US", {"sales record number", "ship to zip"}),
    ("Etsy", {"sale date", "ship zipcode", "order id"}),
    ("Amazon", {"order id", "order item id", "ship postal code"}),
    ("Square", {"order", "fulfillment type", "recipient postal code"}),
    ("BigCommerce", {"order id", "shipping suburb", "shipping zip", "product details"}),
    ("Starshipit", {"order number", "telephone", "building", "suburb", "postcode"}),
)


def of(header: Sequence[str]) -> str:
    """Return the shop whose export has this header, or ""."""
    names = set(map(normalise, header))
    return next((shop for shop, its_own in SHOPS if its_own <= names), "")


def why_left_out(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return why the shop itself would not send this order; "" when nothing of the kind is said.

    `rows` are the cells of all its rows. What only a further row says is true of a part of the order.
    """
    if not any(is_sent(header, row, rows[0]) for row in rows):
        return NO_PARCEL
    first, further = set(_reasons(header, rows[0])), {text for row in rows[1:] for text in _reasons(header, row)}
    if SHIPPED in further - first:
        first.add(PARTLY)
    return next((text for text in REASONS if text in first | further - {SHIPPED, UNPAID}), "")


def is_sent(header: Sequence[str], cells: Sequence[str], head: Sequence[str]) -> bool:
    """Return whether this row is of a thing that goes by parcel, as far as its shop says.

    How an order reaches its buyer may stand on its first row alone, the `head`.
    """
    for name, text, first in zip(map(normalise, header), map(normalise, cells), map(normalise, head), strict=False):
        how = text or first
        if (name in _IS_SENT and text in NO) or (name in _IS_NOT_SENT and text in YES):
            return False
        if how in _SAYS.get(name, ()) or (name in _METHODS and _BY_METHOD.fullmatch(how)):
            return False
    return True


def is_a_sum(cells: Sequence[str]) -> bool:
    """Return whether this row is the sum below a table: its first word says so."""
    first = next((text for text in map(normalise, cells) if text), "")
    return SUMS.fullmatch(first) is not None


def is_price_of_line(header: Sequence[str], place: int) -> bool:
    """Return whether this column holds the price of all pieces of a line: Amazon's does, other shops' are of one."""
    return normalise(header[place]) == "item price" and not _AMAZONS.isdisjoint(map(normalise, header))


def bought(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return how many pieces an Amazon price is of: those that were bought, though fewer may be left to send."""
    named = dict(zip(map(normalise, header), cells, strict=False))
    return named.get("quantity purchased", "").strip()


def _reasons(header: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    for name, cell in zip(map(normalise, header), map(normalise, cells), strict=False):
        yield WORDS.get(name, {}).get(cell.removeprefix("wc "), "")
        yield DAYS.get(name, "") if cell else NO_DAY.get(name, "")
