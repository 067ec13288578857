"""Define a webhook endpoint's forms: its address, its kinds, and the time to repeat events from."""

import datetime as dt
from typing import Any

from django import forms
from django.utils import timezone

from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.login.forms import Plain
from shipping_portal.accounts.models import Sender, WebhookKind
from shipping_portal.accounts.webhooks.addresses import why_refused

CHOOSE = "Choose one from the page."
A_TIME = "Enter a day and a time, like 2026-11-28 09:30."


class EndpointForm(Plain):
    """Asks where to send events, and which."""

    url = LineField(
        label="Address",
        max_length=500,
        help_text="Of your program, such as https://shop.example/hooks/parcels.",
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Enter the address of your program."},
    )
    kinds = forms.MultipleChoiceField(
        label="Events",
        choices=WebhookKind.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose what to send.",
            "invalid_choice": CHOOSE,
            "invalid_list": CHOOSE,
        },
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if why := why_refused(url):
            raise forms.ValidationError(why)
        return url


class SinceForm(Plain):
    """Asks from what time on to send events again, in the sender's zone."""

    since = forms.DateTimeField(
        label="Since",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        error_messages={"required": A_TIME, "invalid": A_TIME},
    )

    def __init__(self, *args: Any, sender: Sender, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sender = sender

    def clean_since(self) -> dt.datetime:
        since: dt.datetime = self.cleaned_data["since"].replace(tzinfo=self.sender.tzinfo)
        if since > timezone.now():
            raise forms.ValidationError("Enter a time in the past.")
        # Older events are deleted, and times in year 1 can't be converted to another zone.
        return max(since, timezone.now() - dt.timedelta(days=366))
