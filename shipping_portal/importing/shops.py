"""Shops by the header of their export, and what one says of its orders: sent, cancelled, never sent or not paid."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from shipping_portal.accounts.address.text import normalise
from shipping_portal.importing.headings import plain

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
    ("fulfilled", "shipped", "sent", "mailed", "dispatched", "posted", "completed", "complete", "delivered",
     "in transit", "out for delivery"),
    SHIPPED,
) | dict.fromkeys(("partial", "partially fulfilled", "partially shipped"), PARTLY)  # fmt: skip
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
        "will not deliver",
    ),
    CANCELLED,
)
_OPEN = dict.fromkeys(
    ("pending", "pending payment", "payment pending", "awaiting payment", "authorized", "partially paid", "unpaid",
     "on hold", "holded", "incomplete", "not paid", "payment review", "pending review", "draft", "checkout draft"),
    UNPAID,
)  # fmt: skip
_FETCHED_STATES = dict.fromkeys(
    ("awaiting pickup", "ready for pickup", "ready for collection", "pickup", "pick up", "picked up", "collect",
     "to be collected", "collected by customer"),
    NO_PARCEL,
)  # fmt: skip
YES, NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
TICK, CROSS = re.compile("[✓✔✅☑🗸]"), re.compile("[✗✘❌✖☒]")
_TICKED = (*YES, "x", "done")
# A column that asks a question, such as “Shipped?”: a tick in it says what the word itself would say.
_QUESTIONS = {
    asked: reason
    for reason, words in (
        (SHIPPED, ("shipped", "sent", "dispatched", "despatched", "posted", "mailed", "fulfilled", "delivered")),
        (CANCELLED, ("cancelled", "canceled", "voided", "deleted")),
        (REFUNDED, ("refunded", "fully refunded")),
    )
    for word in words
    for asked in (word, f"is {word}", f"order {word}", f"already {word}")
}
# What the values of a column mean, by its normalised name. Pending is unpaid, but of a shipment it is still to be made.
_OF_SHIPMENTS = ("fulfillment status", "fulfilment status", "shipping status", "shipment status", "delivery status")
WORDS = (
    {name: dict.fromkeys(_TICKED, reason) for name, reason in _QUESTIONS.items()}
    | dict.fromkeys(("paid", "is paid", "order paid"), dict.fromkeys(NO, UNPAID))
    | dict.fromkeys(
        ("order status", "status", "order state", "current state"), _SENT | _ENDED | _OPEN | _FETCHED_STATES
    )
    | dict.fromkeys(("financial status", "payment status"), _ENDED | _OPEN)
    | dict.fromkeys(_OF_SHIPMENTS, _SENT | _ENDED | _FETCHED_STATES)
    | {"pledged status": _ENDED | {"dropped": CANCELLED}}
    | {"quantity to ship": {"0": SHIPPED}}
)
_STATES = WORDS.keys() - {"quantity to ship", "paid", "is paid", "order paid"}
_COMPLETED = ("completed", "complete")  # paid in full, where a column of its own says what was sent
_SUM = re.compile(r"(?:order |grand )?(?:total|amount)(?: price| paid)?|sale price|gross")
_REFUND = re.compile(r"(?:.* )?refund(?:ed)?(?: to buyer)?(?: amount| total)?|(?:amount|total) refunded")
_NUMBER = re.compile(r"([-(]?)[^\d.,()-]{0,4}(-?)([0-9]{1,9}(?:\.[0-9]{1,4})?)(-?)[^\d-]{0,5}", re.ASCII)
# Of an order that is still to be sent.
_GOING = (
    "paid", "new", "processing", "unfulfilled", "not fulfilled", "unshipped", "not shipped", "not yet shipped",
    "not sent", "not dispatched", "to be shipped", "awaiting fulfillment", "in progress",
    "awaiting fulfilment", "awaiting shipment", "awaiting dispatch", "awaiting processing", "awaiting collection",
    "ready", "ready to ship", "ready for shipping", "to ship", "to send", "to post", "to pack", "packed", "packing",
    "picked", "printed", "open", "active", "confirmed", "accepted", "acknowledged", "approved", "received", "ok",
    "payment accepted", "payment received", "remote payment accepted", "processing in progress", "invoiced",
    "partially refunded", "partially paid back", "success", "captured", "collected", "created", "scheduled", "pending",
    "backordered", "manual verification required", "completed", "partially invoiced", "available", "in stock",
    "pledged",
)  # fmt: skip
NOTHING = frozenset(("", "0", "no", "n", "false", "none", "n a", "na", "null", "nan", "nil", "off", "not set", "unset"))
# Whatever stands there: the day on which it came about, or why.
DAYS = (
    dict.fromkeys(
        ("cancelled at", "canceled at", "cancelled on", "canceled on", "cancelled time", "canceled time",
         "cancelled date", "canceled date", "cancel time", "cancel reason", "cancellation reason",
         "cancelation reason"),
        CANCELLED,
    )
    | {"refunded at": REFUNDED, "refunded on": REFUNDED, "refund reason": REFUNDED}
    | dict.fromkeys(
        (f"{word} {at}" for word in ("shipped", "sent", "posted", "mailed", "dispatched", "despatched")
         for at in ("on", "at", "on date", "date")),
        SHIPPED,
    )
    | {"date shipped": SHIPPED, "date sent": SHIPPED, "date posted": SHIPPED}
)  # fmt: skip
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
_METHODS = ("shipping description", "shipping method", "shipping method title", "delivery method", "shipping option",
            "delivery option", "ship via",
            "shipping service", "ship method", "delivery", "shipping", "shipping label", "shipping rate name",
            "postage service", "ship service level")  # fmt: skip
_OTHERS = {"fulfillment channel": ("afn", "amazon"), "fulfilment channel": ("afn", "amazon"),
           "fulfilled by": ("amazon",),
           "fulfillment entity": ("walmart fulfilled", "walmart", "wfs")}  # fmt: skip
_SAYS = {
    **dict.fromkeys(_TYPES, _FETCHED),
    "fulfillment type": (*_FETCHED, "delivery", "fulfillment by tiktok"),  # Square's delivery: by the seller
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
_OF_PIECE = re.compile(
    r"(?:.* )?(?:unit|each|single|piece|lineitem|item value|item cost|customs|of one|per item)(?: .*)?"
)
_TOTALS = ("line total", "item total", "total price", "total value", "subtotal", "sub total", "amount", "total")
_AMAZONS = {"order item id", "amazon order id", "quantity purchased", "asin"}
KNOWN_COLUMNS = frozenset((*WORDS, *DAYS, *NO_DAY, *_TYPES, *_OTHERS, *_IS_SENT, *_IS_NOT_SENT))
SUMS = re.compile(
    r"(?:(?:grand|sub|order|orders|overall|sum) ?)?(?:totals?|sum|subtotal|summe|gesamt|zwischensumme|totaal|somme)"
    r"(?: .*)?"
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
    ("PayPal", {"transaction id", "gross", "from email address", "address line 1"}),
    ("Xero", {"po address line 1", "sa address line 1", "sa postal code"}),
    ("Australia Post", {"row type", "packaging type", "quantity"}),
    ("Starshipit", {"order number", "telephone", "building", "suburb", "postcode"}),
)


def of(header: Sequence[str]) -> str:
    """Return the shop whose export has this header, or ""."""
    names = set(map(plain, header))
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
    if _is_paid_back(list(map(plain, header)), rows[0]):  # below zero, a further row is a discount
        first.add(REFUNDED)
    return next((text for text in REASONS if text in first | further - {SHIPPED, UNPAID}), "")


def is_sent(header: Sequence[str], cells: Sequence[str], head: Sequence[str]) -> bool:
    """Return whether this row is of a thing that goes by parcel, as far as its shop says.

    How an order reaches its buyer may stand on its first row alone, the `head`.
    """
    for name, text, first in zip(map(plain, header), map(plain_cell, cells), map(plain_cell, head), strict=False):
        how = text or first
        if (name in _IS_SENT and text in NO) or (name in _IS_NOT_SENT and text in YES):
            return False
        if how in _SAYS.get(name, ()) or (name in _METHODS and _BY_METHOD.fullmatch(how)):
            return False
    return True


def is_unknown_state(name: str, text: str) -> bool:
    """Return whether a cell of a column of states says a word that we don't know: it may mean that nothing is sent."""
    return name in _STATES and text.removeprefix("wc ") not in {*_GOING, *WORDS[name]}


