"""Check columns that no field reads. Rows with text in them wait, unless the column is listed here.

Every filled cell is read, ignored by a rule, or makes its row wait: an unknown column name is no
reason to drop the values below it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing import columns, headings, shops, units
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.reading import REASON
from shipping_portal.importing.shop_words import KNOWN_COLUMNS, NOTHING

SEEN = "unread"  # a key in a row's corrections: its sender says that nothing in it matters
KEY = "unread:"  # a key in a row's problems, before the place of the column

# Columns that don't matter for a parcel, as whole normalised names, one pattern per line: how an
# order was sold, paid, taxed, advertised and found; who made it; the shop's internal data.
OF_NO_MATTER = r"""
(?:.* )?(?:id|ids|sku|skus|asin|upc|ean|gtin|isbn|barcode|mpn|url|link|image|photo|tags?|risk level|guid|uuid)
(?:.* )?(?:tax|taxes|gst|vat|hst|pst|fee|fees|discounts?|coupon|refund|refunded|subtotal|total|totals)
(?:.* )?(?:tax|gst|vat|discount|coupon|promotion|refund|fee|voucher)(?: \d)? (?:name|value|amount|codes?|details|type)
(?:.* )?(?:tax|gst|vat|discount|coupon|promotion|refund|fee|voucher)(?: \d)? (?:total|rate|tax|class)
(?:.* )?(?:subtotal|total|amount|charged?|paid|due|balance|revenue|profit|margin|cost|prices?)(?: (?:amount|tax))?
(?:.* )?(?:total|amount|cost|price) (?:inc|incl|ex|excl|including|excluding) (?:tax|gst|vat)
order (?:date|time|status|state|type|source|total|value|currency|currency code|net|weight unit|channel|shipping)
(?:net|gross|original|adjusted|adjusted net) (?:order |sales )?(?:amount|value)
(?:created|updated|modified|paid|placed|ordered|purchased|authori[sz]ed|captured|exported|imported|printed|added)
(?:created|updated|modified|paid|placed|ordered|purchased|exported|fulfilled|completed|printed) (?:at|on|by)
(?:created|updated|modified|paid|placed|ordered|purchased|exported|fulfilled|completed|printed) (?:date|time)(?: utc)?
(?:sale|sold|sales|purchase|payments?|invoice|reporting|promise|export|checkout|transaction)(?: on)? (?:date|time|day)
(?:next payment due|next billing|order placed|order created) (?:at|on|date)
(?:latest|earliest|expected|estimated|minimum|maximum|min|max|promised) .*(?:date|day|time|by|at)
(?:ship|post|dispatch|despatch) by(?: date)?
date|time|day|(?:date|time|day) (?:created|paid|placed|ordered|purchased|of order|of sale|added|sold|modified)
days past promise|delivery (?:start|end) date|delivery time zone|fulfillment date|time zone|timezone|timestamp
payments? .*|.* payment|card .*|paypal .*|stripe .*|gateway .*|transaction .*|bank .*|terms|.* payment terms
receipt|receipt .*|invoice .*|outstanding balance|currency rate|exchange rate|accepts marketing.*|.* marketing.*
newsletter.*|utm .*|referr?er.*|referring .*|landing page.*|campaign.*|source.*|channels?|sales channel|medium
ip|ip address|customer ip.*|user agent|browser|device|device .*|session.*|affiliate.*|language|locale
vendor|employee|location|staff|cashier|register|team member|salesperson|sales rep|assigned to|brand
department|category|categories|collections?|product category|class|season|type
(?:item|lineitem|line item|product|variant|variation|option)s? .*(?:options?|modifiers?|variations?|variants?)
(?:item|lineitem|line item|product|variant|variation|option)s? .*(?:properties|taxable|status|discount|price|vendor)
(?:item|lineitem|line item|product|variant|option)s? (?:type|brand|category|number|no|condition|meta|colou?r|size|style)
(?:item|lineitem|line item|product|variant|option)s? (?:attributes?|location|postcode|zip code|country|variation|image)
variations?|variants?|variation details|options?|modifiers?|attributes|note attributes|custom label|custom fields?
personali[sz]ation|colou?r|style|material|condition|line|line no|line number|row|item|item no|item number|product
number of items|items|item count|items total|total (?:quantity|items|qty|units|shipped)|units|units sold
quantity (?:shipped|purchased|ordered|refunded|returned|cancelled|fulfilled|allocated|in stock)
is business order|purchase order number|po number|price designation|is prime|is premium order|is replacement order
is gift|gift|gift wrap.*|gift receipt|is sold by ab
(?:customer|buyer|user|client|member|account|guest)(?: (?:username|user name|user id|type|groups?|since|number|no))?
(?:customer|buyer|user|client|member|account|guest) (?:language|tags|orders count|lifetime value|segment)
username|user|login
(?:shipping|ship|delivery|postage|shipment|freight) (?:method|method title|option|rate|rate name|label|cost|charge)
(?:shipping|ship|delivery|postage|shipment|freight) (?:amount|carrier|provider|zone|class|paid|discount|company|status)
(?:shipping|ship|delivery|postage) (?:service|service level|service name|speed|type|and handling|promotion discount)
ship method|ship via|shipping|postage|delivery|freight|carrier|carrier .*|courier.*|ship service level|delivery service
tracking.*|.* tracking(?: number| no| code)?|label (?:status|created|printed).*|shipped(?: by)?
fulfil?lment (?:status|service|channel|by|provider|id|location)|fulfil?led by
(?:sales )?record number|sold via .*|sold for|my item note
feedback .*|global shipping .*|click and collect .*|ebay .*|in ?person .*
listings? .*|vat paid by buyer|order net|shipping discount|etsy .*|status|store|store .*|shop|shop .*
additional details|parent|parent order|related orders?|version|rating
review.*|loyalty.*|points.*|subscription.*|recurring.*|warehouse|bin|shelf|aisle|stock.*|lot|batch|serial.*
picked by|packed by|picker|packer|(?:staff|internal|private|admin|seller) notes?|title|prefix|salutation|gender
address (?:type|status|verified|validated|validation)|residential|is residential|latitude|longitude|lat|lng|geo.*
order (?:substatus|name|platform|url|notes count)|(?:normal|pre order|normal or pre order)
cancel (?:by|date)(?: date)?
(?:sku|seller|platform|unit|line|item) (?:unit )?(?:original|platform|seller|sub|line)?(?: )?(?:total|price|discount)
sku (?:quantity of return|subtotal .*|platform discount|seller discount|unit original price)
(?:original )?shipping fee(?: .*)?|seller note|buyer username|package id|(?:rts|paid|created|delivered|order) time
channel (?:type|name|order number)|product details|purchase point|purchased from|customer segment|segment|flids
bill to name|shipping information|shipping and handling|total (?:qty|quantity)(?: ordered)?|total order quantity
id (?:order|customer|cart|shop|lang)|option name|retail price|(?:scheduled )?(?:order|ship) date|po|po number
(?:ship|shipping|promised) date(?: .*)?|(?:ship|delivery|shipping|promised) (?:tier|sla)(?: .*)?
shipping config source|update status
shipping sla|line total|sub total|deposit amount|net total|gross total
(?:e mail|email|phone|address|website|event|relation|custom field|im) \d (?:label|type)|address 1 formatted
labels|group membership|file as|photo|nickname|phonetic .*|(?:organization|job) title|middle name|suffix|initials
member rating|optin .*|confirm .*|gmtoff|dstoff|cc|last changed|leid|euid|tags
backer (?:uid|name|id)|pledge(?:d)? (?:amount|at|manager)|reward (?:title|id|minimum)|backing minimum|survey response
row type|(?:sender|payer|charge) account|product (?:id|code)|packaging type|send tracking email.*|search term
anniversary|hobby|(?:account|customer) (?:code|ref)|partner|fax|(?:home|business|other) fax|.* fax(?: number)?
additional checkout info|fulfil?lment service|variant|shipping label|contact status|custom field \d|rubber stamp \d
tax label|brand family|product reference|(?:item|line) code|date (?:add|upd)|payment|total paid.*|id order
customer user|download permissions.*|order item \d+|update (?:qty|quantity|status)|replacement order|seller order no
(?:item )?(?:packaging type|delivery service)|additional label information \d|service used|store key|order item id
send (?:tracking |delivery |dispatch )?(?:notifications?|emails?|sms|updates?)|(?:closed|archived) status
grand total .*|shipping description|(?:item|lineitem|product|unit) weight(?: \w+)?
fees? (?:refunded|paid|charged).*|date of (?:listing|sale|order|purchase|payment)|total (?:spent|orders|shipping)
gross|net|seller message|amount (?:spent|received|you received)|balance impact|address status
requested service|service requested|artist|catalog number|paid to|attendee(?: no)?
date of birth|birthday|age|duties|total duties
"""  # noqa: E501
NO_MATTER = re.compile("|".join(OF_NO_MATTER.strip().splitlines()))
OTHER_PARTY = re.compile(
    r"(po|billing|bill to|bill|invoice|invoice to|buyer|payer|customer|purchaser|sender|ship from"
    r"|send from|from|return|return to|returns|store|shop|warehouse|seller|merchant|vendor|supplier"
    r"|origin|pickup|collection|cardholder)"
    r" (?:first ?|last ?|full |address"
    r" )?(?:name|company|address|street|unit|building|suburb|city|town|state|county"
    r"|region|province|zip|postcode|post code|postal"
    r" code|country|phone|contact|attention|email|mobile"
    r"|tax identifier).*"
    r"|(?:.*) (billing|bill to|buyer|sender|invoice)"
)
# Columns that only matter abroad, and columns whose values the row already has.
ABROAD = re.compile(
    r"\b(?:customs|tariff|hs|hts|harmoni[sz]ed|origin|made"
    r" in|commodity|eori|ioss|incoterms?|dut(?:y|ies)|ddp|dap|value"
    r"|worth|currency|export|contents type|reason for export|tax identifier value|tax id|vat"
    r" number)\b"
    r"|^(?:(?:line ?item|item|product|order|total) )?(?:quantity|qty)(?: ordered)?$"
)
CONTACT = {
    "receiver_phone": re.compile(r"\b(?:phone|telephone|tel|mobile|cell|fax|whatsapp)\b"),
    "receiver_email": re.compile(r"\b(?:e ?mail|email address)\b"),
    "receiver_name": re.compile(
        r"^(?:(?:ship|shipping|recipient|receiver|contact|full|first|last|buyer|customer) )?name$"
    ),
    "receiver_state": re.compile(r"\b(?:state|province|county|region)\b"),
    "receiver_country": re.compile(r"\bcountry\b"),
}
WEIGHTY_VALUE = re.compile(r"\b(?:insur|declared|cover\b|cod\b|cash on delivery)")
ZERO = re.compile(r"\W*+0*+(?:[.,]0++)?+\W*+", re.ASCII)
KNOWN = KNOWN_COLUMNS | {normalise_name(REASON)}
# before the text that a cell repeats
LABELS = {"phone", "tel", "telephone", "mobile", "email", "name", "address"}
# What WooCommerce itself adds to an order.
OF_THE_SHOP = re.compile(r"order status changed from (?:\w+ ){1,3}to \w+(?: \w+)?")
COUNT = re.compile(
    r"(?:(?:number|no|qty|quantity|count|total)(?: of)?"
    r" )?(?:parcels?|packages?|boxes|cartons?|labels|pieces)"
    r"(?: count| qty| quantity| total)?|(?:qty|quantity) of items"
)


@cache
def is_irrelevant(name: str) -> bool:
    """Return whether a column with this normalised name never matters for a parcel."""
    return NO_MATTER.fullmatch(name) is not None and WEIGHTY_VALUE.search(name) is None


def listed(file: Import, asked: Mapping[int, int]) -> list[str]:
    """Return the filled columns that are neither read nor waited for, going by their names."""
    return [file.header[at] for at in file.filled if at not in _read(file) and at not in asked]


def waiting(rows: Iterable[ImportRow]) -> Counter[int]:
    """Return how many of these rows wait for each column, by its position."""
    return Counter(
        int(key.removeprefix(KEY)) for row in rows for key in row.problems if key.startswith(KEY)
    )


def find_unread(
    rows: Iterable[ImportRow], file: Import, values: Mapping[str, Any], *, for_customs: bool
) -> dict[str, list[str]]:
    """Return by column what no field reads in the rows of one parcel."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for place, cell in _unread(row, file, values, for_customs=for_customs):
            text = f"“{file.header[place]}” says “{cell[:60]}”, and no field takes it."
            found.setdefault(f"{KEY}{place}", []).append(text)
    return {key: list(dict.fromkeys(texts)) for key, texts in found.items()}


