"""Define requests and responses by our own field names. The rules are only in the forms.

A value may be sent as text or as a number: the form reads it as if typed.
"""

import datetime as dt
import uuid
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal

from django.db.models import Choices
from ninja import Schema
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    create_model,
)
from pydantic_core import PydanticCustomError

from orders.booking.limits import CENT
from orders.drafting.contents_form import PARTS, ROWS
from orders.drafting.receiver_form import RECEIVER_PARTS
from orders.list.listing import FILTERS, PRINTED, RETURNS, SORTS
from orders.models import Label
from orders.models.statuses import Progress, Status
from orders.status.status_labels import GROUPS
from shipping_portal.accounts.models import EntryLink
from shipping_portal.billing.pages.statements import COLUMNS
from shipping_portal.importing.models import Import, ImportRow


class Strict(Schema):
    """A schema that refuses fields it doesn't have."""

    model_config = ConfigDict(extra="forbid")


def _text_or_number(value: Any) -> Any:
    """Return text or a number.

    True isn't a weight of 1, and pydantic would name each type tried.
    """
    if isinstance(value, bool | list | dict):
        raise PydanticCustomError("typed", "Send a text or a number")
    return value


def _to_cents(amount: Decimal) -> Decimal:
    """Return an amount in whole cents, as it is charged."""
    return amount.quantize(CENT, ROUND_HALF_UP)


Cents = Annotated[Decimal, AfterValidator(_to_cents)]
CARRIER = "Blank unless two carriers take new orders."
Typed = Annotated[str | int | float | None, BeforeValidator(_text_or_number)]
ITEM = {
    "description": "what it is",
    "value": "value of one",
    "quantity": "how many",
    "origin": "country it was made in",
    "hs_code": "HS code",
}
# The controls of the parcel form. An account's country decides which of them it has.
CONTROLS = {
    "receiver_name": "Name",
    "receiver_company": "Company",
    "receiver_country": "Two letters, such as AU",
    "receiver_line1": "Street and number",
    "receiver_line2": "Unit",
    "receiver_suburb": "Suburb or city",
    "receiver_state": "State or province",
    "receiver_postcode": "Postcode",
    "receiver_email": "Email",
    "receiver_phone": "Phone",
    "receiver_line1_is_street": "The street once more, if it only looks like a suburb",
    "receiver_line2_is_street": "The same for the second line",
    "receiver_instructions": "For the driver; outside Australia",
    "delivery_choice": "In Australia: none, authority_to_leave or signature",
    "delivery_place": "In Australia: where to leave it",
}
PARCEL_CONTROLS = {
    **CONTROLS,
    "description": "What is inside",
    "customer_reference": "Your order number",
    "size": "Id of a saved size, instead of weight and measures",
    **{f"weight_{unit}": f"Weight in {unit}" for unit in ("kg", "lb")},
    **{
        f"{side}_{unit}": f"{side.capitalize()} in {unit}"
        for unit in ("cm", "in")
        for side in ("length", "width", "height")
    },
    "cover_amount": "Extra Cover, up to this amount",
    "contents_type": "Kind of contents, for customs, such as Merchandise or Gift",
    **{
        f"item_{row}_{part}": f"Item {row}, for customs: {ITEM[part]}"
        for row in range(1, ROWS + 1)
        for part in PARTS
    },
}
SEEN_BY_BOOKERS = ("company", "email", "phone", "line1", "line2", "instructions")
PARTS_OF_ADDRESS = (*RECEIVER_PARTS, "instructions", "group")
# Enumerations with the same name would be merged in the schema, so these have no name there.
LabelState: Any = Literal[tuple(Label.State.values)]
ImportState: Any = Literal[tuple(Import.State.values)]
RowState: Any = Literal[("", *ImportRow.State.values)]
COUNTS = (
    "rows",
    "unchecked",
    "ready",
    "warnings",
    "fix",
    "waiting",
    "booked",
    "unclear",
    "needs_yes",
    "failed",
)


