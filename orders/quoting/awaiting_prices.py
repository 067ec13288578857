"""Ask the carrier again for drafts that got no prices, and notify the waiting person once."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.drafting import drafts
from orders.drafting.forms import ParcelForm
from orders.drafting.receivers import masked_name
from orders.models import Draft, PriceWait
from orders.quoting import asking
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import User
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.jobs.registry import job

KIND = "prices"
WORTH_WAITING = (CarrierError, asking.Paused, booking_rules.Paused)
SHORTEST, LONGEST = dt.timedelta(seconds=60 * settings.TIME_SCALE), dt.timedelta(hours=1)
GIVES_UP = dt.timedelta(days=3)
BACK = "The carrier gives prices again. Your draft for {name} is as you left it; nothing is booked."
NONE = (
    "The carrier gave no prices for three days, so we stopped asking. Your draft for {name} is"
    " kept."
)


def wait_for_prices(draft: Draft, *, by: User, now: dt.datetime) -> None:
    """Notify this person by email, even if they turned such emails off.

    They have just asked for it.
    """
    if outbox.choices_of(by)[KIND] == outbox.When.OFF:
        outbox.choose_when(by, KIND, outbox.When.NOW, now=now)
    PriceWait.objects.update_or_create(
        draft=draft,
        user=by,
        defaults={"asked_at": now, "due_at": now + SHORTEST, **PriceWait.AFRESH},
    )


@job(
    "prices",
    queue=PriceWait.objects.select_related("draft__sender", "user"),
    lane="draft__sender",
    order=110,
)
def ask_for_due_prices(wait: PriceWait) -> None:
    """Ask the carrier once more; notify when it answers, or after three days."""
    now = timezone.now()
    waited = now - wait.asked_at
    form = _form(wait.draft)
    if form is None:
        # An incomplete draft is being edited, and its page shows whether there are prices.
        wait.delete()
    elif _is_answered(wait, form, now):
        _notify_maker(wait, BACK, now)
    elif waited > GIVES_UP:
        _notify_maker(wait, NONE, now)
    else:
        wait.retry(now + min(max(waited / 4, SHORTEST), LONGEST))


def _form(draft: Draft) -> ParcelForm | None:
    if draft.sender.pickup_address() is None:
        return None
    form = drafts.parcel_form(draft.sender, draft.values, draft=draft)
    return form if form.is_ready_for_prices() else None


def _is_answered(wait: PriceWait, form: ParcelForm, now: dt.datetime) -> bool:
    """Return whether the carrier answered. A rejection is an answer; the form will show it."""
    sender = wait.draft.sender
    try:
        booking_rules.refuse_unless_booking_is_on(sender, now, is_booking=False)
        asking.ask_for_prices(sender, form.details(), by=wait.user, now=now, typed=False)
    except Rejected:
        return True
    except (*WORTH_WAITING, booking_rules.Suspended, bookings.LimitReached):
        return False
    return True


@transaction.atomic
def _notify_maker(wait: PriceWait, words: str, now: dt.datetime) -> None:
    draft, user = wait.draft, wait.user_id
    there, _ = wait.delete()
    if not there:
        # The draft has been booked or deleted.
        return
    fact = outbox.Event(
        sender=draft.sender,
        kind=KIND,
        dedupe_key=f"prices:{draft.uuid}:{now:%Y%m%d%H%M%S}",
        line=words.format(name=masked_name(draft.values.get("receiver_name", ""))),
        path=reverse("draft", args=[draft.uuid]),
        happened_at=now,
        batch_key=f"prices:{draft.uuid}",
        only=user,
    )
    outbox.notify(fact, now=now)
