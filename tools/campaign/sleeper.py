"""Put a worker to sleep during a call, and wake it long after another has resolved its order.

It is the one fault that no seed is certain to cause, so every campaign does it once, after everything else has ended.
"""

import time

from orders.models import BookingAttempt
from tools.campaign.actors import Sender
from tools.campaign.servers import LEASE_SECONDS, Servers

SLOW_SECONDS = 1.5  # how long the carrier holds back its answer, so that the worker can fall asleep
PATIENCE_SECONDS = 10.0


def wake_late(servers: Servers, sender: Sender, reference: str) -> list[str]:
    """Return why this couldn't be done, or "" if it was. The invariants show what it broke."""
    sender.browser.log_in(sender.person.email, sender.person.password)
    servers.tell_carrier("trouble", operation="book", verb="slow", count=1, arg=SLOW_SECONDS)
    servers.stop_for("worker-b", LEASE_SECONDS)
    order = sender.book(reference, twice=False)
    if order is None or not _is_in_the_air(order):
        return ["no call was in progress for a worker to fall asleep in"]
    servers.stop_for("worker-a", 2 * LEASE_SECONDS)
    time.sleep(2 * LEASE_SECONDS + SLOW_SECONDS)
    resolved = BookingAttempt.objects.filter(order__uuid=order).exclude(state=BookingAttempt.State.IN_FLIGHT)
    return [] if resolved.exists() else ["nobody resolved the order while its worker slept"]


def _is_in_the_air(order: str) -> bool:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    calls = BookingAttempt.objects.filter(order__uuid=order, state=BookingAttempt.State.IN_FLIGHT)
    while not calls.exists():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.02)
    time.sleep(0.2)  # stored a moment before it is sent
    return True
