"""Recognise shops by their export's header, and see which orders are sent, cancelled or unpaid."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing.headings import plain, plain_names
from shipping_portal.importing.shop_words import (
    CANCELLED,
    COMPLETED,
    DAYS,
    IS_NOT_SENT,
    IS_SENT,
    METHODS,
    NO,
    NO_DAY,
    NO_PARCEL,
    NOT_BY_PARCEL,
    NOTHING,
    PAID_BACK,
    PARTLY,
    QUANTITIES,
    QUESTIONS,
    REFUNDED,
    SHIPMENT_STATES,
    SHIPPED,
    STATES,
    STILL_TO_SEND,
    TOTALS,
    UNPAID,
    WORDS,
    YES,
)

# a key among a row's problems, and among its corrections once somebody accepts it anyway
STATUS = "shop_status"
NOT_A_PARCEL = "This row holds a sum, so it isn't a parcel."
# the first reason that is true is shown
REASONS = (CANCELLED, REFUNDED, SHIPPED, PARTLY, NO_PARCEL, UNPAID)

TICK, CROSS = re.compile("[✓✔✅☑🗸]"), re.compile("[✗✘❌✖☒]")
_SUM = re.compile(
    r"(?:order |grand )?(?:total|amount)(?: price| paid| amount| base| purchased| inc tax)?"
    r"|sale price|gross"
)
_REFUND = re.compile(
    r"(?:.* )?refund(?:ed)?(?: to buyer)?(?: amount| total)?|(?:amount|total) refunded"
)
_NUMBER = re.compile(
    r"([-(]?)[^\d.,()-]{0,4}(-?)([0-9]{1,9}(?:\.[0-9]{1,4})?)(-?)[^\d-]{0,5}", re.ASCII
)
_COLLECTED = (
    r"local pick ?up|(?:in )?store (?:pick ?up|collection)|pick ?up (?:in|from|at) (?:our |the )?"
    r"(?:store|shop|studio|warehouse)|(?:customer|curbside|self) (?:pick ?up|collection|collect)"
    r"|click (?:and |n )?collect|collect (?:in|from) (?:store|shop)|local delivery|digital"
    r" (?:delivery|download|goods|products?)|email delivery|no shipping"
)
# Carriers collect too, and have collection points for buyers.
_OF_CARRIER = (
    r"points?|stations?|lockers?|parcels?|post|postal|ups|usps|fedex|dhl|courier|carrier|driver"
    r"|relay|depot|scheduled?|door|express"
)
_OTHERWISE_COLLECTED = (
    r"pick(?:ed)? ?ups?|collect(?:ed|ion) (?:in|from|at)|(?:i|you) ?(?:ll|will) collect|will call"
    r"|hand deliver(?:y|ed)|cueillette|(?:ramassage|retrait) en (?:magasin|boutique|atelier)"
    r"|(?:selbst)?abholung"
)
_BY_METHOD = re.compile(
    rf".*\b(?:{_COLLECTED})\b.*|(?!.*\b(?:{_OF_CARRIER})\b).*\b(?:{_OTHERWISE_COLLECTED})\b.*"
)
_OF_PIECE = re.compile(
    r"(?:.* )?(?:unit|each|single|piece|lineitem|item value|item cost|customs|of one|per item)(?:"
    r" .*)?"
)
ZEROS = re.compile(r"(?<=[0-9])\.0{1,9}$", re.ASCII)
_AMAZONS = {"order item id", "amazon order id", "quantity purchased", "asin"}
SUMS = re.compile(
    r"(?:(?:grand|sub|order|orders|overall|sum)"
    r" ?)?(?:totals?|sum|subtotal|summe|gesamt|zwischensumme|totaal|somme)"
    r"(?: .*)?"
)

# Column names, normalised, that only this shop's export has.
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


@dataclass(frozen=True)
class ShopColumns:
    """The columns of a header that describe an order, by position.

    They are found once for all rows of a file.
    """

    shop: str
    names: tuple[str, ...]
    delivery: tuple[int, ...]  # how an order reaches its buyer
    states: tuple[int, ...]  # its state
    sums: tuple[int, ...]
    refunds: tuple[int, ...]
    bought: tuple[int, ...]  # how many pieces
    paid_back: tuple[int, ...]


@lru_cache(256)
def _columns_of(names: tuple[str, ...]) -> ShopColumns:
    delivery = {*IS_SENT, *IS_NOT_SENT, *NOT_BY_PARCEL}
    return ShopColumns(
        next((shop for shop, its_own in SHOPS if its_own.issubset(names)), ""),
        names,
        delivery=tuple(at for at, name in enumerate(names) if name in delivery),
        states=tuple(at for at, name in enumerate(names) if name in WORDS | DAYS | NO_DAY),
        sums=tuple(at for at, name in enumerate(names) if _SUM.fullmatch(name)),
        refunds=tuple(at for at, name in enumerate(names) if _REFUND.fullmatch(name)),
        bought=tuple(at for at, name in enumerate(names) if name in QUANTITIES),
        paid_back=tuple(at for at, name in enumerate(names) if name in PAID_BACK),
    )


def read_columns(header: Sequence[str]) -> ShopColumns:
    """Return the columns of this header that describe an order."""
    return _columns_of(plain_names(header))


def find_shop(header: Sequence[str]) -> str:
    """Return the shop whose exports have this header, or ""."""
    return read_columns(header).shop


def why_left_out(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return why the shop wouldn't send this order, or "".

    `rows` holds the cells of all its rows. If only a further row says so, it applies to just part
    of the order.
    """
    if not any(is_sent(header, row, rows[0]) for row in rows):
        return NO_PARCEL
    columns = read_columns(header)
    first = set(_reasons(columns, rows[0]))
    further = {text for row in rows[1:] for text in _reasons(columns, row)}
    if SHIPPED in further - first:
        first.add(PARTLY)
    if _is_paid_back(columns, rows[0]):  # below zero; a further row below zero is a discount
        first.add(REFUNDED)
    return next((text for text in REASONS if text in first | further - {SHIPPED, UNPAID}), "")


