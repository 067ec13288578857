"""The one place that builds the carrier's client, for an order's account, and writes its call log."""

import datetime as dt
import random
from collections.abc import Callable

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string
from prometheus_client import Counter, Histogram

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings
from orders.calling.contract import contract as contract
from orders.calling.contract import contract_of, settings_of
from orders.calling.turns import Turns
from orders.models.account import CarrierAccount, CarrierCall
from orders.models.order import Order
from orders.models.restores import GAP_IS_OPEN, Restore
from shipping_portal import VERSION
from shipping_portal.carrier.client import Call, Carrier
from shipping_portal.carrier.errors import NotSent

logger = structlog.get_logger(__name__)
# Of this process, told at its METRICS_PORT.
CALLS = Counter("portal_carrier_calls", "Calls to the carrier.", ["operation", "outcome"])
CALL_SECONDS = Histogram(
    "portal_carrier_call_seconds",
    "How long calls to the carrier took.",
    ["operation", "outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, float("inf")),
)


def account() -> CarrierAccount:
    """Return the one account that takes new orders."""
    return account_of(carrier_settings.current())


def accounts() -> list[CarrierAccount]:
    """Return all accounts the environment names, the one that takes new orders first."""
    return [account_of(configured) for configured in carrier_settings.every()]


def account_of(configured: CarrierSettings) -> CarrierAccount:
    """Return the row of these settings; another address or account id is another row."""
    row, is_new = CarrierAccount.objects.get_or_create(
        fingerprint=configured.fingerprint, defaults={"name": configured.name[:120]}
    )
    # A fence after a restore holds the bookings of accounts that come after it, too.
    if is_new and Restore.objects.open().exists():
        row.paused_at, row.pause_text = timezone.now(), GAP_IS_OPEN
        row.save(update_fields=["paused_at", "pause_text"])
    return row


def takes_new_orders(row: CarrierAccount) -> bool:
    """Return whether it is the one account that does; asks no database."""
    return row.fingerprint == carrier_settings.current().fingerprint


def carrier_of(order: Order, *, first: str = "", is_person: bool = False) -> Carrier:
    """Return a client of the account the order was made for, whichever takes new orders now. See `carrier`."""
    return carrier(order.account, order, first=first, is_person=is_person)


def carrier(row: CarrierAccount, order: Order | None = None, *, first: str = "", is_person: bool = False) -> Carrier:
    """Return a client of one account, for one call or a few; each is logged without body, query or secret.

    Every call waits for its turn. A job names its `first` call, and begins only if the turn of that is near; where
    somebody waits at a page (`is_person`), the lane of people is used.

    Raises NotSent for an account that the environment holds no key of any more, and NotYet for a `first` turn far off.
    """
    configured = settings_of(row)
    if configured is None or configured.is_closed:
        raise NotSent("no settings hold a key of this carrier account any more")

    def log(call: Call) -> None:
        CALLS.labels(call.operation, call.outcome).inc()
        CALL_SECONDS.labels(call.operation, call.outcome).observe(call.seconds)
        logger.info(
            "carrier_call",
            operation=call.operation,
            status=call.status,
            outcome=call.outcome,
            unsent=call.unsent or None,
            milliseconds=round(call.seconds * 1000),
            **({"attempt": order.generation} | order.log_fields() if order else {}),
        )
        CarrierCall.objects.create(
            at=timezone.now(),
            account=row,
            operation=call.operation[:20],
            method=call.method[:8],
            path=call.path[:200],
            status=call.status,
            milliseconds=round(call.seconds * 1000),
            outcome=call.outcome[:40],
            unreadable=call.unreadable,
            order=order,
        )

    turns = Turns(row, is_person)
    if first:
        turns.ahead(first)
    return client_of(configured, on_call=log, turn=turns)


def client_of(
    configured: CarrierSettings, *, on_call: Callable[[Call], None] | None = None, turn: Turns | None = None
) -> Carrier:
    """Return a client as these settings say.

    As it is, nothing is logged and no rate kept: there may be no database yet.
    """
    made: Carrier = import_string(settings.CARRIER_CLIENT)(
        base_url=configured.base_url,
        account=configured.account,
        key=configured.key,
        partner_id=configured.partner_id,
        user_agent=user_agent(),
        contract=configured.contract,
        on_call=on_call,
        turn=turn,
        link_key=configured.link_key,
        deadline=settings.CARRIER_DEADLINE,
        ca_bundle=configured.ca_bundle or None,
        proxy=settings.CARRIER_PROXY,
    )
    return made


def user_agent() -> str:
    """Return what we call ourselves to whoever is spoken to."""
    return f"ShippingPortal/{VERSION} ({settings.CARRIER_CONTACT or settings.SITE_URL})"


def is_reachable(row: CarrierAccount) -> bool:
    """Return whether its carrier can be asked. Any other would take its references and order ids for its own."""
    configured = settings_of(row)
    return configured is not None and not configured.is_closed


def replays_allowed(row: CarrierAccount) -> bool:
    """Return whether a booking may be sent again: only where the contract has keys, and no replay has disproved it."""
    return contract_of(row).replays and row.replays_off_at is None


def backoff(tries: int, *, first: float = 1.0, cap: float = 300.0) -> dt.timedelta:
    """Return a random wait below a doubling delay (first, 2 × first, … up to `cap` seconds), scaled with the leases."""
    ceiling = min(cap, first * 2 ** min(tries, 20)) * settings.TIME_SCALE
    return dt.timedelta(seconds=random.uniform(ceiling * 0.1, ceiling))  # noqa: S311  (jitter, not a secret)
