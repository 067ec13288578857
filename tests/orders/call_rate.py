"""Use up the carrier's call rate."""

import datetime as dt

from orders.calling import turns
from orders.models import CarrierAccount
from shipping_portal.jobs.registry import NotYet


def fill(account: CarrierAccount, operation: str) -> dt.datetime:
    """Take turns until none is left; return when the next one is."""
    try:
        while True:
            turns.take_turn(account, operation, shares=True, patience=turns.DUE)
    except NotYet as later:
        return later.at
