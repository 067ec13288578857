"""Say in a few sentences what an order's state means for its parcel and the money."""

import datetime as dt

from django.urls import reverse
from django.utils.html import format_html

from orders.calling.contract import another_day, has_parcel_tools
from orders.drafting.receivers import masked_name
from orders.models import CancelAttempt, Order
from orders.models.account import BOOKINGS, STOPPED, Pause
from orders.models.statuses import Progress, Status
from orders.status.status_labels import UNBOOKED, waits_for
from shipping_portal.accounts.formatting import (
    local_date,
    local_moment,
    local_word,
    money,
    money_in,
)

NO_ANSWER = "We don't have the carrier's answer"
CAN_CHANGE = "You may be able to change the delivery"
NOT_CHARGED = "It isn't booked and you weren't charged."
ERASED = "Its receiver was erased, so it can't be booked now."
# problems of a draft after which its old choice is of no use
CHOOSE_AGAIN = ("gone", "ours", "carrier_changed", "pickup_moved")
OF_STATUS = {
    Status.NOT_BOOKED: "It wasn't booked and you weren't charged. You can book it now.",
    Status.CONFLICT: (
        "The carrier's answers don't agree, so a person is looking at it. Don't book it again and"
        " don't use a label for it yet."
    ),
    Status.CANCELLING: (
        "We're asking the carrier to cancel. Don't use the label. You'll get a credit once the"
        " carrier confirms."
    ),
    Status.CANCEL_UNCONFIRMED: (
        "{problem}, so it may or may not be cancelled. Don't use the label; the answer will be on"
        " this page."
    ),
}
REFUND_ASKED = (
    "Refund requested on {asked}; the money is pending. The carrier can take 30 days to decide."
    " Don't use the label: if it's used, nothing is refunded. Until then {total} still counts as"
    " spent."
)
BOTH_CHARGED = " The new parcel is booked, so both may be charged until then."
RESTORED = (
    "After a problem on our side we don't know whether this parcel is booked, so we are asking the"
    " carrier. Don't book it again – the answer will be on this page."
)
UNCONFIRMED = (
    "{problem}, so the parcel may or may not be booked. Don't book it again – the answer will be on"
    " this page."
)
CANCELLED = (
    "Cancelled on {cancelled}. Throw away the label. If it's used, the carrier charges for it."
    " You'll get a {total} credit on a later statement."
)
USED_AFTER_CANCEL = (
    "The label was used on {used}, after cancelling, so the carrier charges for it, as a rule the"
    " whole price of {total}. It comes on a later statement. If you sent it after all, there is"
    " nothing to do. If you didn't, throw away every copy of the label, contact us and quote"
    " {reference}."
)
OF_PROGRESS = {
    Progress.PICKUP_FUTILE: (
        "The driver came but couldn't collect the parcel. Have it ready, then {another_day}. Don't"
        " cancel."
    ),
    Progress.COLLECTED: "On the way.{due}",
    Progress.IN_TRANSIT: "On the way.{due}",
    Progress.DROPPED_OFF: "Dropped off; the carrier takes it from there.{due}",
    Progress.OUT_FOR_DELIVERY: "It's with the delivery driver.",
    Progress.DELIVERY_ATTEMPTED: (
        "The driver couldn't deliver it. The carrier tries again or leaves a card: tell the"
        " receiver to look for one. {if_needed}."
    ),
    Progress.HELD: (
        "It's waiting for the receiver at a collection point. Ask them to pick it up with the"
        " reference and ID."
    ),
    Progress.DELIVERED: "Delivered{on_day}.",
    Progress.CANNOT_DELIVER: (
        "The carrier can't deliver it. Check the address with the receiver, then {change}."
    ),
    Progress.DAMAGED: (
        "The carrier reports damage. Keep photos and packaging, then contact us and quote"
        " {reference}: a refund{or_cover} may apply."
    ),
    Progress.LOST: (
        "The carrier reports it lost. Contact us and quote {reference}: a refund{or_cover} may"
        " apply."
    ),
    Progress.RETURNING: (
        "It's coming back to you. Contact us and quote {reference} if you don't know why."
    ),
    Progress.EXPIRED: (
        "The label is too old to use and wasn't scanned. Throw it away and send the parcel again."
        " For the price, contact us and quote {reference}."
    ),
}
# Progress of a return, which may go somewhere other than its sender's address. Its other states are
# worded like those of any parcel.
OF_RETURN = {
    Progress.PICKUP_FUTILE: (
        "The driver came but couldn't collect it. Ask {name} to have it ready, then {another_day}."
        " Don't cancel."
    ),
    Progress.COLLECTED: "On its way back.{due}",
    Progress.IN_TRANSIT: "On its way back.{due}",
    Progress.DROPPED_OFF: "{name} dropped it off, and it's on its way back.{due}",
    Progress.DELIVERY_ATTEMPTED: (
        "The driver couldn't deliver it. The carrier tries again or leaves a card. {if_needed}."
    ),
    Progress.HELD: "It's waiting at a collection point. Pick it up with the reference and ID.",
    Progress.DELIVERED: "Arrived back{on_day}.",
    Progress.CANNOT_DELIVER: "The carrier can't deliver it. Check the address, then {change}.",
    Progress.RETURNING: (
        "The carrier is taking it back to {name}. Contact us and quote {reference} if you don't"
        " know why."
    ),
    Progress.EXPIRED: (
        "The label is too old to use and wasn't scanned. Tell {name} to throw it away, and send the"
        " parcel back again. For the price, contact us and quote {reference}."
    ),
}
DROP_OFF = (
    "{} Print the label, stick it on and drop the {} at any of the carrier's drop-off points. <a"
    ' href="{}">Ask us for one near you</a>.{}'
)


