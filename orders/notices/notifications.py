"""Word notifications about parcels, and write them in the transaction that causes them."""

import datetime as dt

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from orders.calling.contract import another_day
from orders.cancelling.cancel_rules import can_cancel
from orders.drafting.receivers import masked_name
from orders.models import Order, OrderChange, Replacement
from orders.models.statuses import BEING_CANCELLED, MOVING, UNCLEAR_BOOKING, Progress, Status
from orders.status.status_sentences import next_driver_day
from shipping_portal.accounts.formatting import money, money_in
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.mail.outbox import Event

NEWS_FOR = dt.timedelta(days=2)
LONGEST_WHY = 140  # characters of the carrier's words in an email line; the page has them all

BOOKED_ONCE = "Good news: {order} to {name} was booked once, as you asked."
NOT_BOOKED = "The parcel to {name} wasn't booked and you weren't charged. Book it now."
REFUSED = "The parcel to {name} wasn't booked and you weren't charged: {why} Fix it and book again."
REFUSED_US = (
    "The parcel to {name} wasn't booked and you weren't charged. {why} Book it again later."
)
NOT_OFFERED = "The parcel to {name} isn't booked and you weren't charged: {why}"
NEEDS_YES = "The parcel to {name} needs your yes: it isn't booked and you weren't charged. {why}"
STAYS_BOOKED = "{order} to {name} wasn't cancelled: {why} It stays booked and its label is good."
CANCELLED = "{order} to {name} is cancelled; we had to check with the carrier. Destroy its label."
REFUNDED = "{order} to {name} is cancelled: the carrier gives the money back."
REFUND_REFUSED = (
    "{order} to {name} wasn't refunded: {why} It is booked again and its label is good."
)
MAYBE_BOOKED = (
    "The parcel to {name} may be booked after all. Don't book it again before we have told you."
)
BOOKED_TOO_EARLY = (
    "We said too early that the parcel to {name} is booked; we're asking the carrier. Don't book it"
    " again."
)
WRONG_LABEL = (
    "The label for the parcel to {name} may be another parcel's. Don't use it, and don't book it"
    " again."
)
RESOLVED: dict[tuple[str, str], str] = {
    (Status.UNCONFIRMED, Status.BOOKED): BOOKED_ONCE,
    (Status.CONFLICT, Status.BOOKED): BOOKED_ONCE,
    (Status.UNCONFIRMED, Status.NOT_BOOKED): NOT_BOOKED,
    (Status.CONFLICT, Status.NOT_BOOKED): NOT_BOOKED,
    (Status.UNCONFIRMED, Status.REJECTED): REFUSED,
    (Status.BOOKING, Status.REJECTED): REFUSED,
    (Status.BOOKING, Status.DRAFT): NEEDS_YES,
    (Status.CANCELLING, Status.BOOKED): STAYS_BOOKED,
    (Status.CANCEL_UNCONFIRMED, Status.BOOKED): STAYS_BOOKED,
    (Status.CANCEL_UNCONFIRMED, Status.CANCELLED): CANCELLED,
    (Status.CANCEL_ASKED, Status.CANCELLED): REFUNDED,
    (Status.CANCEL_ASKED, Status.BOOKED): REFUND_REFUSED,
    # These orders were reported as not booked before, with the advice to book them now.
    (Status.NOT_BOOKED, Status.CONFLICT): MAYBE_BOOKED,
    (Status.DRAFT, Status.CONFLICT): MAYBE_BOOKED,
    (Status.REJECTED, Status.CONFLICT): MAYBE_BOOKED,
    # An operator had adopted another order's reference.
    (Status.BOOKED, Status.UNCONFIRMED): BOOKED_TOO_EARLY,
    (Status.BOOKED, Status.CONFLICT): WRONG_LABEL,
}
NEEDS_NOTHING = {BOOKED_ONCE, CANCELLED, REFUNDED}
# An import reports these changes together at its end. A cancellation has its own notification.
BEING_BOOKED = {Status.BOOKING, *UNCLEAR_BOOKING}
# Each names the state in the same word as its badge.
MISSED = (
    "Missed pickup: the driver didn't come for {order}. Another driver is booked for {next_driver}."
    " Leave the label on; don't cancel."
)
FUTILE = (
    "Futile pickup: the driver couldn't collect {order}. Have it ready, then {another_day}. Don't"
    " cancel."
)
PICKUPS: dict[str, str] = {Progress.PICKUP_MISSED: MISSED, Progress.PICKUP_FUTILE: FUTILE}
TROUBLES: dict[str, str] = {
    Progress.DELIVERY_ATTEMPTED: (
        "Delivery attempted: {order} to {name} isn't delivered yet. Its page says what helps."
    ),
    Progress.HELD: "{order} to {name} is held for collection. Tell the receiver.",
    Progress.CANNOT_DELIVER: (
        "{order} to {name} can't be delivered. Check the address with the receiver."
    ),
    Progress.DAMAGED: "The carrier reports {order} to {name} damaged. Keep photos and packaging.",
    Progress.LOST: "The carrier reports {order} to {name} lost. A refund may apply.",
    Progress.RETURNING: "{order} to {name} is coming back to you.",
}
DELIVERED = "{order} to {name} was delivered."
# Words for a return. The other words fit both directions.
OF_RETURNS: dict[str, str] = {
    Progress.PICKUP_MISSED: (
        "The driver didn't come to {name} for {order}. Another driver is booked for {next_driver}."
        " Don't cancel."
    ),
    Progress.PICKUP_FUTILE: (
        "The driver couldn't collect {order}. Ask {name} to have it ready, then {another_day}."
        " Don't cancel."
    ),
    Progress.DELIVERY_ATTEMPTED: "{order} from {name} couldn't be delivered yet.",
    Progress.HELD: "{order} from {name} waits at a collection point.",
    Progress.CANNOT_DELIVER: "{order} from {name} can't be delivered. Check the address.",
    Progress.RETURNING: "{order} is on its way back to {name}: it couldn't be delivered.",
    Progress.DELIVERED: "{order} from {name} arrived back.",
}
COMING_BACK = "{order} from {name} is on its way back."
UNAGREED = "{order} to {name} was booked at another price. "
MAY_CANCEL = " You can cancel it before it leaves."
ASK_US = " Contact us if you don't want it at that price."
ONLY_CANCELLED = (
    "{order} is cancelled, but the new parcel isn't booked. You weren't charged for a new one."
)
ONLY_ASKED = (
    "The refund of {order} is requested, but the new parcel isn't booked. You weren't charged for a"
    " new one."
)
NOT_REPLACED = "{order} couldn't be replaced: it stays booked, and nothing new was booked. {why}"

