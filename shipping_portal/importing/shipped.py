"""Export a file's booked parcels for the shop, with order and tracking numbers.

The columns are those of the shop's own upload or of the tool that its sellers use; otherwise they
are the sender's own columns plus three. None has a signed link: the tracking page is the public
one.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from django.conf import settings

from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing import shops
from shipping_portal.importing.models import Import, ImportRow

CARRIER, TRACKING, PAGE = "{carrier}", "{tracking}", "{page}"
DAY, DAY_FIRST = "{day:%Y-%m-%d}", "{day:%d-%m-%Y}"
MORE = {"Carrier": CARRIER, "Tracking number": TRACKING, "Tracking page": PAGE}
EBAY = {
    "Shipping Status": "1",
    "Order Number": "[order number]",
    "Item Number": "[item number]",
    "Item Title": "[item title]",
    "Custom Label": "[custom label]",
    "Transaction ID": "[transaction id]",
    "Shipping Carrier Used": CARRIER,
    "Tracking Number": TRACKING,
}.items()


class Upload(NamedTuple):
    """One shop's upload columns by name: text, facts in braces, the file's columns in brackets.

    The file's columns are given by name or by number from 0, because two may have the same name.

    `item`: whether the upload needs a line for each row that has a value in this column of its
    file, for every row (""), or for each parcel (None).
    """

    columns: Collection[tuple[str, str]]
    item: str | None = None
    delimiter: str = ","


UPLOADS = {
    "Shopify": Upload(
        {  # Matrixify's, because Shopify itself takes no file
            "Name": "[name]",
            "Line: Type": "Fulfillment Line",
            "Fulfillment: Status": "success",
            "Fulfillment: Tracking Company": CARRIER,
            "Fulfillment: Tracking Number": TRACKING,
            "Fulfillment: Tracking URL": PAGE,
        }.items()
    ),
    "WooCommerce": Upload(
        {  # Advanced Shipment Tracking's
            "order_id": "[order]",
            "tracking_provider": CARRIER,
            "tracking_number": TRACKING,
            "date_shipped": DAY_FIRST,
            "status_shipped": "1",
        }.items()
    ),
    "Amazon": Upload(
        {
            "order-id": "[order id]",
            "order-item-id": "[order item id]",
            "quantity": "[quantity to ship]",
            "ship-date": DAY,
            "carrier-code": "Other",
            "carrier-name": CARRIER,
            "tracking-number": TRACKING,
            "ship-method": "{service}",
        }.items(),
        item="order item id",
        delimiter="\t",
    ),
} | dict.fromkeys(("eBay Australia", "eBay UK", "eBay US"), Upload(EBAY, item="item number"))


def upload_of(file: Import) -> Upload:
    """Return the columns for this file's shop, or the file's own columns with three more."""
    own = [(name, MORE.get(name, f"[{place}]")) for place, name in enumerate(file.header)]
    more = [(name, source) for name, source in MORE.items() if name not in file.header]
    return UPLOADS.get(shops.find_shop(file.header)) or Upload([*own, *more], item="")


def lines(file: Import, upload: Upload) -> Iterator[list[str]]:
    """Yield a line for each booked parcel or each of its rows, without cancelled parcels."""
    booked = file.rows.filter(order__status=Status.BOOKED).exclude(order__carrier_reference="")
    for head in (
        booked.select_related("order__sender").prefetch_related("lines").iterator(chunk_size=500)
    ):
        if head.order:
            yield from _lines(head, head.order, file, upload)


def _lines(head: ImportRow, order: Order, file: Import, upload: Upload) -> Iterator[list[str]]:
    rows = [
        dict(zip(map(normalise_name, file.header), row.cells, strict=False))
        | {str(place): cell for place, cell in enumerate(row.cells)}
        for row in head.of_parcel
    ]
    wanted = (
        rows[:1]
        if upload.item is None
        else [cells for cells in rows if not upload.item or cells.get(upload.item, "x")]
    )
    facts = _facts(order)
    for cells in wanted or rows[:1]:
        cells["order"] = cells.get("order id") or cells.get("order number", "")
        yield [_value(source, cells, facts) for _, source in upload.columns]


def _facts(order: Order) -> dict[str, object]:
    return {
        "carrier": settings.BRAND_NAME,
        "tracking": order.carrier_reference,
        "page": order.public_tracking_url,
        "day": (order.booked_at or order.created_at).astimezone(order.sender.tzinfo),
        "service": order.product_name,
    }


def _value(source: str, cells: dict[str, str], facts: dict[str, object]) -> str:
    if source.startswith("["):
        return cells.get(source[1:-1], "")
    return source.format(**facts)