def is_sent(header: Sequence[str], cells: Sequence[str], head: Sequence[str]) -> bool:
    """Return whether this row's item goes by parcel, as far as the shop says so.

    The delivery method may be only on the order's first row, the `head`.
    """
    columns = read_columns(header)
    for place in columns.delivery:
        if place >= min(len(cells), len(head)):
            break
        name, text = columns.names[place], plain_cell(cells[place])
        how = text or plain_cell(head[place])
        if (name in IS_SENT and text in NO) or (name in IS_NOT_SENT and text in YES):
            return False
        if how in NOT_BY_PARCEL.get(name, ()) or (name in METHODS and _BY_METHOD.fullmatch(how)):
            return False
    bought, paid_back = (
        {plain_cell(cells[place]) for place in places if place < len(cells)}
        for places in (columns.bought, columns.paid_back)
    )
    return bought.isdisjoint({"0", *paid_back} - {""})


def is_unknown_state(name: str, text: str) -> bool:
    """Return whether a status cell has an unknown word, which may mean that nothing is sent."""
    return name in STATES and text.removeprefix("wc ") not in {*STILL_TO_SEND, *WORDS[name]}


def is_count_of_parcels(header: Sequence[str], name: str) -> bool:
    """Return whether a quantity counts parcels: carriers' templates have a row for equal ones."""
    return name == "quantity" and find_shop(header) == "Australia Post"


def is_a_sum(cells: Sequence[str]) -> bool:
    """Return whether this row is a total below a table, by the first word that isn't a number."""
    words = (text for text in map(normalise_name, cells) if re.search(r"[^\W\d]", text))
    return SUMS.fullmatch(next(words, "")) is not None


def is_price_of_line(header: Sequence[str], place: int) -> bool:
    """Return whether this column's price is for a whole line, as at Amazon.

    Other shops give the price of one piece.
    """
    return plain(header[place]) == "item price" and not _AMAZONS.isdisjoint(plain_names(header))


def is_price_of_piece(header: Sequence[str], place: int) -> bool:
    """Return whether this column's price is for one piece, by the shop or the column's name."""
    return bool(find_shop(header)) or _OF_PIECE.fullmatch(plain(header[place])) is not None


def total_of_line(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return a line's total price from its column, or ""."""
    named = dict(zip(plain_names(header), cells, strict=False))
    return next((named[name] for name in TOTALS if named.get(name, "").strip()), "")


def pieces_per_price(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return how many pieces an Amazon price covers.

    It covers all pieces bought, even if fewer are left to send.
    """
    return dict(zip(plain_names(header), cells, strict=False)).get("quantity purchased", "").strip()


def whole(text: str) -> str:
    """Return the number of pieces that a spreadsheet may have saved as 2.0."""
    return ZEROS.sub("", text.strip())


def plain_cell(cell: str) -> str:
    """Return the cell normalised, a tick as yes and a cross as no."""
    return normalise_name(whole(cell)) or (
        "yes" if TICK.search(cell) else "no" if CROSS.search(cell) else ""
    )


def _reasons(columns: ShopColumns, cells: Sequence[str]) -> Iterator[str]:
    says_what_is_sent = columns.shop == "PayPal" or not set(columns.names).isdisjoint(
        SHIPMENT_STATES
    )
    for place in columns.states:
        if place >= len(cells):
            break
        name, cell = columns.names[place], plain_cell(cells[place])
        text = cell.removeprefix("wc ")
        if text not in COMPLETED or name in SHIPMENT_STATES or not says_what_is_sent:
            yield WORDS.get(name, {}).get(text, "")
        yield DAYS.get(name, "") if cell not in NOTHING else NO_DAY.get(name, "")
        # “Shipped” may contain the day.
        if cell[:1].isdigit() and len(cell) >= len("1 1 26"):
            yield QUESTIONS.get(name, "")


def _is_paid_back(columns: ShopColumns, cells: Sequence[str]) -> bool:
    """Return whether everything was refunded or the row itself is a refund."""
    sums = [_number(cells[place]) for place in columns.sums if place < len(cells)]
    refunds = [abs(_number(cells[place])) for place in columns.refunds if place < len(cells)]
    paid = max(sums, default=Decimal(0))
    return min(sums, default=Decimal(0)) < 0 or (
        paid > 0 and max(refunds, default=Decimal(0)) >= paid
    )


def _number(cell: str) -> Decimal:
    """Return the amount in a cell, or 0: $27.20, -20.00, 20.00-, (20.00)."""
    found = _NUMBER.fullmatch(cell.strip().replace(",", ""))
    if found is None:
        return Decimal(0)
    return -Decimal(found[3]) if found[1] or found[2] or found[4] else Decimal(found[3])