LEFT_OUT = (
    "We won't book the parcel that replaces {order}: the carrier has it already. Don't book it"
    " again; contact us if you miss it."
)


def notify_move(change: OrderChange) -> None:
    """Notify of a change with a result. Other changes of a booking cost no query."""
    if change.old in BEING_CANCELLED and change.new == Status.BOOKED:
        # Scans weren't reported while the order might have been cancelled.
        change.order.refresh_from_db(fields=["progress", "progress_at"])
        notify_progress(change.order)
    words = _describe_move(change)
    if words is None or (change.old in BEING_BOOKED and _is_in_import_summary(change.order)):
        return
    why = change.order.problem.get("text", "")
    batch_key = outbox.RESOLVED if words in NEEDS_NOTHING else ""
    event = make_event(
        change.order, "booking", change.news, words, change.at, batch_key=batch_key, why=why
    )
    outbox.notify(event, now=change.at)


def _describe_move(change: OrderChange) -> str | None:
    """Return the words for a change with a result.

    A rejection caused by our setup is worded differently.
    """
    words, kind = RESOLVED.get((change.old, change.new)), change.order.problem.get("kind")
    if words == REFUSED and kind == "ours":
        return REFUSED_US
    return NOT_OFFERED if words == NEEDS_YES and kind in {"gone", "ours"} else words


def notify_booking(order: Order, at: dt.datetime) -> None:
    """Notify of a booking at a price that the sender didn't agree to, until the next change.

    Other bookings cost no query.
    """
    if order.unagreed_price is not None:
        words = UNAGREED + not_as_agreed(order) + (MAY_CANCEL if can_cancel(order, at) else ASK_US)
        outbox.notify(make_event(order, "booking", f"change:{order.pk}:price", words, at), now=at)


def not_as_agreed(order: Order) -> str:
    """Return the agreed price and the booked one, with currencies if they differ."""
    shown = money if order.unagreed_currency == order.currency else money_in
    booked_at = shown(order.unagreed_price, order.unagreed_currency)
    return (
        f"You agreed to {shown(order.price, order.currency)}; the carrier booked it at {booked_at}."
    )


def notify_progress(order: Order) -> None:
    """Notify of a booked order's new progress if it is worth an email; otherwise make no query."""
    at, now = order.progress_at, timezone.now()
    if not order.is_booked or at is None or now - at > NEWS_FOR:
        return
    if found := progress_event(order, str(order.progress), at):
        outbox.notify(found, now=now)


