"""Book a file: every due row becomes the one order that its token identifies.

(submitting.begin makes ready rows due; it sends nothing)

book_row  (worker)  already made? → order number new? → order is due, as by the Book button →
                    the row is done
agree     (web)     the sender's yes to the rows whose price went up
"""

import datetime as dt
import uuid
from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from orders.booking import booking_rules, bookings, limit_words
from orders.calling import gateway, turns
from orders.models import CarrierAccount, Order
from orders.models.statuses import Status
from orders.status.transitions import OF_FORM
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, duplicates, finishing, progress
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.jobs.registry import job

State = ImportRow.State
NO_BOOKING: dict[type[Exception], str] = {
    booking_rules.Suspended: "Booking is off for this account.",
    booking_rules.PickupDayPassed: "The carrier has no pickup on the chosen day any more.",
    booking_rules.CarrierChanged: (
        "We send with another carrier now: “Try again” asks for its prices."
    ),
    booking_rules.ContentsMissing: (
        "The carrier has to know what's inside now: “Try again” asks for it."
    ),
    booking_rules.PickupMoved: (
        "Your pickup address has changed: “Try again” asks for prices from there."
    ),
    booking_rules.ServiceNotOffered: "No service is offered for this parcel any more.",
}
OF_THIS_ROW = (booking_rules.PickupDayPassed, booking_rules.PickupMoved)  # other rows may continue
ALL_STOPPED = (
    booking_rules.Suspended,
    booking_rules.Paused,
    bookings.LimitReached,
)  # the next row would be rejected too, unless it goes with another carrier


class AlreadyBought(Exception):
    """An order has the row's order number; the text is for its sender."""


@transaction.atomic
def pause(file: Import, now: dt.datetime) -> None:
    """Stop starting rows; rows already sent continue."""
    if Import.objects.filter(pk=file.pk, paused_at=None).update(paused_at=now):
        finishing.notify_before_pause(file, now)


def resume(file: Import) -> bool:
    """Continue an import. Return False while an operator holds it."""
    if not Import.objects.filter(pk=file.pk, hold="").update(paused_at=None):
        return False
    checking.enqueue_first(file, "book-row", State.DUE)
    return True


def retry(file: Import, now: dt.datetime) -> int:
    """Check again the rows without an order; return how many."""
    failed = file.rows.filter(state=State.FAILED, order=None)
    again = failed.update(state=State.NEW, due_at=now, problems={}, quote=None, **ImportRow.AFRESH)
    checking.enqueue_first(file, "check-row", State.NEW)
    return again


@job(
    "book-row",
    queue=ImportRow.objects.filter(state=State.DUE, file__paused_at=None).select_related(
        "file__sender", "booked_by", "quote__sender"
    ),
    lane="file__sender",
    order=90,
    batch=checking.BATCH,
)
def book_row(row: ImportRow) -> None:
    """Make this row's one order, unless an earlier worker has, or store why there is none."""
    order = _made_before(row)
    try:
        order = order or _submit(row, timezone.now())
    except AlreadyBought as error:
        row.finish(state=State.SKIPPED, problems={"": [str(error)]})
    except booking_rules.Paused:
        checking.try_later(row)
    except bookings.TokenReused:
        # A worker whose lease had ended made it.
        order = _made_before(row)
    except bookings.LimitReached as error:
        # It stays with the file; “Try again” books it once there is room.
        row.finish(state=State.FAILED, problems={"": [limit_words.refusal(error, row.file.sender)]})
    except tuple(NO_BOOKING) as error:
        where = progress.PICKUP_DAY if isinstance(error, booking_rules.PickupDayPassed) else ""
        row.finish(
            state=State.FAILED, problems={where: [f"{NO_BOOKING[type(error)]} Nothing was booked."]}
        )
    if order:
        row.hand_over(order)


def _made_before(row: ImportRow) -> Order | None:
    return OF_FORM.first(sender=row.file.sender_id, token=row.token)


