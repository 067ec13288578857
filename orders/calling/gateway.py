"""Build the carrier's client for an order's account, and write its call log."""

import datetime as dt
from collections.abc import Iterable

import structlog
from django.db.models import CharField
from django.utils import timezone
from prometheus_client import Counter, Histogram

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings
from orders.calling.contract import client_class_of, client_of, contract_of, settings_of
from orders.calling.turns import Turns
from orders.models.account import CarrierAccount, CarrierCall
from orders.models.order import Order
from orders.models.restores import GAP_IS_OPEN, Restore
from shipping_portal.carrier.client import Call, Carrier
from shipping_portal.carrier.errors import NotSent
from shipping_portal.carrier.hosts import Origin, base_origin
from shipping_portal.db.planned_statements import Given, PlannedSelect, insert_row

logger = structlog.get_logger(__name__)
EVERY = PlannedSelect(CarrierAccount.objects.all())
KNOWN = PlannedSelect(CarrierAccount.objects.filter(fingerprint=Given("fingerprint", CharField())))
# Count this process's calls, for its METRICS_PORT.
CALLS = Counter("portal_carrier_calls", "Calls to the carrier.", ["operation", "outcome"])
CALL_SECONDS = Histogram(
    "portal_carrier_call_seconds",
    "How long calls to the carrier took.",
    ["operation", "outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, float("inf")),
)


def current_account() -> CarrierAccount:
    """Return the default account for new orders."""
    return account_of(carrier_settings.current_settings())


def accounts_for_new_orders() -> list[CarrierAccount]:
    """Return the accounts that take new orders, the default first, by one query."""
    return _rows_of(carrier_settings.settings_for_new_orders())


def second_account() -> CarrierAccount | None:
    """Return the second account that takes new orders, if there is one."""
    return next(map(account_of, carrier_settings.settings_for_new_orders()[1:]), None)


def carrier_titles() -> dict[int, str]:
    """Return the carrier name that senders see, by the account's key; the default first.

    There are none, without a query, unless two accounts take new orders: with only one, there is no
    choice to show.
    """
    every = carrier_settings.all_settings()
    if len(carrier_settings.settings_for_new_orders()) == 1:
        return {}
    return {row.pk: one.title for row, one in zip(_rows_of(every), every, strict=True)}


def all_accounts(known: Iterable[CarrierAccount] | None = None) -> list[CarrierAccount]:
    """Return all accounts in the environment, those that take new orders first.

    `known` are the rows of all accounts, if they were read already.
    """
    return _rows_of(carrier_settings.all_settings(), known)


def _rows_of(
    every: list[CarrierSettings], known: Iterable[CarrierAccount] | None = None
) -> list[CarrierAccount]:
    rows = {row.fingerprint: row for row in (known or EVERY.rows())}
    return [rows.get(one.fingerprint) or account_of(one) for one in every]


def account_of(configured: CarrierSettings) -> CarrierAccount:
    """Return the row of these settings. A different address or account id has a different row."""
    if row := KNOWN.first(fingerprint=configured.fingerprint):
        return row
    row, is_new = CarrierAccount.objects.get_or_create(
        fingerprint=configured.fingerprint, defaults={"name": configured.name[:120]}
    )
    # After a restore, bookings of accounts created later are held too.
    if is_new and Restore.objects.open().exists():
        row.paused_at, row.pause_text = timezone.now(), GAP_IS_OPEN
        row.save(update_fields=["paused_at", "pause_text"])
    return row


def takes_new_orders(row: CarrierAccount) -> bool:
    """Return whether the account takes new orders, without a query."""
    taking = carrier_settings.settings_for_new_orders()
    return row.fingerprint in [configured.fingerprint for configured in taking]


def carrier_of(
    order: Order, *, first: str = "", is_person: bool = False, is_spare: bool = False
) -> Carrier:
    """Return a client of the order's own account. See `carrier`."""
    return carrier_client(order.account, order, first=first, is_person=is_person, is_spare=is_spare)


def carrier_client(
    row: CarrierAccount,
    order: Order | None = None,
    *,
    first: str = "",
    is_person: bool = False,
    is_spare: bool = False,
) -> Carrier:
    """Return a client of one account, for a few calls.

    Each call is logged without body, query or secret.

    Every call waits for its slot. A job names its `first` call, and begins only if that slot is
    near. If a person waits at a page (`is_person`), it uses the people's lane. If nobody waits for
    the job (`is_spare`), it begins only when nobody waits for a slot.

    Raises NotSent for an account without a key, and NotYet if the `first` slot is too far off.
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
        insert_row(
            CarrierCall(
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
        )

    turns = Turns(row, is_person, is_spare)
    if first:
        turns.ahead(first)
    return client_of(configured, on_call=log, turn=turns)


def takes_turn(row: CarrierAccount, address: str) -> bool:
    """Return whether a call to this address counts towards the carrier's rate. File hosts don't."""
    configured = settings_of(row)
    return configured is not None and base_origin(configured.base_url) == Origin.of(address)


def is_reachable(row: CarrierAccount) -> bool:
    """Return whether the account's carrier can be called.

    Another carrier would misread its references.
    """
    configured = settings_of(row)
    return configured is not None and not configured.is_closed


def can_find(row: CarrierAccount) -> bool:
    """Return whether a booking whose reply was lost can be looked for."""
    return client_class_of(row).can_find


def replay_window(row: CarrierAccount) -> dt.timedelta:
    """Return how long a booking may be sent again, by its key or as prepared; zero for never.

    It is also zero once a replay was answered with a second reference.
    """
    if row.replays_off_at:
        return dt.timedelta(0)
    if client_class_of(row).replays_prepared:
        return dt.timedelta.max
    contract = contract_of(row)
    return dt.timedelta(hours=contract.replay_hours if contract.replays else 0)