def forget_progress(order: Order) -> None:
    """Withdraw unsent notifications about progress that belonged to another order."""
    for news in (*PICKUPS, *TROUBLES, "delivered", "coming_back", "not_printed"):
        outbox.retract_events(f"{news}:{order.pk}")


def notify_replacement_end(replacement: Replacement, now: dt.datetime) -> None:
    """Notify of a replacement that ended without a new parcel."""
    order, key = replacement.order, f"replacement:{replacement.pk}"
    words = ONLY_CANCELLED if replacement.is_only_cancelled else NOT_REPLACED
    if order.status == Status.CANCEL_ASKED:
        words = ONLY_ASKED
    path = reverse("replacing", args=[order.uuid])
    if replacement.is_left_out:
        words, path = LEFT_OUT, ""
    outbox.notify(
        make_event(order, "booking", key, words, now, path=path, why=replacement.problem), now=now
    )


def pickup_key(order: Order, progress: str, at: dt.datetime) -> str:
    """Return the key of a failed pickup: a driver who didn't come is reported once a pickup day.

    If no day is known, it is reported only once; otherwise each day without a driver would count.
    """
    is_missed = progress == Progress.PICKUP_MISSED
    return (
        f"{progress}:{order.pk}:{order.expected_pickup() if is_missed else _pickup_day(order, at)}"
    )


def progress_event(order: Order, progress: str, at: dt.datetime) -> Event | None:
    """Make the event for a parcel's progress, if it needs one.

    All parcels of one failed visit share an email.
    """
    kind = "delivery"
    key = f"{progress}:{order.pk}:{at.astimezone(order.sender.tzinfo):%Y-%m-%d}"
    words = TROUBLES.get(progress)
    batch_key = ""
    if progress in PICKUPS:
        kind, key, words = "pickup", pickup_key(order, progress, at), PICKUPS[progress]
        batch_key = f"pickup:{_pickup_day(order, at)}:{order.pickup['postcode']}"
    elif progress == Progress.DELIVERED:
        kind, key, words = "delivered", f"delivered:{order.pk}", DELIVERED
    elif progress in MOVING and order.returns_id:
        # once, at the first scan, whichever that is
        kind, key, words = "delivered", f"coming_back:{order.pk}", COMING_BACK
        batch_key = outbox.COMING_BACK
    if order.returns_id:
        words = OF_RETURNS.get(progress, words)
    if words and progress == Progress.PICKUP_MISSED:
        words = words.replace("{next_driver}", next_driver_day(order, at, at))
    return make_event(order, kind, key, words, at, batch_key=batch_key) if words else None


def make_event(
    order: Order,
    kind: str,
    dedupe_key: str,
    words: str,
    at: dt.datetime,
    *,
    path: str = "",
    batch_key: str = "",
    why: str = "",
) -> Event:
    """Build an event of an order. It links to the parcel's page, or to `path`."""
    return Event(
        sender=order.sender,
        kind=kind,
        dedupe_key=dedupe_key,
        line=(_of_return(words) if order.returns_id else words)
        .format(
            order=order.carrier_reference or "It",
            name=masked_name(order.of_customer("name")),
            why=cut_words(why),
            another_day=another_day(
                order.carrier_reference or "its reference", account=order.account
            ),
        )
        .strip(),
        path=path or reverse("parcel", args=[order.uuid]),
        happened_at=at,
        batch_key=batch_key,
    )


def _of_return(words: str) -> str:
    """Return the same words for a parcel that comes from somebody."""
    of_it = words.replace("parcel to {name}", "return from {name}")
    return of_it.replace("{order} to {name}", "{order} from {name}")


def cut_words(why: str) -> str:
    """Return the carrier's words, cut to fit a line."""
    return why if len(why) <= LONGEST_WHY else f"{why[: LONGEST_WHY - 1]}…"


def _pickup_day(order: Order, at: dt.datetime) -> dt.date:
    return order.expected_pickup() or order.sender.day_of(at)


def _is_in_import_summary(order: Order) -> bool:
    """Return whether an import will report this booking when it finishes or pauses."""
    # Match the token too, because an order may get its result before its row is linked to it.
    row = Q(rows__order=order) | Q(rows__token=order.form_token)
    # Lock it, so that either the import's end counts this change, or this change sees the end.
    imports = order.sender.imports.select_for_update(of=("self",), no_key=True)
    return (
        imports.filter(row, state="booking", paused_at=None, finished_at=None).first() is not None
    )