def _unread(
    row: ImportRow, file: Import, values: Mapping[str, Any], *, for_customs: bool
) -> Iterator[tuple[int, str]]:
    """Yield the position and text of every filled cell that matters."""
    cells = [
        (*column, cell)
        for column in _columns_that_matter(row, file)
        if (cell := row.cell(column[0]))
    ]
    words = _words_of(values) if cells else set()
    for place, name, is_read, cell in cells:
        text = shops.plain_cell(cell)
        if not _is_filled(cell, text) or OF_THE_SHOP.fullmatch(text):
            continue
        if is_read and not _says_more(name, text, file.header):
            continue
        if not is_read and (
            _is_repeated(text, words) or (not for_customs and _is_for_customs(name))
        ):
            continue
        if COUNT.fullmatch(name) and re.fullmatch(r"1(?:\.0+)?", cell.strip(), re.ASCII):
            continue
        if any(values.get(field) and its.search(name) for field, its in CONTACT.items()):
            continue
        yield place, " ".join(cell.split())


def _words_of(values: Mapping[str, Any]) -> set[str]:
    """Return the words of everything that is read, and of the country's and state's names."""
    country, state = str(values.get("receiver_country", "")), str(values.get("receiver_state", ""))
    texts = (
        *values.values(),
        countries.country_name(country),
        countries.state_name(country, state),
    )
    return {word for text in texts for word in normalise_name(str(text)).split()}


