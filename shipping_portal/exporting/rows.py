"""Write scans and charges as rows for proof packs and account exports. No row has a link."""

import datetime as dt
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from orders.calling.contract import contract_of
from orders.models.statuses import Progress
from shipping_portal.billing.models import Charge
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scrubbing import without_links
from tracking import timeline
from tracking.models import TrackingEvent, happened_at
from tracking.scanning import vocabulary

Row = dict[str, object]

SCAN_HEADS = (
    "Reference",
    "Time, UTC",
    "Time",
    "Time zone",
    "What",
    "Place",
    "Carrier's word",
    "Description",
    "Carrier's clock",
)
CHARGE_HEADS = (
    "Reference",
    "Week",
    "What",
    "Amount",
    "Currency",
    "Date",
    "Declared, kg",
    "Measured, kg",
    "Declared, m³",
    "Measured, m³",
    "Carrier's words",
    "Reason",
    "Posted",
)


def scan_rows(orders: Collection[int], zone: ZoneInfo) -> Iterator[Row]:
    """Yield every scan of these orders, by account, oldest first.

    It takes two or three queries per account.
    """
    events = TrackingEvent.objects.filter(parcel__order__in=orders).select_related(
        "parcel", "account"
    )
    found = events.defer("raw").order_by("account", "parcel", happened_at(), "scan_time", "pk")
    for account, of_account in groupby(found, attrgetter("account")):
        yield from _rows_of_scans(list(of_account), contract_of(account), zone)


def _rows_of_scans(found: list[TrackingEvent], contract: Contract, zone: ZoneInfo) -> Iterator[Row]:
    words = vocabulary.meanings_of((event.event_type for event in found), contract)
    for event in found:
        progress = words[vocabulary.normalise_word(event.event_type)]
        word = one_line(without_links(event.event_type, contract))
        yield dict(
            zip(
                SCAN_HEADS,
                (
                    event.parcel.reference,
                    utc_time(event.happened_at),
                    local_time(event.happened_at, zone),
                    str(zone),
                    Progress(progress).label if progress else word,
                    one_line(
                        timeline.place_line(
                            event.suburb, event.state, event.postcode, event.country
                        )
                    ),
                    word,
                    one_line(without_links(event.description, contract)),
                    (
                        f"Ahead: it said {utc_time(event.scan_time)}, so the time is when it"
                        " reached us"
                        if event.clock_ahead
                        else ""
                    ),
                ),
                strict=True,
            )
        )


def charge_row(line: Charge) -> Row:
    """Return one posted line; amounts above zero are charged, below zero refunded."""
    contract = contract_of(line.account)
    return dict(
        zip(
            CHARGE_HEADS,
            (
                line.reference,
                line.week,
                line.get_kind_display(),
                line.amount,
                line.currency,
                line.day,
                line.declared_kg,
                line.measured_kg,
                line.declared_m3,
                line.measured_m3,
                one_line(without_links(line.word, contract)),
                one_line(without_links(line.reason, contract)),
                utc_time(line.posted_at) if line.posted_at else "",
            ),
            strict=True,
        )
    )


def utc_time(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def local_time(at: dt.datetime, zone: dt.tzinfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def one_line(text: str) -> str:
    """Put text on one line, so that quoted text can't imitate one of our lines."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
