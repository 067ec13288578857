"""List the normalised words that shops use for an order's state.

States are sent, cancelled, refunded, not paid, and never sent by parcel.
"""

from shipping_portal.importing.headings import split_words

SHIPPED = "Already shipped in your shop."
PARTLY = "Partly shipped already in your shop."
CANCELLED = "Cancelled in your shop."
REFUNDED = "Refunded in your shop."
UNPAID = "Not paid yet in your shop."
NO_PARCEL = "Needs no parcel."

YES, NO = split_words("true, yes, y, 1"), split_words("false, no, n, 0")
_TICKED = (*YES, "x", "done")
NOTHING = frozenset(
    split_words(", 0, no, n, false, none, n a, na, null, nan, nil, off, not set, unset")
)


def _all_mean(reason: str, words: str) -> dict[str, str]:
    return dict.fromkeys(split_words(words), reason)


_SENT = _all_mean(
    SHIPPED,
    "fulfilled, shipped, sent, mailed, dispatched, posted, completed, complete, delivered,in"
    " transit, out for delivery",
) | _all_mean(PARTLY, "partial, partially fulfilled, partially shipped")
_ENDED = {"refunded": REFUNDED} | _all_mean(
    CANCELLED,
    "cancelled, canceled, voided, declined, expired, restocked, failed, closed, chargeback, trash,"
    "fraud, suspected fraud, will not deliver",
)
_OPEN = _all_mean(
    UNPAID,
    "pending, pending payment, payment pending, awaiting payment, authorized, partially paid,"
    "unpaid, on hold, holded, incomplete, not paid, payment review, pending review, draft,"
    "checkout draft",
)
_COLLECTED_STATES = _all_mean(
    NO_PARCEL,
    "awaiting pickup, ready for pickup, ready for collection, pickup, pick up, picked up, collect,"
    "to be collected, collected by customer",
)
# Columns that ask, such as “Shipped?”. A tick in one means what the word would.
QUESTIONS = {
    asked: reason
    for reason, words in (
        (SHIPPED, "shipped, sent, dispatched, despatched, posted, mailed, fulfilled, delivered"),
        (CANCELLED, "cancelled, canceled, voided, deleted"),
        (REFUNDED, "refunded, fully refunded"),
    )
    for word in split_words(words)
    for asked in (word, f"is {word}", f"order {word}", f"already {word}")
}
_PAID = split_words("paid, is paid, order paid")
SHIPMENT_STATES = split_words(
    "fulfillment status, fulfilment status, shipping status, shipment status, delivery status"
)
_ORDER_STATES = split_words("order status, status, order state, current state")
# What the values of a column mean, by its name. Pending means unpaid, but a pending shipment is yet
# to be sent.
WORDS = (
    {name: dict.fromkeys(_TICKED, reason) for name, reason in QUESTIONS.items()}
    | dict.fromkeys(_PAID, dict.fromkeys(NO, UNPAID))
    | dict.fromkeys(_ORDER_STATES, _SENT | _ENDED | _OPEN | _COLLECTED_STATES)
    | dict.fromkeys(("financial status", "payment status"), _ENDED | _OPEN)
    | dict.fromkeys(SHIPMENT_STATES, _SENT | _ENDED | _COLLECTED_STATES)
    | {"pledged status": _ENDED | {"dropped": CANCELLED}}
    | {"quantity to ship": {"0": SHIPPED}}
)
STATES = WORDS.keys() - {"quantity to ship", *_PAID}
COMPLETED = ("completed", "complete")  # paid in full, if another column shows what was sent
# Words for an order yet to be sent.
STILL_TO_SEND = split_words(
    "paid, new, processing, unfulfilled, not fulfilled, unshipped, not shipped, not yet shipped,"
    "not sent, not dispatched, to be shipped, awaiting fulfillment, in progress,"
    "awaiting fulfilment, awaiting shipment, awaiting dispatch, awaiting processing,"
    "awaiting collection, ready, ready to ship, ready for shipping, to ship, to send, to post,"
    "to pack, packed, packing, picked, printed, open, active, confirmed, accepted, acknowledged,"
    "approved, received, ok, payment accepted, payment received, remote payment accepted,"
    "processing in progress, invoiced, partially refunded, partially paid back, success, captured,"
    "collected, created, scheduled, pending, backordered, manual verification required, completed,"
    "partially invoiced, available, in stock, pledged"
)
# Any value counts: the day it happened, or the reason.
DAYS = (
    _all_mean(
        CANCELLED,
        "cancelled at, canceled at, cancelled on, canceled on, cancelled time, canceled time,"
        "cancelled date, canceled date, cancel time, cancel reason, cancellation reason,"
        "cancelation reason",
    )
    | _all_mean(REFUNDED, "refunded at, refunded on, refund reason")
    | {
        f"{word} {at}": SHIPPED
        for word in split_words("shipped, sent, posted, mailed, dispatched, despatched")
        for at in ("on", "at", "on date", "date")
    }
    | _all_mean(SHIPPED, "date shipped, date sent, date posted")
)
NO_DAY = {"paid on date": UNPAID}
# How an order reaches its buyer, if not by parcel: collected, delivered by the seller, downloaded,
# or sent by others.
_NOT_BY_PARCEL = split_words(
    "pickup, pick up, local pickup, local pick up, store pickup, in store pickup, in store pick up,"
    "pickup in store, pick up in store, collect in store, customer pickup, curbside,"
    "curbside pickup, click and collect, click collect, collection, customer collection, in store,"
    "in person, inperson, local delivery, hand delivery, own delivery, dine in, digital,"
    "digital delivery, digital download, digital goods, digital item, digital product, download,"
    "downloadable, electronic, e mail, email, email delivery, virtual, gift card, giftcard,"
    "e gift card, no shipping, no shipping required, no shipping needed, not required,"
    "does not require shipping"
)
_TYPES = split_words(
    "fulfillment type, fulfilment type, delivery type, listings type, order type, item type,"
    "lineitem type, product type, line item type"
)
METHODS = split_words(
    "shipping description, shipping method, shipping method title, delivery method,"
    "shipping option, delivery option, ship via, shipping service, ship method, delivery,"
    "shipping, shipping label, shipping rate name, postage service, ship service level"
)
_SENT_BY_OTHERS = {
    "fulfillment channel": ("afn", "amazon"),
    "fulfilment channel": ("afn", "amazon"),
    "fulfilled by": ("amazon",),
    "fulfillment entity": ("walmart fulfilled", "walmart", "wfs"),
}
# At Square, delivery means delivery by the seller.
NOT_BY_PARCEL = {
    **dict.fromkeys((*_TYPES, *METHODS), _NOT_BY_PARCEL),
    "fulfillment type": (*_NOT_BY_PARCEL, "delivery", "fulfillment by tiktok"),
    **_SENT_BY_OTHERS,
}
IS_SENT = split_words(
    "lineitem requires shipping, requires shipping, needs shipping, is shippable,"
    " shippable,physical, is physical"
)
# How many pieces of an item were bought, and how many of them were refunded. If none is left, there
# is no parcel.
QUANTITIES = split_words(
    "lineitem quantity, quantity, qty, item quantity, item qty, product quantity, product qty,"
    "quantity ordered, qty ordered, quantity refund"
)
PAID_BACK = split_words("quantity refunded, qty refunded")
IS_NOT_SENT = split_words(
    "downloadable, virtual, is digital, digital, is virtual, is downloadable, click and collect"
)
KNOWN_COLUMNS = frozenset(
    (*WORDS, *DAYS, *NO_DAY, *_TYPES, *_SENT_BY_OTHERS, *IS_SENT, *IS_NOT_SENT)
)
TOTALS = split_words(
    "line total, item total, total price, total value, subtotal, sub total, amount, total"
)
