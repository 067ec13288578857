"""The partner's account with the carrier, and the log of calls to it."""

import datetime as dt
from typing import Any

from django import forms
from django.contrib import admin

from orders.models import CarrierAccount, CarrierCall
from shipping_portal.accounts.models import User
from shipping_portal.desk import pausing
from shipping_portal.desk.admin.acts import Act, ActsAdmin, ReasonForm
from shipping_portal.desk.admin.reading import ReadOnlyAdmin


class PauseForm(ReasonForm):
    text = forms.CharField(
        label="What senders read",
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        initial="Booking is paused while the carrier sorts something out. Parcels already booked are not affected.",
    )
    field_order = ["text", "reason"]


def _pause(account: CarrierAccount, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    pausing.pause(account, text=cleaned["text"], reason=cleaned["reason"], by=by, now=now)


def _resume(account: CarrierAccount, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    pausing.resume(account, reason=cleaned["reason"], by=by, now=now)


def _try_now(account: CarrierAccount, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    pausing.try_now(account, reason=cleaned["reason"], by=by, now=now)


REFUSALS = (pausing.AlreadySo,)


@admin.register(CarrierAccount)
class CarrierAccountAdmin(ActsAdmin):
    acts = (
        Act(
            "pause",
            "Pause bookings",
            "Nothing new is sent to the carrier for any sender. Bookings already sent are still settled; "
            "tracking, labels and cancelling go on.",
            _pause,
            needs="pause",
            applies=lambda account: account.paused_at is None,
            form=PauseForm,
            refusals=REFUSALS,
        ),
        Act(
            "resume",
            "Resume bookings",
            "Waiting bookings are sent within a minute, at their accepted price or less.",
            _resume,
            needs="pause",
            applies=lambda account: account.paused_at is not None,
            refusals=REFUSALS,
        ),
        Act(
            "try-now",
            "Ask the carrier again now",
            "The carrier refused the account. One waiting booking is sent to see whether that is over.",
            _try_now,
            needs="pause",
            applies=lambda account: account.stopped_at is not None,
            refusals=REFUSALS,
        ),
    )
    list_display = ["name", "stopped_at", "stopped_reason", "paused_at", "resting_until", "replays_off_at"]
    exclude = ["fingerprint"]


@admin.register(CarrierCall)
class CarrierCallAdmin(ReadOnlyAdmin):
    list_display = ["at", "operation", "method", "path", "status", "outcome", "milliseconds", "order"]
    list_filter = [("order", admin.EmptyFieldListFilter)]
    list_select_related = ["order"]
    search_fields = ["=operation", "=outcome", "=order__carrier_reference"]
    search_help_text = "Operation, outcome or the order's reference"
