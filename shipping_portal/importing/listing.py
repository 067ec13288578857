"""List an import's rows for checking: each parcel with its service and price."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from orders.calling import gateway
from orders.models.quotes import Offered, key_of
from orders.quoting import choosing
from orders.quoting.choosing import Ready
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.importing import chosen_service
from shipping_portal.importing.models import Import, ImportRow

LISTED = 50
SUBMITTED = (ImportRow.State.DUE, ImportRow.State.BOOKED)


@dataclass(frozen=True)
class ListedRow:
    """A row with its service and price, chosen by hand or by the rule.

    `price` is None without offers.
    """

    row: ImportRow
    service: str = ""
    price: Decimal | None = None
    currency: str = ""
    is_picked_up: bool = False
    key: str = ""  # the offer's key
    titles: Mapping[int, str] = field(default_factory=dict)  # carriers' titles, by account

    @property
    def carrier(self) -> str:
        """Return its carrier's name if two carriers take new orders, otherwise ""."""
        if self.row.order:
            return self.titles.get(self.row.order.account_id, "")
        quote = self.row.quote
        offer = quote.offer(self.key) if quote and self.titles else None
        return self.titles.get(quote.account_of(offer), "") if quote and offer else ""


@dataclass(frozen=True)
class RowsPage:
    lines: list[ListedRow]
    number: int
    has_more: bool

    @property
    def before(self) -> int:
        return self.number - 1

    @property
    def after(self) -> int:
        return self.number + 1


def page(
    rows: QuerySet[ImportRow],
    rule: str,
    last: str,
    carrier: int | None = None,
    *,
    dearest_of: list[Ready] | None,
    number: int,
) -> RowsPage:
    """Return one page of rows: in file order, or rows to book first, the dearest at the top."""
    start, end = (number - 1) * LISTED, number * LISTED + 1
    mine = rows.select_related("quote", "order", "joined_into")
    if dearest_of is None:
        found = list(mine[start:end])
    else:
        prices = {
            choice.row.pk: choice.price
            for choice in choosing.choices_by_rule(dearest_of, rule, last)
        }
        keys = sorted(rows.values_list("pk", flat=True), key=lambda pk: -prices.get(pk, -1))[
            start:end
        ]
        by_key = mine.in_bulk(keys)
        found = [by_key[key] for key in keys if key in by_key]
    return RowsPage(lines(found[:LISTED], rule, last, carrier), number, len(found) > LISTED)


def lines(
    rows: Iterable[ImportRow], rule: str, last: str, carrier: int | None = None
) -> list[ListedRow]:
    titles = gateway.carrier_titles()
    return [_line(row, rule, last, carrier, titles) for row in rows]


def _line(
    row: ImportRow, rule: str, last: str, carrier: int | None, titles: Mapping[int, str]
) -> ListedRow:
    if row.order:
        return ListedRow(
            row,
            row.order.product_name,
            row.order.total,
            row.order.currency,
            titles=titles,
        )
    offer = _offer(row, rule, last, carrier)
    if offer is None:
        return ListedRow(row, titles=titles)
    return ListedRow(
        row,
        offer["name"],
        Decimal(offer["amount"]),
        offer["currency"],
        is_picked_up=offer["first_mile"] == "pickup",
        key=key_of(offer),
        titles=titles,
    )


def _offer(row: ImportRow, rule: str, last: str, carrier: int | None) -> Offered | None:
    if row.quote and row.state in SUBMITTED:
        return row.quote.offer(row.product_code)
    if row.quote is None:
        return None
    found = chosen_service.choosable(
        row.quote.products, row.corrected, carrier, own=row.quote.account_id
    )
    return choosing.choose_offer(found, rule, last)


def import_of(request: MemberRequest, file: uuid.UUID) -> Import:
    """Return the sender's file by the uuid in its address; 404 for anybody else's file."""
    return get_object_or_404(
        Import.objects.for_user(request.user).select_related("sender"), uuid=file
    )
