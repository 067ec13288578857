"""Pausing bookings or prices for everybody: the acts, what they ask, and when a pause ends by itself."""

import datetime as dt
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone

from orders.masking import SafeText
from orders.models import CarrierAccount
from orders.models.account import BOOKINGS, QUOTES
from shipping_portal.accounts.adminkit.actions import AdminAction, ReasonForm
from shipping_portal.accounts.countries import ZONES_OF_COUNTRIES
from shipping_portal.staff import carrier_accounts, pausing

MORNING = 8  # o'clock
CITIES = {zone: zone.rpartition("/")[2].replace("_", " ") for zone in ZONES_OF_COUNTRIES.values()}
ENDS = [
    ("30", "In 30 minutes"),
    ("120", "In 2 hours"),
    ("480", "In 8 hours"),
    *((zone, f"Tomorrow at {MORNING} a.m. in {city}") for zone, city in CITIES.items()),
    ("", "When somebody resumes it"),
]
AS_IT_IS = "as it is"
TEXTS = {
    BOOKINGS: "Booking is paused while the carrier sorts something out. Parcels already booked are not affected.",
    QUOTES: "Prices are paused while the carrier sorts something out. Parcels already booked are not affected.",
}
MEANINGS = {
    BOOKINGS: "Nothing new is sent to the carrier for any sender, and booking pages say why. Bookings already sent "
    "are still settled; tracking, labels and cancelling go on.",
    QUOTES: "The carrier is asked for no prices. Bookings whose price is too old by now wait, all others are sent; "
    "tracking, labels and cancelling go on.",
}


class PauseForm(ReasonForm):
    text = SafeText(label="What senders read", max_length=300)
    ends = forms.ChoiceField(
        label="Ends",
        choices=ENDS,
        initial="120",
        required=False,
        widget=forms.RadioSelect,
        help_text="By itself, whether or not anybody is at the desk.",
    )
    field_order = ["text", "ends", "reason"]


class ChangePauseForm(PauseForm):
    ends = forms.ChoiceField(
        label="Ends", choices=[(AS_IT_IS, "As it is now"), *ENDS], required=False, widget=forms.RadioSelect
    )


def end_of(choice: str, now: dt.datetime) -> dt.datetime | None:
    """When a pause ends that begins now: after so many minutes, in the morning of a zone, or None: when resumed."""
    if choice.isdecimal():
        return now + dt.timedelta(minutes=int(choice))
    if choice not in CITIES:
        return None
    tomorrow = now.astimezone(ZoneInfo(choice)) + dt.timedelta(days=1)
    return tomorrow.replace(hour=MORNING, minute=0, second=0, microsecond=0)


def _pause(what: str, account: CarrierAccount, *, ends: str, now: dt.datetime, **asked: Any) -> None:
    pausing.pause(account, what, ends_at=end_of(ends, now), now=now, **asked)


def _change(what: str, account: CarrierAccount, *, ends: str, now: dt.datetime, **asked: Any) -> None:
    kept = account.kept_pause(what)
    ends_at = kept.ends_at if kept and ends == AS_IT_IS else end_of(ends, now)
    pausing.change(account, what, ends_at=ends_at, now=now, **asked)


def _resume(what: str, account: CarrierAccount, **asked: Any) -> None:
    pausing.resume(account, what, **asked)


def _is_paused(what: str, account: CarrierAccount) -> bool:
    return account.pause_of(what, timezone.now()) is not None


def _can_be_paused(what: str, account: CarrierAccount) -> bool:
    return carrier_accounts.known(account).takes_new_orders and not _is_paused(what, account)


def _as_kept(what: str, account: CarrierAccount) -> dict[str, Any]:
    kept = account.kept_pause(what)
    return {"text": kept.text if kept else "", "ends": AS_IT_IS}


def pause_actions(what: str, *, resumed: str) -> tuple[AdminAction, ...]:
    """Pausing one of the two, changing its pause, and ending it; `resumed` is what happens then."""
    act = partial(AdminAction, needs="pause", refusals=(pausing.AlreadySo,))
    is_paused = partial(_is_paused, what)
    return (
        act(
            f"pause-{what}",
            f"Pause {what}",
            MEANINGS[what],
            partial(_pause, what),
            applies=partial(_can_be_paused, what),
            form=PauseForm,
            initial=lambda account: {"text": TEXTS[what]},
        ),
        act(
            f"change-{what}-pause",
            f"Change the pause of {what}",
            "Senders read the new text at once.",
            partial(_change, what),
            applies=is_paused,
            form=ChangePauseForm,
            initial=partial(_as_kept, what),
        ),
        act(f"resume-{what}", f"Resume {what}", resumed, partial(_resume, what), applies=is_paused),
    )
