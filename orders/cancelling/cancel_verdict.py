"""Decide what happens to a due cancellation. Verdicts are values; nothing is written here.

`cancels.process_cancel` takes the first verdict, asks the carrier if the verdict says so, and has
`cancel_outcomes.record` record the outcome.
"""

from dataclasses import dataclass

from orders.booking import answers
from orders.calling.carrier_settings import CarrierSettings
from orders.models import CancelAttempt, Order
from orders.models.statuses import Status
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import Booked, Cancelled
from shipping_portal.carrier.reading import read_cancel_state

ELSEWHERE = (
    "It was booked on another carrier account, so it can't be cancelled from here. Contact us;"
    " we'll ask there."
)
NOT_REFUNDED = "The carrier doesn't refund it"
WORKER_STOPPED = "the worker stopped before the carrier's answer"


@dataclass(frozen=True)
class Ask:
    """The carrier may be asked to cancel it.

    A refusal is final only the first time; after that, the order itself is checked.
    """

    is_first: bool
    first_call: str


@dataclass(frozen=True)
class View:
    """The order itself has to be checked.

    It may have been cancelled, and asking again isn't safe at this carrier.
    """

    first_call: str = ""


@dataclass(frozen=True)
class Confirmed:
    """The carrier cancelled it."""

    answer: Cancelled


@dataclass(frozen=True)
class CancelAsked:
    """The carrier noted the request, and will take days to grant or refuse it."""

    answer: Cancelled


@dataclass(frozen=True)
class StaysBooked:
    """It wasn't cancelled, for this reason. Its sender may ask again."""

    refusal: Rejected


@dataclass(frozen=True)
class Unresolved:
    """The outcome is unknown, or nothing was asked (see `was_asked`).

    It is tried again later, or an operator decides.

    `why` is stored with the attempt, and so is the carrier's answer if `error` is one. With a
    `text` for its sender, the order becomes unclear unless it already is.
    """

    why: str = ""
    text: str = ""
    error: CarrierError | None = None
    was_asked: bool = True
    is_for_operator: bool = False


Outcome = Confirmed | CancelAsked | StaysBooked | Unresolved


def of_cancellation(
    order: Order, attempt: CancelAttempt, configured: CarrierSettings | None
) -> Ask | View | Outcome:
    """Return what to do about a due cancellation at its own carrier account.

    `configured` is None for an account without settings.
    """
    is_first = attempt.state == CancelAttempt.State.WANTED
    if attempt.state == CancelAttempt.State.IN_FLIGHT:  # its worker has gone
        return Unresolved(WORKER_STOPPED, text=answers.CUT_OFF)
    if configured is None or configured.is_closed:
        # If it may have been asked before the accounts changed, an operator decides.
        return (
            StaysBooked(Rejected(0, "", ELSEWHERE))
            if is_first
            else Unresolved(ELSEWHERE, is_for_operator=True)
        )
    is_unclear = order.status == Status.CANCEL_UNCONFIRMED
    if order.status == Status.CANCEL_ASKED or (
        is_unclear and not configured.contract.cancel_repeatable
    ):
        return View()
    return Ask(is_first, "track" if configured.contract.operation("track") else "cancel")


def of_answer(answer: Cancelled) -> Confirmed | CancelAsked:
    """Return what the carrier's acceptance means: a cancellation, or a request that it noted."""
    return CancelAsked(answer) if answer.is_asked else Confirmed(answer)


def of_view(order: Order, viewed: Booked, contract: Contract) -> Outcome | None:
    """Return what the carrier's order says about a cancellation, or None if it doesn't say.

    A refusal counts only once the carrier has noted the request: before that, it may be about an
    older request.
    """
    meaning = read_cancel_state(viewed.state, contract)
    answer = Cancelled(viewed.state, "", viewed.status, viewed.body, is_asked=meaning == "asked")
    if meaning in ("cancelled", "asked"):
        return of_answer(answer)
    if meaning == "refused" and order.status == Status.CANCEL_ASKED:
        text = f"{NOT_REFUNDED} ({viewed.state.replace('_', ' ')})."
        return StaysBooked(Rejected(viewed.status, viewed.state, text, {"": [text]}, viewed.body))
    return None
