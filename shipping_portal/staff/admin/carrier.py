"""Show the partner's carrier account: its pauses and their ends, and the carrier's own stop."""

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import admin
from django.db.models import Count, Min, Q
from django.utils import timezone
from django.utils.timesince import timesince

from orders.calling import gateway
from orders.masking import SafeText
from orders.models import CarrierAccount, Order
from orders.models.account import BOOKINGS, QUOTES
from orders.models.statuses import Status
from shipping_portal.accounts.address.countries import ZONES_OF_COUNTRIES
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import column
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.formats import admin_time
from shipping_portal.staff import queues
from shipping_portal.staff.carrier import carrier_accounts, pausing
from shipping_portal.staff.carrier.carrier_accounts import find_settings

MORNING = 8  # o'clock
CITIES = {zone: zone.rpartition("/")[2].replace("_", " ") for zone in ZONES_OF_COUNTRIES.values()}
ENDS = [
    ("30", "In 30 minutes"),
    ("120", "In 2 hours"),
    ("480", "In 8 hours"),
    *((zone, f"Tomorrow at {MORNING} a.m. in {city}") for zone, city in CITIES.items()),
    ("", "When someone resumes it"),
]
AS_IT_IS = "as it is"
CALLED = {BOOKINGS: "bookings", QUOTES: "prices"}  # as every page calls them
TEXTS = {
    BOOKINGS: (
        "Booking is paused while the carrier sorts something out. Parcels already booked are not"
        " affected."
    ),
    QUOTES: (
        "Prices are paused while the carrier sorts something out. Parcels already booked are not"
        " affected."
    ),
}
MEANINGS = {
    BOOKINGS: (
        "Stops all new bookings at this account, for every sender, and booking pages say why."
        " Unclear ones are looked for, but not sent again. Tracking, labels and cancelling go on."
    ),
    QUOTES: (
        "Stops all price requests to it. Bookings with an expired price wait; the rest are sent."
        " Tracking, labels and cancelling keep working."
    ),
}


class PauseForm(ReasonForm):
    """The message to senders during a pause, its end, and the reason."""

    text = SafeText(label="Message to senders", max_length=300)
    ends = forms.ChoiceField(
        label="Ends",
        choices=ENDS,
        initial="120",
        required=False,
        widget=forms.RadioSelect,
        help_text="Ends automatically, even if no operator is there.",
    )
    field_order = ["text", "ends", "reason"]


class ChangePauseForm(PauseForm):
    """A new text or end for a current pause."""

    ends = forms.ChoiceField(
        label="Ends",
        choices=[(AS_IT_IS, "Keep current end"), *ENDS],
        required=False,
        widget=forms.RadioSelect,
    )


def end_of(choice: str, now: dt.datetime) -> dt.datetime | None:
    """Return when a pause begun now ends: after some minutes, or in a zone's morning, or None."""
    if choice.isdecimal():
        return now + dt.timedelta(minutes=int(choice))
    if choice not in CITIES:
        return None
    tomorrow = now.astimezone(ZoneInfo(choice)) + dt.timedelta(days=1)
    return tomorrow.replace(hour=MORNING, minute=0, second=0, microsecond=0)


def _pause(
    what: str, account: CarrierAccount, *, ends: str, now: dt.datetime, **written: Any
) -> None:
    pausing.pause_account(account, what, ends_at=end_of(ends, now), now=now, **written)


def _change(
    what: str, account: CarrierAccount, *, ends: str, now: dt.datetime, **written: Any
) -> None:
    kept = account.kept_pause(what)
    ends_at = kept.ends_at if kept and ends == AS_IT_IS else end_of(ends, now)
    pausing.change_pause(account, what, ends_at=ends_at, now=now, **written)


def _is_paused(what: str, account: CarrierAccount) -> bool:
    return account.pause_of(what, timezone.now()) is not None


def _can_be_paused(what: str, account: CarrierAccount) -> bool:
    return carrier_accounts.find_settings(account).takes_new_orders and not _is_paused(
        what, account
    )


def _as_kept(what: str, account: CarrierAccount) -> dict[str, Any]:
    kept = account.kept_pause(what)
    return {"text": kept.text if kept else "", "ends": AS_IT_IS}


act = partial(AdminAction, needs="pause")


def pause_actions(what: str, *, resumed: str) -> tuple[AdminAction, ...]:
    """Return one pause's actions: begin, change, end. `resumed` says what happens at its end."""
    is_paused, called = partial(_is_paused, what), CALLED[what]
    return (
        act(
            f"pause-{what}",
            f"Pause {called}",
            MEANINGS[what],
            partial(_pause, what),
            applies=partial(_can_be_paused, what),
            form=PauseForm,
            initial=lambda account: {"text": TEXTS[what]},
        ),
        act(
            f"change-{what}-pause",
            f"Change {called} pause",
            "Senders see the new text right away.",
            partial(_change, what),
            applies=is_paused,
            form=ChangePauseForm,
            initial=partial(_as_kept, what),
        ),
        act(
            f"resume-{what}",
            f"Resume {called}",
            resumed,
            partial(pausing.resume_account, what=what),
            applies=is_paused,
        ),
    )


