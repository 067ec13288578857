"""How a person acts in the simulation: by a separate request, which may be refused, or may never end."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import connection

from orders.booking import booking_rules, bookings
from orders.booking.limits import LimitReached
from orders.cancelling import replacing
from orders.models import Order
from shipping_portal.refused import Refused
from tools.simulation.world import World

REFUSALS = (
    *(booking_rules.Suspended, booking_rules.Paused, booking_rules.PickupDayPassed, booking_rules.CarrierChanged),
    *(Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected, Refused),
    *(LimitReached, bookings.TokenReused, Order.Duplicate, replacing.OldPrice),
)


def attempt(world: World, name: str, act: Callable[..., Any], *what: Any, **how: Any) -> None:
    """Start a request in which somebody does this."""

    def do() -> None:
        with suppress(*REFUSALS):
            act(*what, **how)

    world.start(name, do)


def one_of(world: World, statuses: tuple[str, ...]) -> Order | None:
    """Return any order in one of these states, if there is one."""
    orders = f"SELECT id FROM orders_order WHERE status IN ({', '.join('?' * len(statuses))}) ORDER BY id"  # noqa: S608
    found = connection.connection.execute(orders, statuses).fetchall()
    return Order.objects.get(pk=world.dice.pick(found)[0]) if found else None
