"""Define the forms of Settings, each with its own page."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.core.validators import MinValueValidator

from shipping_portal.accounts.address import zones
from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.address.countries import STATES
from shipping_portal.accounts.models import Sender, User

CHOOSE = "Choose one from the page."


class SettingsForm(forms.ModelForm):
    """Saves exactly the columns that the form shows."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.error_messages["invalid_choice"] = CHOOSE
            if isinstance(field, forms.ChoiceField):
                field.error_messages["required"] = CHOOSE

    def store(self) -> None:
        self._meta.model.objects.filter(pk=self.instance.pk).update(**self.cleaned_data)


class ProfileForm(SettingsForm):
    name = LineField(
        label="Your name",
        max_length=120,
        help_text="Your team sees it next to what you did, like “Printed by”.",
        error_messages={"required": "Enter your name."},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    class Meta:
        model = User
        fields = ("name",)


class AppearanceForm(SettingsForm):
    class Meta:
        model = User
        fields = ("theme",)
        labels = {"theme": "Colours"}
        widgets = {"theme": forms.RadioSelect}


class KeyboardForm(SettingsForm):
    class Meta:
        model = User
        fields = ("has_shortcuts",)
        labels = {"has_shortcuts": "Use keyboard shortcuts"}
        help_texts = {
            "has_shortcuts": "Turn this off if you use dictation, or press keys by accident."
        }


class BusinessForm(SettingsForm):
    name = LineField(
        label="Business name",
        max_length=120,
        help_text="Shown at the top of every page. Labels use the company in your pickup address.",
        error_messages={"required": "Enter the name of your business."},
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    zone = forms.ChoiceField(
        label="Time zone",
        help_text=(
            "Every date and time is shown in it. Saving the default pickup address sets it too."
        ),
    )

    class Meta:
        model = Sender
        fields = ("name", "zone")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names = sorted(zones_of(self.instance.country) | {self.instance.zone})
        self.fields["zone"].choices = [(name, name.replace("_", " ")) for name in names]  # type: ignore[attr-defined]


class OwnLimitsForm(SettingsForm):
    class Meta:
        model = Sender
        fields = ("own_bookings_a_day", "own_money_a_day")
        labels = {
            "own_bookings_a_day": "Most parcels a day",
            "own_money_a_day": "Most money a day",
        }
        help_texts = {
            "own_bookings_a_day": "For your whole team. If it is empty, only our limit applies.",
            "own_money_a_day": "If it is empty, only our limit applies.",
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        money: Any = self.fields["own_money_a_day"]
        money.label = f"Most money a day, in {self.instance.currency}"
        money.min_value, money.widget.attrs["min"] = 0, 0
        money.validators.append(MinValueValidator(0))


class LabelsForm(SettingsForm):
    class Meta:
        model = Sender
        fields = ("label_size", "prints_at_once")
        labels = {"prints_at_once": "Open the print window automatically"}
        help_texts = {"prints_at_once": "When printing labels, as soon as a label is shown."}
        widgets = {"label_size": forms.RadioSelect}


def carrier_names() -> list[str]:
    """Return senders' names for the two carriers that take new orders; none if there is one."""
    first = {"TITLE": settings.CARRIER_TITLE, "ACCOUNT": settings.CARRIER_ACCOUNT}
    second = list(settings.SECOND_CARRIER.values())
    return [one["TITLE"] or one["ACCOUNT"] for one in (first, *second)] if second else []


class BookingForm(SettingsForm):
    default_carrier = forms.ChoiceField(label="Default carrier", required=False)

    class Meta:
        model = Sender
        fields = ("service_rule", "default_carrier", "default_size")
        labels = {
            "service_rule": "Default service",
            "default_size": "Default size",
        }
        help_texts = {"service_rule": "You can choose another one before each booking."}
        widgets = {"service_rule": forms.RadioSelect}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names = carrier_names()
        if names:
            carrier: Any = self.fields["default_carrier"]
            carrier.choices = [("", "Whichever fits"), *((name, name) for name in names)]
        else:
            del self.fields["default_carrier"]
        size: Any = self.fields["default_size"]
        size.queryset = self.instance.sizes.order_by("position", "pk")
        size.empty_label = "None"


class CloseForm(forms.Form):
    """Ask for the account's number, so that nobody closes one by mistake."""

    number = forms.CharField(label="Your account number", max_length=12)

    def __init__(self, *args: Any, sender: Sender, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sender = sender
        self.fields["number"].help_text = f"Type {sender.number} to close it."

    def clean_number(self) -> str:
        if Sender.pk_of(self.cleaned_data["number"]) != self.sender.pk:
            raise forms.ValidationError(f"This account is {self.sender.number}.")
        return self.sender.number


def zones_of(country: str) -> set[str]:
    """Return this country's time zones, including those of split states."""
    of_states = {zone for _, zone in STATES[country].values()}
    return (of_states | zones.of_country(country)) & available_timezones()
