"""What may become of a due cancellation: values, and nothing is written here.

`cancels.process_cancel` takes the first of them, asks the carrier where that says so, and has
what came of it recorded by `cancel_outcomes.record`.
"""

from dataclasses import dataclass

from orders.booking import answers
from orders.calling.carrier_settings import CarrierSettings
from orders.models import CancelAttempt, Order
from orders.models.statuses import Status
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import Cancelled

ELSEWHERE = (
    "It was booked on another carrier account, so it can't be cancelled from here. Contact us;"
    " we'll ask there."
)
WORKER_STOPPED = "the worker stopped before the carrier's answer"


@dataclass(frozen=True)
class Ask:
    """The carrier may be asked to cancel it. A refusal decides only the first time: later, the
    order is looked at.
    """

    is_first: bool
    first_call: str


@dataclass(frozen=True)
class View:
    """It may have been cancelled, and asking again isn't safe at this carrier: the order itself
    is looked at.
    """

    first_call: str = ""


@dataclass(frozen=True)
class Confirmed:
    """The carrier cancelled it."""

    answer: Cancelled


@dataclass(frozen=True)
class StaysBooked:
    """It was not cancelled, for this reason; its sender may ask again."""

    refusal: Rejected


@dataclass(frozen=True)
class Unsettled:
    """Nobody knows yet, or nothing was asked (`was_asked`): it is tried again later, or an
    operator decides.

    `why` is stored with the attempt, with the carrier's answer where `error` is one. With
    `text`, which its sender reads, the order becomes unclear if it isn't yet.
    """

    why: str = ""
    text: str = ""
    error: CarrierError | None = None
    was_asked: bool = True
    is_for_operator: bool = False


Outcome = Confirmed | StaysBooked | Unsettled


def of_cancellation(
    order: Order, attempt: CancelAttempt, configured: CarrierSettings | None
) -> Ask | View | Outcome:
    """Return what to do about a due cancellation at its own carrier account; None is one without
    settings.
    """
    is_first = attempt.state == CancelAttempt.State.WANTED
    if attempt.state == CancelAttempt.State.IN_FLIGHT:  # its worker is gone
        return Unsettled(WORKER_STOPPED, text=answers.CUT_OFF)
    if configured is None or configured.is_closed:
        # What may have been asked before the accounts changed is for an operator.
        return (
            StaysBooked(Rejected(0, "", ELSEWHERE))
            if is_first
            else Unsettled(ELSEWHERE, is_for_operator=True)
        )
    if order.status == Status.CANCEL_UNCONFIRMED and not configured.contract.cancel_repeatable:
        return View()
    return Ask(is_first, "track" if configured.contract.operation("track") else "cancel")