def _submit(row: ImportRow, now: dt.datetime) -> Order:
    """Make this row's parcel due at the carrier, as its sender saw it.

    An old price is checked again before the booking is sent.

    It waits until few calls are due at the carrier, so that parcels made by hand needn't wait.

    Raises AlreadyBought, NotYet, and what orders.booking.submit raises.
    """
    if row.quote and (offer := row.quote.offer(row.product_code)):
        turns.wait_for_short_queue(CarrierAccount.objects.get(pk=row.quote.account_of(offer)))
    # After the wait, in which somebody may have booked it by hand.
    if duplicate := duplicates.find_booked_order(row, row.reference):
        raise AlreadyBought(duplicate)
    if row.quote is None or row.booked_by is None or not row.product_code:
        raise booking_rules.ServiceNotOffered
    return bookings.submit(
        quote=row.quote,
        code=row.product_code,
        by=row.booked_by,
        form_token=row.token,
        pickup_date=row.pickup_date,
        now=now,
    )


def book_next_day(file: Import, *, by: User, now: dt.datetime) -> int:
    """Book rows with a passed pickup day for the next business day, with consent; return how many.

    Raises LimitReached, Paused, CarrierChanged, PickupMoved or Suspended, but only if nothing was
    booked.
    """
    stopped = progress.day_passed(file)
    booked = 0
    paused = moved = None
    for order in [row.order for row in stopped if row.order]:
        try:
            bookings.confirm(order, by=by, now=now, next_day=True)
            booked += 1
        except Order.WrongStatus:
            continue  # accepted in another tab
        except booking_rules.PickupMoved as error:
            moved = error
        except (*ALL_STOPPED, booking_rules.CarrierChanged) as error:
            if _is_of_one_carrier(error):
                paused = error
                continue
            if not booked:
                raise
            return booked
    if paused and not booked:
        raise paused
    with transaction.atomic():
        # The file may be removed at the same time, or its rows tried again. Another file may have
        # booked or queued the same order number, as in submitting.begin.
        Sender.locked(file.sender_id)
        duplicates.leave_out(file, [State.FAILED])
        failed = file.rows.filter(
            state=State.FAILED,
            order=None,
            problems__has_key=progress.PICKUP_DAY,
            quote__isnull=False,
        )
        due = failed.update(
            state=State.DUE,
            due_at=now,
            pickup_date=None,
            booked_by=by,
            problems={},
            **ImportRow.AFRESH,
        )
        if due:
            Import.objects.filter(pk=file.pk).update(
                begun_at=now, begun_by=by, looked_at=now, finished_at=None
            )
        checking.enqueue_first(file, "book-row", State.DUE)
    if moved and not booked + due:
        raise moved
    return booked + due


def _is_of_one_carrier(error: Exception) -> bool:
    """Return whether other carriers' rows may still be booked."""
    return isinstance(error, booking_rules.Paused) and gateway.second_account() is not None


def agree(file: Import, prices: Mapping[uuid.UUID, str], *, by: User, now: dt.datetime) -> int:
    """Book rows whose price increased, with their sender's consent; return how many.

    `prices` are the new ones by order key, as the sender saw them, such as "9.40 AUD": a price that
    changed again needs consent again. Raises PickupDayPassed, PickupMoved, LimitReached, Paused or
    Suspended, but only if nothing was booked.
    """
    drafts = Order.objects.filter(
        import_row__file=file, status=Status.DRAFT, problem__kind="price_rose"
    )
    agreed = 0
    refusal: Exception | None = None
    for order in drafts.filter(uuid__in=list(prices)).select_related("sender"):
        if prices[order.uuid] != str(order.price_to_confirm):
            continue
        try:
            bookings.confirm(order, by=by, now=now)
            agreed += 1
        except (Order.WrongStatus, booking_rules.CarrierChanged):
            continue  # accepted in another tab, or chosen again row by row
        except OF_THIS_ROW as error:
            refusal = error
        except ALL_STOPPED as error:
            refusal = error
            if not _is_of_one_carrier(error):
                break
    if refusal and not agreed:
        raise refusal
    return agreed
