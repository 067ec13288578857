"""Night-time failures as rows. The test sends `begin` or `end` to a process on the portal's clock."""

import datetime as dt
import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402

from orders.models import CarrierAccount, DailySpend, Order  # noqa: E402
from orders.status.transitions import move_to  # noqa: E402
from shipping_portal.jobs.models import DeadLetter  # noqa: E402
from tests import factories  # noqa: E402
from tests.processes.actor import cast  # noqa: E402
from tracking.models import Parcel  # noqa: E402

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


def begin() -> None:
    """Begin each cause, shortly before its limit if that is long."""
    sender, user = cast()
    now = timezone.now()
    move_to(factories.order(sender, user, status="unconfirmed"), "conflict", reason="two answers", at=now)
    dead = factories.parcel(reference="SDEAD00001", parked_at=now - 0.9 * HOUR, due_at=now, failures=5)
    DeadLetter.objects.create(job="fold", row=dead.pk, failures=5, parked_at=now - 0.9 * HOUR)
    old = {"booked_at": now - 9 * DAY, "created_at": now - 9 * DAY, "carrier_pickup_date": now.date()}
    order = factories.order(sender, user, status="booked", **old, reserved=12, unbilled=12, reserved_on=now.date())
    watched = factories.parcel(order)
    for hours in (5.9, 5.5, 5.2):
        factories.event(watched, source="poll", received_at=now - hours * HOUR, description=str(hours))
    DailySpend.objects.update_or_create(day=now.date(), defaults={"spent": 950_000_000})
    factories.parcel(reference="SLATE00001", due_at=now)


def end() -> None:
    """End each cause as an operator, a carrier or a technician would."""
    now = timezone.now()
    for order in Order.objects.filter(status="conflict"):
        move_to(order, "not_booked", reason="the carrier has neither", at=now)
    DeadLetter.objects.all().delete()
    Parcel.objects.filter(reference="SDEAD00001").update(parked_at=None, due_at=None)
    factories.billing_report()
    factories.delivery(received_at=now)
    DailySpend.objects.update(spent=0)
    CarrierAccount.objects.update(fault_at=now - 25 * HOUR)


if __name__ == "__main__":
    {"begin": begin, "end": end}[sys.argv[1]]()