def _in_words(states: type[Choices]) -> str:
    """Return each state with its label."""
    return "; ".join(f"{value}: {label}" for value, label in states.choices)


def _build_schema(name: str, kind: Any, columns: Iterable[str], **more: Any) -> Any:
    """Return a schema with columns of one type, and others that may be null."""
    fields: Any = dict.fromkeys(columns, (kind, ...))
    return create_model(name, __base__=Schema, **fields, **more)


def of_controls(name: str, controls: dict[str, str]) -> Any:
    """Return the schema of a form with these controls."""
    fields: Any = {
        control: (Typed, Field(None, description=of)) for control, of in controls.items()
    }
    return create_model(name, __base__=Strict, **fields)


ParcelIn = of_controls("ParcelIn", PARCEL_CONTROLS)
AddressIn = of_controls("AddressIn", CONTROLS | {"group": "One word or two to find them by"})
_FROM_PAGE = "As in the address of the portal's list once it is chosen there"
_A_DAY = "A day, such as 2026-11-28"
# What each filter accepts. Others take ids of the account's own rows, as in the address of the
# portal's list.
FILTER_VALUES = {
    "status": f"One of {', '.join(GROUPS)}",
    **dict.fromkeys(("pickup", "booked_from", "booked_to"), _A_DAY),
    "service": "The `product` of an offer, such as STANDARD-PICKUP",
    "country": "Two letters, such as AU",
    "returns": f"One of {', '.join(RETURNS)}",
    "printed": f"One of {', '.join(PRINTED)}",
    "adjusted": "yes: those with a charge after booking",
}
_FILTERS: Any = {
    name: (str, Field("", description=f"{one.label}. {FILTER_VALUES.get(name, _FROM_PAGE)}"))
    for name, one in FILTERS.items()
}


class ParcelsQuery(create_model("Filters", __base__=Schema, **_FILTERS)):  # type: ignore[misc]
    """Which parcels to list: the page's filters."""

    q: str = Field("", description="Words of the name, the reference or your order number")
    sort: str = Field("newest", description=f"One of {', '.join(SORTS)}")
    cursor: str = Field("", description="The `next` of the page before")


class OfferOut(Schema):
    """One service as quoted. Days are estimates, never promises."""

    product: str = Field(alias="key", description="To book it by.")
    name: str
    carrier: str = Field(description=CARRIER)
    first_mile: str = Field(description="pickup or drop-off.")
    total: Cents
    currency: str
    taxes: list[tuple[str, Cents, str]] = Field(description="In the total, by name.")
    cover: Cents | None = Field(description="The part of the total for Extra Cover.")
    duties_paid: bool
    eta_from: dt.date | None
    eta_to: dt.date | None
    pickup_days: list[dt.date] = Field(description="Days to choose from; none for a drop-off.")


class ClosedOut(Schema):
    """A service that can't be booked for this parcel, and why."""

    name: str
    carrier: str
    why: str


class MissingOut(Schema):
    """A carrier that gave no prices although another did."""

    carrier: str
    is_refused: bool = Field(description="It doesn't take this parcel: don't ask it again.")
    why: str


class QuoteOut(Schema):
    """Prices of one parcel, and everything the page says about them."""

    id: uuid.UUID
    draft: uuid.UUID = Field(description="The half-made parcel that the portal's pages show.")
    offers: list[OfferOut] = Field(description="Cheapest first.")
    closed: list[ClosedOut]
    missing: list[MissingOut]
    remarks: list[str] = Field(description="What was not used as it was sent.")
    warnings: list[str] = Field(description="What is allowed, and worth a look.")
    goods_questions: list[str] = Field(description="Dangerous goods that its words suggest.")
    expires_at: dt.datetime = Field(description="Booked later, it is asked for again first.")


