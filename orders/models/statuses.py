"""The statuses of an order, their transitions in one table, and named groups of them."""

from django.db import models


class Status(models.TextChoices):
    """Whether the carrier charges for an order. The carrier's words never change it."""

    DRAFT = "draft", "Draft"
    BOOKING = "booking", "Booking"
    BOOKED = "booked", "Booked"
    REJECTED = "rejected", "Not booked: refused"
    UNCONFIRMED = "unconfirmed", "Checking with the carrier"
    NOT_BOOKED = "not_booked", "Not booked"
    CONFLICT = "conflict", "Being sorted out"
    CANCELLING = "cancelling", "Cancelling"
    CANCEL_UNCONFIRMED = "cancel_unconfirmed", "Checking the cancellation"
    CANCEL_ASKED = "cancel_asked", "Refund requested"
    CANCELLED = "cancelled", "Cancelled"


class Progress(models.TextChoices):
    """Where the parcel is, computed from its scans (interface §2.2). It isn't about money."""

    NONE = "", "No scan yet"
    COLLECTED = "collected", "Picked up"
    DROPPED_OFF = "dropped_off", "Dropped off"
    PICKUP_MISSED = "pickup_missed", "Missed pickup"
    PICKUP_FUTILE = "pickup_futile", "Futile pickup"
    IN_TRANSIT = "in_transit", "On the way"
    OUT_FOR_DELIVERY = "out_for_delivery", "Out for delivery"
    DELIVERY_ATTEMPTED = "delivery_attempted", "Delivery attempted"
    HELD = "held", "Held for collection"
    DELIVERED = "delivered", "Delivered"
    CANNOT_DELIVER = "cannot_deliver", "Can't be delivered"
    DAMAGED = "damaged", "Damaged"
    LOST = "lost", "Lost"
    RETURNING = "returning", "Coming back"
    EXPIRED = "expired", "Label expired"


MOVES: dict[str, set[str]] = {
    # To conflict: an order was resolved as not booked, then the carrier accepted it late. The
    # operator was misinformed, whatever the sender has done since (docs/decisions/0009).
    Status.DRAFT: {Status.BOOKING, Status.CONFLICT},
    Status.BOOKING: {
        Status.BOOKED,
        Status.REJECTED,
        Status.UNCONFIRMED,
        Status.DRAFT,
        Status.CONFLICT,
    },
    Status.REJECTED: {Status.CONFLICT},
    Status.NOT_BOOKED: {Status.DRAFT, Status.CONFLICT},
    Status.UNCONFIRMED: {Status.BOOKED, Status.REJECTED, Status.NOT_BOOKED, Status.CONFLICT},
    Status.CONFLICT: {Status.BOOKED, Status.NOT_BOOKED},
    # Back to unclear: an operator adopted another order's reference (staff/resolution/undoing.py).
    Status.BOOKED: {Status.CANCELLING, Status.UNCONFIRMED, Status.CONFLICT},
    Status.CANCELLING: {
        Status.CANCELLED,
        Status.BOOKED,
        Status.CANCEL_UNCONFIRMED,
        Status.CANCEL_ASKED,
    },
    Status.CANCEL_UNCONFIRMED: {Status.CANCELLED, Status.BOOKED, Status.CANCEL_ASKED},
    # The carrier takes days to say whether it refunds the money.
    Status.CANCEL_ASKED: {Status.CANCELLED, Status.BOOKED},
    Status.CANCELLED: set(),
}
# Nobody knows whether the carrier has the order, so an operator finds out.
UNCLEAR_BOOKING = (Status.UNCONFIRMED, Status.CONFLICT)
BEING_CANCELLED = {Status.CANCELLING, Status.CANCEL_UNCONFIRMED, Status.CANCEL_ASKED}
# The carrier has an order: exactly the orders in these statuses store its reference.
HELD = {Status.BOOKED, *BEING_CANCELLED, Status.CANCELLED}
# The carrier may charge for it, as far as we know: exactly these statuses count in the limits.
MAY_COST = {Status.BOOKING, *UNCLEAR_BOOKING, Status.BOOKED, *BEING_CANCELLED}
# What an operator may have to look at: the admin counts these on every visit.
UNDECIDED = {
    *UNCLEAR_BOOKING,
    Status.CANCELLING,
    Status.CANCEL_UNCONFIRMED,
    Status.REJECTED,
}
MOVING = (Progress.COLLECTED, Progress.DROPPED_OFF, Progress.IN_TRANSIT, Progress.OUT_FOR_DELIVERY)
BEFORE_COLLECTION = {Progress.NONE}
WITH_THE_SENDER = (Progress.NONE, Progress.PICKUP_MISSED, Progress.PICKUP_FUTILE)
STILL_AT_SENDER = {*WITH_THE_SENDER, Progress.EXPIRED}