def status_sentence(
    order: Order, now: dt.datetime, *, sees_contact: bool, can_cancel: bool = False
) -> str:
    """Return what the order's state means, as its sender reads it.

    With `sees_contact` it includes the carrier's own words.
    """
    if order.is_booked:
        return _of_booked(order, now, can_cancel=can_cancel)
    if order.erased_at and order.status in UNBOOKED:
        return f"{NOT_CHARGED} {ERASED}"
    if order.status == Status.BOOKING:
        return _of_booking(waits_for(order, now), order)
    if order.status == Status.DRAFT:
        return _of_draft(order, sees_contact=sees_contact)
    if order.status == Status.REJECTED:
        return _of_rejected(order, sees_contact=sees_contact)
    if order.status == Status.CANCELLED:
        return _of_cancelled(order)
    if order.status == Status.CANCEL_ASKED:
        return _of_asked(order)
    if order.status == Status.UNCONFIRMED:
        words = RESTORED if order.problem.get("kind") == "restored" else UNCONFIRMED
    else:
        words = OF_STATUS[Status(order.status)]
    return words.format(problem=order.problem.get("text") or NO_ANSWER)


HEADINGS = {
    Progress.PICKUP_MISSED: "The driver comes again on {next}",
    Progress.PICKUP_FUTILE: "The driver couldn't collect it on {day}",
    Progress.DELIVERY_ATTEMPTED: "Delivery attempted on {day}",
    Progress.HELD: "Waiting at the collection point since {day}",
    Progress.RETURNING: "Coming back since {day}",
    Progress.DELIVERED: "Delivered on {day}",
}
HEADINGS_OF_RETURNS = {
    Progress.RETURNING: "Going back to them since {day}",
    Progress.DELIVERED: "Arrived back on {day}",
}


def heading(order: Order, now: dt.datetime) -> str:
    """Return where a booked parcel is or what comes next, or "" if the due day says enough."""
    progress = Progress(order.shown_progress(now))
    is_known = order.progress_at is not None or progress == Progress.PICKUP_MISSED
    if not order.is_booked or progress not in HEADINGS or not is_known:
        return ""
    day = local_date(order.progress_at, order.sender)
    is_missed = progress == Progress.PICKUP_MISSED
    next_day = next_driver_day(order, order.progress_at, now) if is_missed else ""
    of_returns = HEADINGS_OF_RETURNS if order.returns_id else {}
    return of_returns.get(progress, HEADINGS[progress]).format(day=day, next=next_day)


def next_driver_day(order: Order, at: dt.datetime | None, now: dt.datetime) -> str:
    """Return in words the day of the next driver, after a pickup that was missed `at` this time."""
    day = order.next_pickup(at, now)
    return local_date(day, order.sender) if day else "the next business day"


def missed_pickup_sentence(order: Order, at: dt.datetime | None, now: dt.datetime) -> str:
    """Return what happens after a missed pickup; a return's label is at the receiver's."""
    name = masked_name(order.of_customer("name"))
    leave = f"Ask {name} to leave" if order.returns_id else "Leave"
    return (
        f"The driver didn't come. Another driver is booked for {next_driver_day(order, at, now)}."
        f" {leave} the label on and don't cancel."
    )


def _of_booking(pause: Pause | None, order: Order) -> str:
    if pause is None:
        return (
            "We're asking the carrier for a label. Nothing is charged until the carrier confirms."
        )
    if pause.what == STOPPED:
        return pause.text
    what = "Bookings" if pause.what == BOOKINGS else "Prices"
    until = f" until {local_moment(pause.ends_at, order.sender)}" if pause.ends_at else ""
    return (
        f"{what} are paused, so this booking waits{until}. Nothing is booked yet and nothing is"
        " charged."
    )


