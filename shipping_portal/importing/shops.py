"""Shops by the header of their export, and what one says of its orders: shipped, cancelled, refunded or not paid."""

from collections.abc import Iterator, Sequence

from shipping_portal.accounts.places import normalise

STATUS = "shop_status"  # among a row's problems, and among its corrections once it is taken all the same
SHIPPED = "Already shipped in your shop."
PARTLY = "Partly shipped already in your shop."
CANCELLED = "Cancelled in your shop."
REFUNDED = "Refunded in your shop."
UNPAID = "Not paid yet in your shop."
REASONS = (CANCELLED, REFUNDED, SHIPPED, PARTLY, UNPAID)  # the first that is true is told

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
KNOWN_COLUMNS = frozenset((*WORDS, *DAYS, *NO_DAY))

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
    first, further = set(_reasons(header, rows[0])), {text for row in rows[1:] for text in _reasons(header, row)}
    if SHIPPED in further - first:
        first.add(PARTLY)
    return next((text for text in REASONS if text in first | further - {SHIPPED, UNPAID}), "")


def _reasons(header: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    for name, cell in zip(map(normalise, header), map(normalise, cells), strict=False):
        yield WORDS.get(name, {}).get(cell.removeprefix("wc "), "")
        yield DAYS.get(name, "") if cell else NO_DAY.get(name, "")
