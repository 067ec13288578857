"""What must be true once all work is finished: the campaign's invariants, and what only the simulation can check."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

from django.test import Client
from django.urls import reverse

from orders.models import CarrierCall, Label, Order, OrderChange, Replacement
from orders.models.statuses import Status
from shipping_portal.accounts.models import User
from shipping_portal.importing.models import ImportRow
from tools.campaign import checker
from tools.simulation.carrier import Carrier

Resumed = list[tuple[int, dt.datetime]]  # the newest change of an order when bookings resumed, and the time
A_DAY_BY_ANY_CLOCK = dt.timedelta(hours=22)  # for a clock that is an hour ahead, then an hour behind
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def broken(restored: int | None, resumed: Resumed, carrier: Carrier, state: Path, stranger: Client) -> str:
    """Compare everything; return "" if all is well.

    After a restore, leave out what only the carrier knows about the gap. `restored` is how many lines the
    carrier's ledger had then: what was delivered before may be missing.
    """
    ledger = carrier.ledger.lines()
    if restored is not None:
        ledger = [line for line in ledger[:restored] if line["effect"] != "delivery"] + ledger[restored:]
    faults = checker.of_rows(ledger, state) | _leaks(stranger)
    faults["a row of an import is one order"] = list(_rows())
    faults["a parcel is booked again once it is cancelled"] = list(_replaced())
    faults["no booking is given up because of a pause"] = list(_refused_early(resumed))
    if restored is not None:
        faults = {name: found for name, found in faults.items() if name.split()[0] not in {"I3", "I6", "I11"}}
        doubles = faults["I1 never two live carrier orders for one"]
        doubles[:] = [double for double in doubles if "live" in double]  # one was cancelled with the gap
        faults["what is booked here is booked there"] = list(_called_off(carrier))
    return "; ".join(f"{name}: {fault}" for name, found in faults.items() for fault in found[:1])


def _called_off(carrier: Carrier) -> Iterator[str]:
    for order in Order.objects.filter(status=Status.BOOKED):
        parcel = carrier.depot.parcels[order.carrier_reference or ""]
        if parcel.cancelled_at is not None and not parcel.is_moving:
            yield f"{parcel.reference} is cancelled there, and order {order.pk} is booked"


def _rows() -> Iterator[str]:
    for row in ImportRow.objects.filter(state__in=[ImportRow.State.DUE, ImportRow.State.BOOKED]):
        if row.order is None or row.order.form_token != row.token:
            yield f"row {row.number} is {row.state}, and its order is {row.order}"


def _replaced() -> Iterator[str]:
    for order in Order.objects.exclude(replaces=None).exclude(replaces__status__in=Replacement.GOES_ON):
        yield f"order {order.pk} replaces one that is {order.replaces.status}"


def _refused_early(resumed: Resumed) -> Iterator[str]:
    """Return the bookings that were given up although there was less than a day in which to send them.

    What came first is decided by the changes' keys: the clock may have jumped back in between.
    """
    given_up = OrderChange.objects.filter(new=Status.REJECTED, reason__contains="could not be sent for 24 hours")
    for change in given_up:
        pressed = (
            OrderChange.objects.filter(order=change.order_id, new=Status.BOOKING, pk__lt=change.pk).latest("pk").at
        )
        since = max([pressed, *(at for newest, at in resumed if newest < change.pk and at <= change.at)])
        if change.at - since < A_DAY_BY_ANY_CLOCK:
            yield f"order {change.order_id} was given up {change.at - since} after the last pause"


def _leaks(stranger: Client) -> dict[str, list[str]]:
    """Return what leaked: labels to strangers, and their secret addresses to the call log."""
    stranger.cookies.clear()
    stranger.force_login(User.objects.get(email="bob@bolts.example"), backend=BACKEND)
    kept = CarrierCall.objects.filter(path__contains="/files/")
    stored = Label.objects.filter(state=Label.State.STORED, order__status=Status.BOOKED).select_related("order")[:1]
    pages = [reverse("label", args=[label.order.uuid, label.size]) for label in stored]
    return {
        "strangers get nothing": [page for page in pages if stranger.get(page, secure=True).status_code != 404],
        "no signed link is kept": list(kept.values_list("path", flat=True)[:1]),
    }