def _of_draft(order: Order, *, sees_contact: bool) -> str:
    kind, text = order.problem.get("kind"), order.problem.get("text", "")
    if kind == "price_rose":
        old = money_in(order.problem.get("old"), order.currency)
        rise = f"The price is now {money_in(order.price_to_confirm)} (was {old})."
        return f"{rise} {NOT_CHARGED} Accept the new price, or dismiss it."
    if kind in CHOOSE_AGAIN:
        return (
            f"{f'{text} ' if sees_contact else ''}{NOT_CHARGED} Open it to choose again, or"
            " dismiss it."
        )
    passed = f"{text} " if kind == "pickup_passed" else ""
    return f"{passed}{NOT_CHARGED} It needs your approval: book it or leave it."


def _of_rejected(order: Order, *, sees_contact: bool) -> str:
    why = (
        f"{order.problem.get('text') or 'The carrier refused this booking.'} "
        if sees_contact
        else ""
    )
    again = "" if order.problem.get("kind") == "ours" else " Fix it and book again."
    return f"{why}It wasn't booked and you weren't charged.{again}"


def _of_cancelled(order: Order) -> str:
    return (USED_AFTER_CANCEL if order.used_after_cancel_at else CANCELLED).format(
        used=local_date(order.used_after_cancel_at, order.sender),
        cancelled=local_date(order.cancelled_at, order.sender),
        total=money(order.total, order.currency),
        reference=order.carrier_reference,
    )


def _of_asked(order: Order) -> str:
    attempt = order.cancels.filter(state__in=CancelAttempt.LIVE).order_by("pk").last()
    return REFUND_ASKED.format(
        asked=local_date(attempt.asked_at, order.sender) if attempt else "an earlier day",
        total=money(order.total, order.currency),
    ) + (BOTH_CHARGED if hasattr(order, "replaced_by") else "")


def _of_booked(order: Order, now: dt.datetime, *, can_cancel: bool) -> str:
    progress = Progress(order.shown_progress(now))
    if progress == Progress.NONE:
        return _before_pickup(order, can_cancel=can_cancel)
    if progress == Progress.PICKUP_MISSED:
        return after_missed_pickup(order, now)
    contact_us = f"contact us and quote {order.carrier_reference}"
    has_tools = has_parcel_tools(order.account)
    words = OF_RETURN.get(progress) if order.returns_id else None
    return (words or OF_PROGRESS[progress]).format(
        name=masked_name(order.of_customer("name")),
        reference=order.carrier_reference,
        another_day=another_day(order.carrier_reference or "", account=order.account),
        due=f" Due by {local_date(order.eta_to, order.sender)}." if order.eta_to else "",
        on_day=f" on {local_date(order.progress_at, order.sender)}" if order.progress_at else "",
        or_cover=" or your Extra Cover" if order.cover_amount else "",
        change="change the delivery if you can" if has_tools else contact_us,
        if_needed=CAN_CHANGE if has_tools else f"If something else is needed, {contact_us}",
    )


def _before_pickup(order: Order, *, can_cancel: bool) -> str:
    booked_at = f"Booked at {_booked_price(order)}."
    if order.returns_id:
        return _return_before_pickup(order, booked_at, can_cancel=can_cancel)
    if order.first_mile == "drop-off":
        cancel = " Not sending it? Cancel it." if can_cancel else ""
        parcel = local_word("parcel", order.sender.country)
        return format_html(DROP_OFF, booked_at, parcel, reverse("contact"), cancel)
    day = order.expected_pickup()
    pickup = local_date(day, order.sender) if day else "the next business day"
    cancel = " Not sending it? Cancel it so the driver doesn't come." if can_cancel else ""
    return f"{booked_at} Print the label and stick it on before pickup on {pickup}.{cancel}"


def _return_before_pickup(order: Order, booked_at: str, *, can_cancel: bool) -> str:
    name, cancel = masked_name(order.of_customer("name")), " No longer needed? Cancel it."
    how = "and drops it off at any of the carrier's drop-off points"
    if order.first_mile != "drop-off":
        day = order.expected_pickup()
        how = (
            f"before pickup on {local_date(day, order.sender) if day else 'the next business day'}"
        )
    give = f"Give {name} the label, who sticks it on {how}."
    return f"{booked_at} {give}{cancel if can_cancel else ''}"


def _booked_price(order: Order) -> str:
    if order.unagreed_price is not None:
        return money(order.unagreed_price, order.unagreed_currency)
    quoted = "the quoted " if order.charged_price is None else ""
    return f"{quoted}{money(order.total, order.currency)}"


def after_missed_pickup(order: Order, now: dt.datetime) -> str:
    """Return what happens after a missed pickup, and whether a refund may be due."""
    if order.missed_twice(now):
        refund = "Missed twice: you may get a refund, and we're looking into it."
    else:
        refund = (
            "If it's missed again, you may get a refund: contact us and quote"
            f" {order.carrier_reference}."
        )
    return f"{missed_pickup_sentence(order, order.progress_at, now)} {refund}"