def is_count_of_parcels(header: Sequence[str], name: str) -> bool:
    """Return whether a column of quantities is of parcels: a carrier's template has a row for those of one kind."""
    return name == "quantity" and of(header) == "Australia Post"


def is_a_sum(cells: Sequence[str]) -> bool:
    """Return whether this row is the sum below a table: its first word says so."""
    first = next((text for text in map(normalise, cells) if text), "")
    return SUMS.fullmatch(first) is not None


def is_price_of_line(header: Sequence[str], place: int) -> bool:
    """Return whether this column holds the price of all pieces of a line: Amazon's does, other shops' are of one."""
    return plain(header[place]) == "item price" and not _AMAZONS.isdisjoint(map(plain, header))


def is_price_of_piece(header: Sequence[str], place: int) -> bool:
    """Return whether this column holds the price of one: that of a shop that we know, or by its name."""
    return bool(of(header)) or _OF_PIECE.fullmatch(plain(header[place])) is not None


def total_of_line(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return what a column says that all pieces of this line cost, "" without one."""
    named = dict(zip(map(plain, header), cells, strict=False))
    return next((named[name] for name in _TOTALS if named.get(name, "").strip()), "")


def bought(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return how many pieces an Amazon price is of: those that were bought, though fewer may be left to send."""
    named = dict(zip(map(plain, header), cells, strict=False))
    return named.get("quantity purchased", "").strip()


def plain_cell(cell: str) -> str:
    """Return the cell normalised, a tick as yes and a cross as no: nothing else is left of them."""
    return normalise(cell) or ("yes" if TICK.search(cell) else "no" if CROSS.search(cell) else "")


def _reasons(header: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    names = list(map(plain, header))
    says_what_is_sent = of(header) == "PayPal" or not set(names).isdisjoint(_OF_SHIPMENTS)
    for name, cell in zip(names, map(plain_cell, cells), strict=False):
        text = cell.removeprefix("wc ")
        if text not in _COMPLETED or name in _OF_SHIPMENTS or not says_what_is_sent:
            yield WORDS.get(name, {}).get(text, "")
        yield DAYS.get(name, "") if cell not in NOTHING else NO_DAY.get(name, "")
        if cell[:1].isdigit() and len(cell) >= len("1 1 26"):  # “Shipped” may hold the day
            yield _QUESTIONS.get(name, "")


def _is_paid_back(names: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether what was paid was paid back, all of it, or whether the row itself is a payment back."""
    sums = [_number(cell) for name, cell in zip(names, cells, strict=False) if _SUM.fullmatch(name)]
    refunds = [abs(_number(cell)) for name, cell in zip(names, cells, strict=False) if _REFUND.fullmatch(name)]
    paid = max(sums, default=Decimal(0))
    return min(sums, default=Decimal(0)) < 0 or (paid > 0 and max(refunds, default=Decimal(0)) >= paid)


def _number(cell: str) -> Decimal:
    """Return the amount in a cell, 0 without one: $27.20, -20.00, 20.00-, (20.00)."""
    found = _NUMBER.fullmatch(cell.strip().replace(",", ""))
    if found is None:
        return Decimal(0)
    return -Decimal(found[3]) if found[1] or found[2] or found[4] else Decimal(found[3])