class DraftOut(Schema):
    """A parcel that isn't booked yet, as typed, complete or not."""

    id: uuid.UUID
    values: dict[str, str] = Field(description="By the fields of a parcel.")
    changed_at: dt.datetime
    is_saved: bool = Field(description="false: it is deleted after a day; fifty are kept already.")
    quote: uuid.UUID | None = Field(description="Its last prices, maybe of other values.")
    parcel: uuid.UUID | None = Field(description="What it was booked as. It holds no values then.")
    corrects: uuid.UUID | None = Field(description="The booked parcel that it is to replace.")
    url: str = Field(description="The page where a person goes on.")


class DraftsOut(Schema):
    """Drafts, most recently changed first."""

    drafts: list[DraftOut]


class OfferIn(Strict):
    """An offer of a quote."""

    quote: uuid.UUID
    product: str
    pickup_date: str | None = Field(
        None, description="One of the offer's `pickup_days`; blank is the next."
    )


class ChosenIn(OfferIn):
    """The offer to book."""

    another: StrictBool = Field(False, description="Yes, another one like the parcel just booked.")


class ConfirmIn(Strict):
    """Your consent to the parcel's current price."""

    amount: Decimal
    currency: str
    next_day: StrictBool = Field(
        False, description="Take the next pickup day if the chosen one has come."
    )


class ShareIn(Strict):
    """What a receiver's page shows besides where the parcel is."""

    contact: str | None = Field(
        None,
        description="Who the receiver can ask: a public email or phone number. Null is the last one"
        " that the account stated.",
    )


class SharedOut(Schema):
    """A receiver's page."""

    url: str = Field(
        description="Empty if the portal's secret key has changed since: stop, and share again."
    )
    contact: str


class BookedOut(Schema):
    """The parcel that a key has booked. Poll it until it is booked and its label is ready."""

    id: uuid.UUID
    url: str


class EntryLinkIn(Strict):
    """Where a link leads."""

    purpose: EntryLink.Purpose
    parcel: uuid.UUID | None = Field(None, description="With the purpose parcel.")
    values: ParcelIn | None = Field(  # type: ignore[valid-type]
        None, description="With the purpose new_parcel: what its form is filled in with."
    )


class EntryLinkOut(Schema):
    """A link for one member's own browser."""

    url: str
    expires_at: dt.datetime


class Price(Schema):
    """An amount in a currency."""

    amount: Cents
    currency: str


class LabelOut(Schema):
    """A label file of a parcel."""

    size: str
    state: LabelState = Field(
        description=f"{_in_words(Label.State)}. A pending label of the size that you don't print is"
        " fetched once you ask for it."
    )
    is_worthless: bool = Field(description="Made with a test key: no carrier takes it.")


ReceiverOut = _build_schema(
    "ReceiverOut",
    str,
    ("name", "place", "country"),
    **dict.fromkeys(SEEN_BY_BOOKERS, (str | None, None)),
)


class ParcelOut(Schema):
    """One parcel: whether it is booked (`status`), and where it is (`progress`)."""

    id: uuid.UUID
    reference: str | None = Field(description="The carrier's, once it is booked.")
    customer_reference: str
    description: str
    status: Status
    progress: Progress
    words: str = Field(description="Both in words, as the pages show them.")
    carrier: str = Field(description=CARRIER)
    product: str
    service: str
    price: Price = Field(description="What the carrier charges; the agreed price before that.")
    receiver: ReceiverOut  # type: ignore[valid-type]
    pickup_day: dt.date | None
    eta_from: dt.date | None
    eta_to: dt.date | None
    made_at: dt.datetime
    booked_at: dt.datetime | None
    cancelled_at: dt.datetime | None
    labels: list[LabelOut] = Field(description="None for a role that doesn't print.")


class ReplacementOut(Schema):
    """The booking that replaces a parcel once the carrier has cancelled it."""

    is_waiting: bool
    parcel: uuid.UUID | None = Field(description="The new parcel, once it is made.")
    problem: str = Field(description="Why nothing new was booked.")


