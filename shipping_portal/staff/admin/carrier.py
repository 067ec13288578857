"""The partner's account with the carrier: what is paused, and the carrier's own stop."""

import datetime as dt
from pathlib import Path

from django.contrib import admin
from django.db.models import Count, Min, Q
from django.utils import timezone
from django.utils.timesince import timesince

from orders import gateway
from orders.models import CarrierAccount, Order
from orders.models.account import BOOKINGS, QUOTES
from orders.models.statuses import Status
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction
from shipping_portal.accounts.adminkit.filters import choices
from shipping_portal.staff import carrier_accounts, pausing, queues
from shipping_portal.staff.admin import pauses
from shipping_portal.staff.carrier_accounts import known

DESCRIBED = ["role", "described_by", "contract_file", "webhook_secrets"]  # by the settings, not by the row
STATE = [field.name for field in CarrierAccount._meta.fields if field.name not in {"id", "name", "fingerprint"}]
LEFT_BEHIND = (
    "{count} of its orders {are} still open, and nobody can ask the carrier about them: no scan is asked for, no label "
    "fetched, nothing cancelled, and unclear bookings wait. Name the account in OLDER_CARRIERS, with its settings "
    "and key, and restart."
)


def _is_stopped(account: CarrierAccount) -> bool:
    return account.stopped_at is not None and known(account).takes_new_orders


def _was_stopped(account: CarrierAccount) -> bool:
    return account.stopped_at is not None and not known(account).takes_new_orders


def _held(now: dt.datetime) -> Q:
    return Q(pk__in=[account.pk for account in queues.held_accounts(now)])


@admin.register(CarrierAccount)
class CarrierAccountAdmin(ActionsAdmin):
    admin_actions = (
        *pauses.pause_actions(
            BOOKINGS, resumed="Waiting bookings are sent within a minute, at their accepted price or less."
        ),
        *pauses.pause_actions(QUOTES, resumed="Senders get prices again at once."),
        AdminAction(
            "try-now",
            "Ask the carrier again now",
            "The carrier refused the account. One waiting booking is sent to see whether that is over.",
            pausing.try_now,
            needs="pause",
            applies=_is_stopped,
            refusals=(pausing.AlreadySo,),
        ),
        AdminAction(
            "end-stop",
            "Take the stop away",
            "The account takes no new orders, so no booking shows whether the carrier still refuses it. Tracking, "
            "labels and cancelling ask the carrier in any case.",
            pausing.end_stop,
            needs="pause",
            applies=_was_stopped,
            refusals=(pausing.AlreadySo,),
        ),
    )
    list_display = [*("name", "role", "bookings", "quotes", "stopped_at", "stopped_reason", "fault", "resting_until")]
    list_filter = [
        choices(
            "held up",
            "held",
            {"yes": ("Stopped or paused", _held), "fault": ("Refused for a fault of ours", queues.at_fault)},
        )
    ]
    fields = ["name", *DESCRIBED, *STATE, "waiting"]
    readonly_fields = [*DESCRIBED, "waiting"]

    def notice(self, thing: CarrierAccount) -> str:
        """What is amiss while orders are open that nobody can follow."""
        if gateway.is_reachable(thing):
            return ""
        count = carrier_accounts.still_open(CarrierAccount.objects.filter(pk=thing.pk), timezone.now()).count()
        return LEFT_BEHIND.format(count=f"{count:,}", are="is" if count == 1 else "are") if count else ""

    @admin.display(description="role")
    def role(self, account: CarrierAccount) -> str:
        return known(account).role

    @admin.display(description="settings")
    def described_by(self, account: CarrierAccount) -> str:
        told = known(account).told
        return f"{told.prefix}_…" if told else "None"

    @admin.display(description="contract file")
    def contract_file(self, account: CarrierAccount) -> str:
        told = known(account).told
        return Path(told.contract_file).name or "None: every point as assumed" if told else "–"

    @admin.display(description="webhook secrets")
    def webhook_secrets(self, account: CarrierAccount) -> str:
        """How many are accepted; never one of them."""
        told = known(account).told
        return f"{len(told.webhook_secrets)} in {told.secrets_setting}" if told else "–"

    @admin.display(description="bookings that wait")
    def waiting(self, account: CarrierAccount) -> str:
        """What Resume sends."""
        owed = Order.objects.filter(account=account, status=Status.BOOKING)
        found = owed.aggregate(n=Count("pk"), oldest=Min("created_at"))
        return f"{found['n']:,}, the oldest of {timesince(found['oldest'])} ago" if found["n"] else "None"

    @admin.display(description="bookings")
    def bookings(self, account: CarrierAccount) -> str:
        return _standing(account, BOOKINGS)

    @admin.display(description="prices")
    def quotes(self, account: CarrierAccount) -> str:
        return _standing(account, QUOTES)


def _standing(account: CarrierAccount, what: str) -> str:
    pause = account.pause_of(what, timezone.now())
    if pause is None:
        return "On"
    return f"Paused until {pause.ends_at:%Y-%m-%d %H:%M} UTC" if pause.ends_at else "Paused until resumed"
