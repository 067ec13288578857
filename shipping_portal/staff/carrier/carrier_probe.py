"""Ask an account's carrier questions that book nothing and cost nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db import DatabaseError, connection

from orders.calling import gateway
from orders.calling.carrier_settings import CarrierSettings
from orders.calling.contract import client_of
from shipping_portal.accounts.models import LocalityList
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, CarrierError, OperationOff, Rejected
from shipping_portal.carrier.messages import Measures, Party, Product, Shipment
from shipping_portal.carrier.values import value_at

LONGEST_ANSWER = 300
OF_A_PRODUCT = (
    "quoted_code",
    "quoted_name",
    "quoted_first_mile",
    "quoted_service",
    "quoted_price",
    "quoted_currency",
    "breakdown",
    "taxes",
    "plan",
    "eta_dates",
    "eta_days",
    "eta_send_date",
    "quoted_cover",
)
NOT_ASKED = "book, cancel, view, label, subscribe and the link; each needs an order"


@dataclass(frozen=True)
class Finding:
    """What one question found; `holds` is None if the contract has no way to ask."""

    question: str
    holds: bool | None
    answer: str


def probe_carrier(configured: CarrierSettings) -> Iterator[Finding]:
    """Yield the answer to each question in turn, each with at most one request."""
    client = (
        gateway.carrier_client(gateway.account_of(configured))
        if has_tables()
        else client_of(configured)
    )
    offered: list[Product] = []
    yield _ask_question("Our account is accepted", lambda: _probe_ping(client))
    yield _ask_question("Another key is refused", lambda: _refused_to_strangers(configured))
    yield _ask_question(
        "Products are offered with prices", lambda: _probe_products(client, offered)
    )
    yield Finding(
        "Members of a product were found",
        bool(offered) or None,
        _missing_members(offered, client.contract),
    )
    yield _ask_question("An unknown reference is not found", lambda: _not_found(client))
    yield Finding(
        "The partner id is set", bool(configured.partner_id), f"{configured.prefix}_PARTNER_ID"
    )


def _ask_question(question: str, ask: Callable[[], tuple[bool, str]]) -> Finding:
    try:
        return Finding(question, *ask())
    except OperationOff as off:
        return Finding(question, None, str(off))
    except (CarrierError, ValueError) as error:
        return Finding(question, False, f"{type(error).__name__}: {error}")


def _probe_ping(client: Carrier) -> tuple[bool, str]:
    client.ping()
    return True, "answered"


def _refused_to_strangers(configured: CarrierSettings) -> tuple[bool, str]:
    stranger = client_of(replace(configured, account="nobody", key="not-a-key"))
    try:
        stranger.track(configured.contract.nobodys_reference)
    except AccountStopped as error:
        return True, f"refused with {error.status}"
    except Rejected as error:
        return False, f"answered {error.status} to a key that is not ours"
    return False, "answered a key that is not ours"


def _probe_products(client: Carrier, offered: list[Product]) -> tuple[bool, str]:
    quoted = client.quote(_small_parcel())
    offered += quoted.products
    codes = ", ".join(product.code for product in offered)
    if not quoted.unreadable:
        return bool(codes), codes or "none offered"
    count, why = len(quoted.unreadable), ", ".join(dict.fromkeys(quoted.unreadable))
    rows = f"{count} of {count + len(offered)} rows couldn't be read: {why[:LONGEST_ANSWER]}"
    return False, f"{rows}; the others are {codes}" if codes else rows


def _missing_members(offered: list[Product], contract: Contract) -> str:
    """Return the contract's members that no product has: this carrier may name them differently."""
    named = [(point, getattr(contract, point)) for point in OF_A_PRODUCT]
    sought = [(point, path) for point, path in named if path]
    missing = [
        f"{point} ({path})"
        for point, path in sought
        if all(value_at(product.raw, path) is None for product in offered)
    ]
    found = f"{len(sought) - len(missing)} of {len(sought)}"
    return f"{found}; none had {', '.join(missing)}" if missing else found


def has_tables() -> bool:
    """Return whether the database is migrated: a contract may be tested before that."""
    try:
        return LocalityList._meta.db_table in connection.introspection.table_names()
    except DatabaseError:
        return False


def _not_found(client: Carrier) -> tuple[bool, str]:
    try:
        found = client.track(client.contract.nobodys_reference)
    except Rejected as error:
        return error.status == 404, f"refused with {error.status}"
    return not found.scans, f"answered with {len(found.scans)} scans"


def _small_parcel() -> Shipment:
    """Return a domestic parcel between two places on the active list, or the two largest towns."""
    pairs = [("MELBOURNE", "VIC", "3000"), ("SYDNEY", "NSW", "2000")]
    lists = LocalityList.objects.filter(country="AU", is_active=True)
    active = lists.first() if has_tables() else None
    if active:
        listed = list(
            active.localities.order_by("pk").values_list("suburb", "state", "postcode")[:2]
        )
        pairs = listed if len(listed) == 2 else pairs
    start, end = (_made_up_party(*pair) for pair in pairs)
    size = Measures(Decimal(1), "kg", Decimal(20), Decimal(15), Decimal(10), "cm")
    return Shipment(sender=start, receiver=end, measures=size, description="Contract probe")


def _made_up_party(suburb: str, state: str, postcode: str) -> Party:
    return Party(
        name="Contract Probe",
        company="",
        email="probe@example.com",
        phone="0491 570 006",
        line1="1 Example Street",
        suburb=suburb,
        state=state,
        postcode=postcode,
        country="AU",
    )