# these come from the settings, not from the row
DESCRIBED = ["role", "described_by", "contract_file", "webhook_secrets"]
STATE = [
    field.name
    for field in CarrierAccount._meta.fields
    if field.name not in {"id", "name", "fingerprint"}
]
LEFT_BEHIND = (
    "{count} of its orders {are} still open, and we can't ask the carrier about them: no polling,"
    " labels or cancelling, and unclear bookings wait. Add the account to OLDER_CARRIERS, with its"
    " settings and key, and restart."
)


def _is_stopped(account: CarrierAccount) -> bool:
    return account.stopped_at is not None and find_settings(account).takes_new_orders


def _was_stopped(account: CarrierAccount) -> bool:
    return account.stopped_at is not None and not find_settings(account).takes_new_orders


def _held(now: dt.datetime) -> Q:
    return Q(pk__in=[account.pk for account in queues.held_accounts(now)])


@admin.register(CarrierAccount)
class CarrierAccountAdmin(ActionsAdmin):
    """Show carrier accounts: pauses, the carrier's own stop, and settings."""

    admin_actions = (
        *pause_actions(
            BOOKINGS,
            resumed="Waiting bookings are sent within a minute, at their accepted price or less.",
        ),
        *pause_actions(QUOTES, resumed="Senders get prices again right away."),
        act(
            "try-now",
            "Ask the carrier again now",
            "The carrier refused the account. Sends one waiting booking to see if it now accepts.",
            pausing.try_now,
            applies=_is_stopped,
        ),
        act(
            "end-stop",
            "Clear the stop",
            "This account takes no new orders, so no booking can show whether the carrier still"
            " refuses it. Tracking, labels and cancelling contact the carrier either way.",
            pausing.end_stop,
            applies=_was_stopped,
        ),
        act(
            "end-fault",
            "The fault is corrected",
            "The carrier refused how we asked. Once the settings or the contract file are right,"
            " this ends the alert. Another refusal begins a new one.",
            pausing.end_fault,
            applies=lambda account: account.fault_at is not None,
        ),
        act(
            "allow-repeats",
            "Allow repeats again",
            "The carrier answered a repeat of one booking with a second reference, so unclear"
            " bookings aren't repeated and wait for a person. Ask the carrier first. If it doesn't"
            " keep keys, set replays = false in the contract file before you press this, or a"
            " repeat can book and charge twice.",
            pausing.allow_repeats,
            applies=lambda account: account.replays_off_at is not None,
        ),
    )
    list_display = [
        "name",
        "role",
        "bookings",
        "quotes",
        "stopped_at",
        "stopped_reason",
        "fault",
        "resting_until",
    ]
    waits = ("held", {"stopped": queues.STOPPED, "fault": queues.AT_FAULT})
    list_filter = [
        choices(
            "held up",
            "held",
            {
                "stopped": ("Stopped by the carrier", queues.STOPPED.rule),
                "yes": ("Paused", _held),
                "fault": ("Refused: our setup", queues.at_fault),
            },
        )
    ]
    fields = ["name", *DESCRIBED, *STATE, "waiting"]
    readonly_fields = [*DESCRIBED, "waiting"]

    def notice(self, thing: CarrierAccount) -> str:
        """Return the problem, as long as open orders can't be followed."""
        if gateway.is_reachable(thing):
            return ""
        count = carrier_accounts.open_orders(
            CarrierAccount.objects.filter(pk=thing.pk), timezone.now()
        ).count()
        return (
            LEFT_BEHIND.format(count=f"{count:,}", are="is" if count == 1 else "are")
            if count
            else ""
        )

    role = column("role", lambda account: find_settings(account).role)

    @admin.display(description="settings")
    def described_by(self, account: CarrierAccount) -> str:
        """Show the prefix of its settings."""
        configured = find_settings(account).configured
        return f"{configured.prefix}_…" if configured else "None"

    @admin.display(description="contract file")
    def contract_file(self, account: CarrierAccount) -> str:
        """Show the name of its contract file."""
        configured = find_settings(account).configured
        return (
            Path(configured.contract_file).name or "None: all points as assumed"
            if configured
            else "–"
        )

    @admin.display(description="webhook secrets")
    def webhook_secrets(self, account: CarrierAccount) -> str:
        """Return how many secrets are accepted, and never a secret itself."""
        configured = find_settings(account).configured
        return (
            f"{len(configured.webhook_secrets)} in {configured.secrets_setting}"
            if configured
            else "–"
        )

    @admin.display(description="waiting bookings")
    def waiting(self, account: CarrierAccount) -> str:
        """Return what Resume would send."""
        due = Order.objects.filter(account=account, status=Status.BOOKING)
        found = due.aggregate(n=Count("pk"), oldest=Min("created_at"))
        return f"{found['n']:,}, oldest {timesince(found['oldest'])} ago" if found["n"] else "None"

    bookings = column("bookings", lambda account: _pause_state(account, BOOKINGS))
    quotes = column("prices", lambda account: _pause_state(account, QUOTES))


def _pause_state(account: CarrierAccount, what: str) -> str:
    """Return whether bookings or prices are on or paused, and until when."""
    pause = account.pause_of(what, timezone.now())
    if pause is None:
        return "On"
    return f"Paused until {admin_time(pause.ends_at)}" if pause.ends_at else "Paused until resumed"
