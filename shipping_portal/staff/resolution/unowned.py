"""Show the scans and charges of references without an owner, as evidence for unclear bookings."""

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import DecimalField, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Abs

from orders.calling.contract import contract_of
from orders.models import CarrierAccount, Order
from shipping_portal.billing.models import Charge, ChargeKind, round_cents, week_of
from shipping_portal.carrier.naming import Names, names_in
from tracking import queues
from tracking.models import Parcel, TrackingEvent, happened_at

MOST = 20


@dataclass(frozen=True)
class Scanned:
    """One reference.

    `heard_at` is by our clock, `first_scan_at` by the carrier's; `names` has what it is called.
    """

    reference: str
    heard_at: dt.datetime
    first_scan_at: dt.datetime | None
    places: str  # in the order of the scans, each once
    postcodes: frozenset[str]
    names: tuple[Names, ...]


def known_references(account: CarrierAccount, references: Collection[str]) -> dict[str, Scanned]:
    """Return what is known about these references at this account, by upper-case reference."""
    wanted = {reference.upper() for reference in references}
    known = Parcel.objects.filter(account=account, reference__upper__in=wanted)
    return {one.reference.upper(): one for one in _with_scans(_with_dates(known))}


def unowned_references(
    account: CarrierAccount,
    known_from: dt.datetime,
    first_scan_from: dt.datetime,
    until: dt.datetime,
    near: Collection[str],
) -> list[Scanned]:
    """Return unowned references that we first heard of in this period, those nearby first."""
    in_time = _with_dates(
        account.parcels.filter(queues.unmatched_references(), created_at__gte=known_from)
    ).filter(heard_at__range=(known_from, until), first_scan_at__gte=first_scan_from)
    at_its_ends = TrackingEvent.objects.filter(parcel=OuterRef("pk"), postcode__in=near)
    nearest = in_time.annotate(near=Exists(at_its_ends)).order_by("-near", "first_scan_at")[:MOST]
    return _with_scans(nearest)


def first_seen(account: CarrierAccount, typed: str) -> tuple[str, dt.datetime | None]:
    """Return a typed reference as spelled in its scans, and when we first heard of it, if ever."""
    seen = _with_dates(
        Parcel.objects.filter(account=account, reference__upper=typed.strip().upper())
    ).first()
    return (seen.reference, _heard_at(seen)) if seen else (typed, None)


def postcodes_of(order: Order) -> tuple[set[str], set[str]]:
    """Return the postcodes of its start and end, with and without spaces.

    There are none for some countries.
    """
    ends = (order.pickup["postcode"], order.receiver_postcode)
    start, end = ({typed, typed.replace(" ", "")} - {""} for typed in ends)
    return start, end


def _with_dates(parcels: QuerySet[Parcel]) -> QuerySet[Any]:
    return parcels.annotate(
        first_scan_at=Min(happened_at("events__")), heard_at=Min("events__received_at")
    )


def _heard_at(parcel: Any) -> dt.datetime:
    """Return when we first heard of the reference.

    Scans may be read late, or the reference may have been followed before.
    """
    return min(parcel.created_at, parcel.heard_at or parcel.created_at)


def _with_scans(parcels: QuerySet[Any]) -> list[Scanned]:
    found = list(parcels.select_related("account"))
    scans: dict[int, list[TrackingEvent]] = {parcel.pk: [] for parcel in found}
    for scan in TrackingEvent.objects.filter(parcel__in=found).order_by(happened_at()):
        scans[scan.parcel_id].append(scan)
    return [_describe_reference(parcel, scans[parcel.pk]) for parcel in found]


def _describe_reference(parcel: Any, scans: Sequence[TrackingEvent]) -> Scanned:
    places = (f"{scan.suburb} {scan.postcode}".strip() for scan in scans)
    return Scanned(
        parcel.reference,
        _heard_at(parcel),
        parcel.first_scan_at,
        ", ".join(dict.fromkeys(place for place in places if place)),
        frozenset(scan.postcode for scan in scans),
        tuple({names_in(bytes(scan.raw), contract_of(parcel.account)) for scan in scans}),
    )


MONEY = DecimalField(max_digits=16, decimal_places=2)
MAY_BE_ITS_COST = (ChargeKind.ORDER, ChargeKind.COVER, ChargeKind.UNKNOWN)


@dataclass(frozen=True)
class Billed:
    """The charges for one reference, in words, and its line's customer reference, if any."""

    reference: str
    words: str
    customer_reference: str


def billed_references(
    order: Order, early: dt.datetime, late: dt.datetime, *, read_from: dt.datetime
) -> list[Billed]:
    """Return charges on this order's account in this period, from reports since `read_from`.

    Those in the order's currency come first, the nearest price before others.
    """
    days = (early.date(), late.date())
    mondays = (week_of(early.date()), late.date())
    lines = Charge.objects.unmatched().filter(
        Q(day__range=days) | Q(day=None, week__range=mondays),
        account=order.account_id,
        kind__in=MAY_BE_ITS_COST,
    )
    grouped = lines.exclude(reference="").order_by().values("reference", "currency")
    found = grouped.annotate(
        total=Sum("amount"),
        on=Min("day"),
        kg=Max("declared_kg"),
        file=Min("report__name"),
        customer=Max("customer_reference"),
        read_at=Min("report__uploaded_at"),
    )
    away = Abs(F("total") - Value(order.total or Decimal(0), output_field=MONEY))
    ranked = found.filter(read_at__gte=read_from).annotate(
        away=away, is_foreign=~Q(currency=order.currency)
    )
    return [
        Billed(row["reference"], ", ".join(_describe_charge(row, order)), row["customer"])
        for row in ranked.order_by("is_foreign", "away", "reference")[:MOST]
    ]


def _describe_charge(row: Any, order: Order) -> Iterator[str]:
    total = round_cents(row["total"])
    is_its_price = (total, row["currency"]) == (order.total, order.currency)
    yield f"Charged {total} {row['currency']} in {row['file']}"
    yield (
        "the price of this order"
        if is_its_price
        else f"where this order is {order.total} {order.currency}"
    )
    if row["on"]:
        yield f"for an order of {row['on']:%-d %b %Y}"
    if row["kg"]:
        yield f"declared {row['kg'].normalize():f} kg, this one {order.weight_kg.normalize():f} kg"