def _columns_that_matter(row: ImportRow, file: Import) -> tuple[tuple[int, str, bool], ...]:
    """Return the columns that may have extra information: position, name, whether it is read."""
    read = _read(file)
    if any(row.cell(file.columns.get(side)).strip() for side in units.SIZES):
        # the sides have separate columns
        read = read - {file.columns.get(columns.DIMENSIONS, -1)}
    names = headings.plain_names(file.header)
    street = file.columns.get("receiver_line1", file.columns.get(columns.ADDRESS))
    passed = frozenset(file.constants.get(columns.NO_MATTER, ()))
    return _find_columns(names, read, names[street] if street is not None else None, passed)


@lru_cache(256)
def _find_columns(
    names: tuple[str, ...], read: frozenset[int], street: str | None, passed: frozenset[str]
) -> tuple[tuple[int, str, bool], ...]:
    return tuple(
        (place, name, place in read)
        for place, name in enumerate(names)
        if name not in passed
        and not _is_of_another(name, street)
        and not (name == "delivery date" and "ship by" in names)  # a promise made by the shop
        and (place in read or not is_irrelevant(name))
    )


def _says_more(name: str, text: str, header: list[str]) -> bool:
    """Return whether a column that is read says more: an unknown status or several parcels."""
    return shops.is_unknown_state(name, text) or (
        shops.is_count_of_parcels(header, name) and text != "1"
    )


