"""Frozen dataclasses for what the portal and the carrier exchange.

Weights and sizes carry their units. Times are aware and in UTC. Secrets and personal
data that a log line must not show are kept out of `repr`.
"""

from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Self

FirstMile = Literal["pickup", "drop-off", "unknown"]


@dataclass(frozen=True)
class Money:
    """An amount in a currency (ISO 4217 code, upper case)."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


Amounts = tuple[tuple[str, Money], ...]  # a breakdown's, each with its name


@dataclass(frozen=True)
class Party:
    """The sender or the receiver: contact, address, instructions (interface §2.1).

    Blank values aren't sent.
    """

    name: str = field(default="", repr=False)
    company: str = field(default="", repr=False)
    email: str = field(default="", repr=False)
    phone: str = field(default="", repr=False)
    line1: str = field(default="", repr=False)
    line2: str = field(default="", repr=False)
    suburb: str = ""
    state: str = ""
    postcode: str = ""
    country: str = ""
    instructions: str = field(default="", repr=False)

    @classmethod
    def of(cls, row: object, prefix: str = "") -> Self:
        """Return a copy of a row's columns with these names, each with the prefix."""
        return cls(**{part.name: getattr(row, prefix + part.name) for part in fields(cls)})


@dataclass(frozen=True)
class Measures:
    """Weight (kg, g, lb, oz) and dimensions (cm, in) of one parcel, as entered."""

    weight: Decimal
    weight_units: str
    length: Decimal
    width: Decimal
    height: Decimal
    dimension_units: str


@dataclass(frozen=True)
class Item:
    """One line of a parcel's contents abroad: unit value, quantity, ISO-2 origin, HS code."""

    description: str
    value: Decimal
    quantity: int = 1
    origin: str = ""
    hs_code: str = ""


@dataclass(frozen=True)
class Shipment:
    """The content of a quote or booking.

    Without a pickup date it means the next business day (§2.1).

    A return goes from the person who received a parcel back to its sender.
    """

    sender: Party
    receiver: Party
    measures: Measures
    description: str = ""
    product_code: str = ""
    pickup_date: date | None = None
    cover: Decimal | None = None
    contents: tuple[Item, ...] = ()
    contents_type: str = ""
    customer_reference: str = ""
    order_key: str = ""
    is_return: bool = False


@dataclass(frozen=True)
class Product:
    """One quoted product (§2.4) with its price, its breakdowns, and the expected days."""

    code: str
    name: str
    first_mile: FirstMile
    service: str
    price: Money
    breakdown: Amounts
    taxes: Amounts
    plan: str
    eta_from: date | None
    eta_to: date | None
    send_date: date | None
    duties_paid: bool
    cover_price: Money | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Quoted:
    """A quote's products; `unreadable` says why each omitted row couldn't be read."""

    products: tuple[Product, ...]
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A booking ready to send: its exact bytes, and its price if the carrier stated one."""

    body: bytes = field(repr=False)
    price: Money | None = None


@dataclass(frozen=True)
class LabelLink:
    """A label's address, which is never shown: it may carry a signature."""

    format: str
    size: str
    url: str = field(repr=False)


@dataclass(frozen=True)
class Booked:
    """An order at the carrier. `body` is the reply without signed links and label addresses.

    `is_cancellable` is None if the carrier doesn't say; then cancelling is tried. `is_test` means
    that its label is worthless.
    """

    order_id: str
    reference: str
    state: str
    labels: tuple[LabelLink, ...]
    pickup_date: date | None
    price: Money | None
    breakdown: Amounts
    tracking_url: str = field(repr=False)
    order_key: str
    status: int
    body: bytes = field(repr=False)
    eta_from: date | None = None
    eta_to: date | None = None
    is_cancellable: bool | None = None
    is_test: bool = False


@dataclass(frozen=True)
class Scan:
    """One tracking event (§2.2). A polled scan may have no event id and no reference.

    `remark` says what was unreadable, if that isn't a reason to set the scan aside.
    """

    reference: str
    event_id: str
    event_type: str
    scan_time: datetime
    description: str = field(repr=False)
    suburb: str
    state: str
    postcode: str
    country: str
    raw: dict[str, Any] = field(repr=False)
    remark: str = ""


@dataclass(frozen=True)
class Tracked:
    """The scans of one reference; `unreadable` pairs each unreadable scan with the reason.

    `is_whole` is False if a later page couldn't be fetched; `outcome` is the call's outcome, for
    the request log.
    """

    state: str
    scans: tuple[Scan, ...]
    unreadable: tuple[tuple[object, str], ...]
    pickup_date: date | None
    body: bytes = field(repr=False)
    next_page: str = field(default="", repr=False)
    is_whole: bool = True
    outcome: str = "ok"
    is_cancellable: bool | None = None

    @property
    def leaves_out(self) -> bool:
        """Return whether there are more scans than we ever read."""
        return any(isinstance(raw, dict) and "left_out" in raw for raw, _ in self.unreadable)


@dataclass(frozen=True)
class Cancelled:
    """The carrier's reply that the order is cancelled, or that it will decide (`is_asked`)."""

    state: str
    message: str
    status: int
    body: bytes = field(repr=False)
    is_asked: bool = False


@dataclass(frozen=True)
class LabelFile:
    """A label exactly as the carrier sent it."""

    content: bytes = field(repr=False)
    sha256: str


@dataclass(frozen=True)
class Call:
    """One finished request, for the request log, without query values, links or credentials.

    `unreadable` counts the rows of a quote that were left out; `unsent` says why nothing was sent,
    such as a bad certificate.
    """

    operation: str
    method: str
    path: str
    status: int | None
    seconds: float
    outcome: str
    unreadable: int = 0
    unsent: str = ""
