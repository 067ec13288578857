"""Describe carrier accounts for operators: their settings, and what is still open on each."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from orders.calling import carrier_settings, gateway
from orders.calling.carrier_settings import CarrierSettings
from orders.calling.contract import settings_of
from orders.models import CarrierAccount, Order
from orders.models.order import OPEN
from orders.models.statuses import BEING_CANCELLED, UNCLEAR_BOOKING, Status
from orders.status.progress import TERMINAL
from tracking.pace import GIVE_UP_SILENT

TAKES_NEW_ORDERS = "Takes new orders"
FOLLOWED = "No new orders; open orders are still handled here"
NAMED_BY_NOBODY = "Not in the settings: its orders can't be checked"
CLOSED = "Key removed: its orders can't be checked, and its history uses its contract"
UNCLEAR = (*UNCLEAR_BOOKING, *sorted(BEING_CANCELLED))


@dataclass(frozen=True)
class Known:
    """A row with its settings, or None if the environment no longer has them."""

    account: CarrierAccount
    configured: CarrierSettings | None

    @property
    def takes_new_orders(self) -> bool:
        """Return whether new orders go to this account."""
        return self.configured is not None and self.configured.takes_new_orders

    @property
    def title(self) -> str:
        """Return the carrier's name, if this is one of two accounts that take new orders."""
        is_one_of_two = len(carrier_settings.settings_for_new_orders()) > 1
        return self.configured.title if is_one_of_two and self.configured else ""

    @property
    def role(self) -> str:
        """Return in a few words what the settings say about the account."""
        if self.configured is None:
            return NAMED_BY_NOBODY
        if self.configured.is_closed:
            return CLOSED
        return TAKES_NEW_ORDERS if self.configured.takes_new_orders else FOLLOWED


def find_settings(account: CarrierAccount) -> Known:
    """Return the account with its settings."""
    return Known(account, settings_of(account))


def named_accounts(rows: Iterable[CarrierAccount] | None = None) -> list[Known]:
    """Return all accounts with settings, those for new orders first.

    It takes one query once they have rows, or none if all `rows` were already read.
    """
    return [
        Known(account, configured)
        for account, configured in zip(
            gateway.all_accounts(rows), carrier_settings.all_settings(), strict=True
        )
    ]


def unreachable_accounts() -> QuerySet[CarrierAccount]:
    """Return the accounts without settings."""
    configured = [
        configured.fingerprint
        for configured in carrier_settings.all_settings()
        if not configured.is_closed
    ]
    return CarrierAccount.objects.exclude(fingerprint__in=configured)


def open_orders(accounts: QuerySet[CarrierAccount], now: dt.datetime) -> QuerySet[Order]:
    """Return these accounts' orders that await a reply or a scan, until 45 days without one."""
    heard = Order.objects.filter(OPEN, account__in=accounts).annotate(
        heard_at=Coalesce("progress_at", "booked_at")
    )
    moving = Q(status=Status.BOOKED, heard_at__gt=now - GIVE_UP_SILENT) & ~Q(progress__in=TERMINAL)
    return heard.filter(moving | Q(status__in=UNCLEAR))
