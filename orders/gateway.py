"""The one place that builds the carrier's client from the settings, and keeps its account, rate and call log."""

import datetime as dt
import hashlib
import random
import time

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from orders.billing.fields import profile_of
from orders.contract import contract
from orders.models.account import CarrierAccount, CarrierCall
from orders.models.order import Order
from shipping_portal.carrier.client import Call, Carrier

VERSION = "0.1"


def account() -> CarrierAccount:
    """The partner's account at the configured address; another address or account id is another row."""
    name = f"{settings.CARRIER_ACCOUNT} at {settings.CARRIER_BASE_URL.rstrip('/')}"
    fingerprint = hashlib.sha256(name.encode()).hexdigest()
    row, is_new = CarrierAccount.objects.get_or_create(fingerprint=fingerprint, defaults={"name": name[:120]})
    if is_new:
        profile_of(
            row
        )  # how its weekly report is written, for an operator to look through before the first comes
    return row


def carrier(order: Order | None = None, *, is_logged: bool = True) -> Carrier:
    """A client for one call or a few; every call it makes is logged without body, query or secret.

    Not logged are calls made before there is a database to log them in.
    """

    def log(call: Call) -> None:
        CarrierCall.objects.create(
            at=timezone.now(),
            operation=call.operation[:20],
            method=call.method[:8],
            path=call.path[:200],
            status=call.status,
            milliseconds=round(call.seconds * 1000),
            outcome=call.outcome[:40],
            unreadable=call.unreadable,
            order=order,
        )

    return import_string(settings.CARRIER_CLIENT)(
        base_url=settings.CARRIER_BASE_URL,
        account=settings.CARRIER_ACCOUNT,
        key=settings.CARRIER_KEY,
        partner_id=settings.CARRIER_PARTNER_ID,
        user_agent=f"ShippingPortal/{VERSION} ({settings.CARRIER_CONTACT or settings.SITE_URL})",
        contract=contract(),
        on_call=log if is_logged else None,
        link_key=settings.CARRIER_LINK_KEY,
        deadline=settings.CARRIER_DEADLINE,
    )


def is_ours(order: Order) -> bool:
    """Does this order belong to the account we talk to now? At another carrier its key and its id mean nothing."""
    return order.account_id == account().pk


def replays_allowed(row: CarrierAccount) -> bool:
    """Only a contract that says the carrier keeps keys allows resending, until one replay proves it wrong."""
    return contract().replays and row.replays_off_at is None


def wait_for_turn(row: CarrierAccount, lane: str) -> None:
    """Sleep until this lane (`call` or `poll`) may go; bounded, so that a worker never sleeps past its lease."""
    rate = contract().tracking_per_second if lane == "poll" else contract().requests_per_second
    delay = row.take_turn(lane, now=timezone.now(), per_second=rate)
    time.sleep(min(max(delay, 0.0), 5.0))


def backoff(tries: int, *, first: float = 1.0, cap: float = 300.0) -> dt.timedelta:
    """Full jitter over a doubling delay: first, 2 x first, … up to cap seconds, scaled with the leases."""
    ceiling = min(cap, first * 2 ** min(tries, 20)) * settings.TIME_SCALE
    return dt.timedelta(seconds=random.uniform(ceiling * 0.1, ceiling))  # noqa: S311  (jitter, not a secret)