def _is_repeated(text: str, words: Collection[str]) -> bool:
    """Return whether a cell repeats what is read elsewhere. A short number may be coincidence."""
    return (
        bool(text)
        and set(text.split()) - LABELS <= set(words)
        and not re.fullmatch(r"[0-9 ]{1,3}", text, re.ASCII)
    )


def _is_filled(cell: str, text: str) -> bool:
    """Return whether a cell says anything. Zero, “no” and a dash don't; ★ does.

    `text` is the cell once normalised.
    """
    if not text:
        return any(unicodedata.category(one) == "So" for one in cell)
    return text not in NOTHING and not ZERO.fullmatch(cell.strip())


def _is_for_customs(name: str) -> bool:
    """Return whether a column with this name only matters for parcels that leave the country."""
    return ABROAD.search(name) is not None and WEIGHTY_VALUE.search(name) is None


def _read(file: Import) -> frozenset[int]:
    """Return the columns that are read: fields, order statuses, our own reason."""
    known = enumerate(headings.plain_names(file.header))
    return frozenset((*file.columns.values(), *(at for at, name in known if name in KNOWN)))


def _is_of_another(name: str, street: str | None) -> bool:
    """Return whether a column is about the buyer or sender, if the file has a receiver's street."""
    found = OTHER_PARTY.fullmatch(name)
    return found is not None and street is not None and (found[1] or found[2]) not in street
