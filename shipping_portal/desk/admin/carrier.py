"""The partner's account with the carrier: what is paused, and the carrier's own stop."""

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import Count, Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince

from orders.models import CarrierAccount, Order
from orders.models.pauses import BOOKINGS, QUOTES
from orders.models.statuses import Status
from shipping_portal.accounts.models import User
from shipping_portal.desk import pausing, queues
from shipping_portal.desk.admin import pauses
from shipping_portal.desk.admin.acts import Act, ActsAdmin


def _try_now(account: CarrierAccount, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    pausing.try_now(account, reason=cleaned["reason"], by=by, now=now)


class HeldFilter(admin.SimpleListFilter):
    """The same rules as the queues on the first page."""

    title = "held up"
    parameter_name = "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Stopped or paused"), ("fault", "Refused for a fault of ours")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CarrierAccount]) -> QuerySet[CarrierAccount]:
        if self.value() == "fault":
            return queryset.filter(queues.at_fault(timezone.now()))
        if self.value() != "yes":
            return queryset
        return queryset.filter(pk__in=[account.pk for account in queues.held_accounts(timezone.now())])


@admin.register(CarrierAccount)
class CarrierAccountAdmin(ActsAdmin):
    acts = (
        *pauses.acts(
            BOOKINGS, resumed="Waiting bookings are sent within a minute, at their accepted price or less."
        ),
        *pauses.acts(QUOTES, resumed="Senders get prices again at once."),
        Act(
            "try-now",
            "Ask the carrier again now",
            "The carrier refused the account. One waiting booking is sent to see whether that is over.",
            _try_now,
            needs="pause",
            applies=lambda account: account.stopped_at is not None,
            refusals=(pausing.AlreadySo,),
        ),
    )
    list_display = ["name", "bookings", "quotes", "stopped_at", "stopped_reason", "fault", "resting_until"]
    list_filter = [HeldFilter]
    exclude = ["fingerprint"]
    readonly_fields = ["waiting"]

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
