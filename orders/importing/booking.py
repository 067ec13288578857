"""Booking a file: every ready row becomes the one order that its token stands for.

begin  (web)     ready rows are owed a booking; nothing is sent
work   (worker)  claim → made already? → the order is owed, as if somebody had pressed Book → the row is done
agree  (web)     the sender's yes to the rows whose price went up
"""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders import booking
from orders.importing import checking, choosing
from orders.models import Import, ImportRow, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import User

State = ImportRow.State
READY = (State.READY, State.WARNING)
MOST_AT_ONCE = 500  # consents of one press
NO_BOOKING: dict[type[Exception], str] = {
    booking.Suspended: "Booking is off for this account.",
    booking.TooManyToday: "Today's bookings of this account are used up.",
    booking.PickupDayPassed: "The pickup day passed before this row's turn came.",
    booking.Gone: "No service is offered for this parcel any more.",
}


def begin(file: Import, *, rule: str, pickup_date: dt.date | None, now: dt.datetime) -> int:
    """Owe every ready row a booking; how many. Pressed twice, the second press finds none."""
    with transaction.atomic():
        Import.objects.filter(pk=file.pk).update(
            state=Import.State.BOOKING, service_rule=rule, pickup_date=pickup_date, paused_at=None
        )
        owed = file.rows.filter(state__in=READY).update(state=State.OWED, due_at=now, tries=0)
    checking.hurry(file, "orders.tasks.book_row", State.OWED)
    return owed


def pause(file: Import, now: dt.datetime) -> None:
    """No further row is begun; what is handed over goes on."""
    Import.objects.filter(pk=file.pk, paused_at=None).update(paused_at=now)


def resume(file: Import, now: dt.datetime) -> None:
    Import.objects.filter(pk=file.pk).update(paused_at=None)
    file.rows.filter(state__in=(State.OWED, State.NEW)).exclude(due_at=None).update(due_at=now)


def retry(file: Import, now: dt.datetime) -> int:
    """Check again the rows of which no order was made; how many."""
    failed = file.rows.filter(state=State.FAILED, order=None)
    return failed.update(state=State.NEW, due_at=now, problems={}, quote=None)


def work(row_id: int) -> None:
    """Book one owed row, if it is due. Safe to run twice, late, or never."""
    now = timezone.now()
    due = ImportRow.objects.to_book(now).select_related("file__sender", "file__made_by", "quote__sender")
    row = due.filter(pk=row_id).first()
    if row and row.claim(until=now + dt.timedelta(seconds=settings.LEASE_SECONDS)):
        _book(row, now)


def _book(row: ImportRow, now: dt.datetime) -> None:
    """The order of this row's token, made now or by a worker that is gone; or why there is none."""
    order = _made_before(row)
    try:
        order = order or _submit(row, now)
    except booking.Paused:
        checking.postpone(row, now)
    except booking.TokenReused:  # made meanwhile, by a worker that was slower than its lease
        order = _made_before(row)
    except tuple(NO_BOOKING) as error:
        row.settle(State.FAILED, problems={"": [f"{NO_BOOKING[type(error)]} Nothing was booked."]})
    if order:
        row.settle(State.BOOKED, order=order, problems={})


def _made_before(row: ImportRow) -> Order | None:
    return Order.objects.filter(sender=row.file.sender, form_token=row.token).first()


def _submit(row: ImportRow, now: dt.datetime) -> Order:
    """Owe the carrier this row's parcel. An old price is asked for again before it is sent, as for every order."""
    file, quote = row.file, row.quote
    last = choosing.last_product(file.sender) if file.service_rule == choosing.Rule.LAST else ""
    offer = choosing.choose(quote.products, file.service_rule, last) if quote else None
    if quote is None or offer is None:
        raise booking.Gone
    return booking.submit(
        quote=quote,
        code=offer["code"],
        by=file.made_by,
        form_token=row.token,
        pickup_date=file.pickup_date if offer["first_mile"] == "pickup" else None,
        now=now,
    )


def agree(file: Import, *, by: User, now: dt.datetime) -> int:
    """The sender's yes to every row that stopped because its price went up; how many. Raises as booking.confirm."""
    risen = Order.objects.filter(import_row__file=file, status=Status.DRAFT, problem__kind="price_rose")
    agreed = 0
    for order in risen.select_related("sender")[:MOST_AT_ONCE]:
        booking.confirm(order, by=by, now=now)
        agreed += 1
    return agreed
