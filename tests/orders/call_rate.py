"""The carrier's rate, used up."""

import datetime as dt

from orders.calling import turns
from orders.models import CarrierAccount
from shipping_portal.jobs.registry import NotYet


def fill(account: CarrierAccount, operation: str) -> dt.datetime:
    """Take turns until no more is given; when the next would be."""
    try:
        while True:
            turns.take_turn(account, operation, shares=True, patience=turns.DUE)
    except NotYet as later:
        return later.at