class OneParcelOut(ParcelOut):
    """One parcel, with the meaning of its state."""

    sentence: str = Field(
        description="What happened to the parcel and the money, and what is next."
    )
    can_cancel: bool
    price_to_confirm: Price | None = Field(description="The price that waits for your yes.")
    replaces: uuid.UUID | None
    returns: uuid.UUID | None = Field(description="The parcel that this one sends back.")
    parcel_number: int | None = Field(description="Its place in an order of several parcels.")
    same_order: list[uuid.UUID] = Field(
        description="All parcels that were booked together with it, itself among them."
    )
    sent_back: list[uuid.UUID] = Field(description="The parcels that send this one back.")
    replacement: ReplacementOut | None = Field(description="The last one asked for.")
    tracking_page: str | None
    receiver_page: str | None = Field(description="The page shared with the receiver, if it is on.")


class ParcelsOut(Schema):
    """A page of fifty parcels, and where to get the next page."""

    parcels: list[ParcelOut]
    next: str | None = Field(description="Send it as `cursor`; null at the end.")


class ScanOut(Schema):
    """One scan by the carrier."""

    at: dt.datetime
    words: str
    place: str
    description: str | None
    progress: Progress


class TrackingOut(Schema):
    """Where a parcel is, newest scan first."""

    status: Status
    progress: Progress
    words: str
    scans: list[ScanOut]


class AddressOut(_build_schema("AddressParts", str, PARTS_OF_ADDRESS)):  # type: ignore[misc]
    """A receiver of the address book."""

    id: uuid.UUID = Field(alias="uuid")
    uses: int
    used_at: dt.datetime | None


class AddressesOut(Schema):
    """Receivers, newest first, and where to get the next ones."""

    addresses: list[AddressOut]
    next: str | None


class ImportOut(_build_schema("Rows", int, COUNTS)):  # type: ignore[misc]
    """A file of parcels, with its rows by outcome. A person checks and books it on the pages."""

    id: uuid.UUID
    name: str
    state: ImportState
    made_at: dt.datetime
    url: str = Field(description="The page where a person goes on.")


class ImportColumnsIn(Strict):
    """The value of each control on the matching page: a column's position from 0, or a value."""

    values: dict[str, str | int]


class ImportColumnsOut(Schema):
    """The columns of a file, and the fields they are matched to so far."""

    header: list[str]
    values: dict[str, str] = Field(description="By control; change them and send them back.")
    controls: dict[str, str] = Field(
        description="In words. column_ takes a column's place from 0, all_ a value of all rows."
    )
    missing: list[str] = Field(description="Controls that need an answer, here or in all_.")


class CorrectionIn(Strict):
    """What to change in a row. Fields that aren't sent keep their values."""

    values: ParcelIn | None = None  # type: ignore[valid-type]
    leave_out: StrictBool = Field(False, description="Leave the row out instead.")
    anyway: StrictBool = Field(
        False, description="Take a row that was left out, or has text that no field takes."
    )


class ImportRowOut(Schema):
    """One row of a file."""

    number: int = Field(description="Its line; the first line names the columns.")
    state: RowState = Field(description=f"{_in_words(ImportRow.State)}.")
    values: dict[str, str] = Field(description="What it is read as, by the fields of a parcel.")
    problems: dict[str, list[str]] = Field(
        description="By field; of the whole row by no name; by unread: and a column's place from 0,"
        " text that no field takes: match the column, or send anyway."
    )
    service: str
    price: Price | None = Field(description="By the account's own rule for services.")
    pickup_day: dt.date | None
    part_of: int | None = Field(description="The row with the rest of its parcel.")
    parcel: uuid.UUID | None


class ImportRowsOut(Schema):
    """Rows in file order, and where to get the next ones."""

    rows: list[ImportRowOut]
    next: str | None


class StatementOut(_build_schema("Amounts", Decimal, ("net", *COLUMNS))):  # type: ignore[misc]
    """One week in one currency: `net` is the sum of the other amounts."""

    week: dt.date = Field(description="Its Monday.")
    currency: str
    parcels: int


class StatementsOut(Schema):
    """Weeks, newest first, and where to get older ones."""

    statements: list[StatementOut]
    next: str | None
