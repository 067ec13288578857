"""Edit where parcels are picked up: the address and the sender's email (interface §2.1)."""

import datetime as dt
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from shipping_portal.accounts.address import places, sender_email
from shipping_portal.accounts.address.addresses import (
    LINE_ADVISED,
    REPEATS,
    LineField,
    OnceOnly,
    is_long,
    repeats_place,
    same_name,
)
from shipping_portal.accounts.address.countries import STATES
from shipping_portal.accounts.address.phones import clean_phone, extension_of
from shipping_portal.accounts.formatting import local_word
from shipping_portal.accounts.models import Audit, Locality, PickupAddress, Sender
from shipping_portal.refused import Refused

Cleaned = dict[str, Any]  # the form's valid values

STORED = (
    "name",
    "company",
    "line1",
    "line2",
    "suburb",
    "state",
    "postcode",
    "phone",
    "instructions",
    "email",
)
AUTOCOMPLETE = {
    "name": "name",
    "company": "organization",
    "line1": "address-line1",
    "line2": "address-line2",
    "suburb": "address-level2",
    "state": "address-level1",
    "postcode": "postal-code",
    "phone": "tel-national",
}
LONGEST_INSTRUCTIONS = 200
FITS = f"{LINE_ADVISED} characters or fewer fit on the label."


NEEDED = {
    "name": "Enter the name of the person the driver asks for.",
    "line1": "Enter the street and number.",
    "suburb": "Enter the {suburb}.",
    "state": "Choose the {state}.",
    "postcode": "Enter the {postcode}.",
    "email": "Choose the address the carrier and drivers write to.",
}
OFF_THE_LIST = {
    "state": "Choose one of the {state}s on the list.",
    "email": "Choose one of the addresses on the page; the carrier won't take another.",
}


class PickupAddressForm(OnceOnly):
    name = LineField(label="Contact name", max_length=120, help_text="Who the driver asks for.")
    company = LineField(label="Company", max_length=120, required=False)
    line1 = LineField(label="Address line 1", help_text=f"Street and number. {FITS}")
    line2 = LineField(label="Unit, floor or building", required=False, help_text=FITS)
    suburb = LineField(max_length=80)
    state = forms.ChoiceField()
    postcode = LineField(max_length=12)
    place = forms.IntegerField(required=False, widget=forms.HiddenInput)  # a chosen “did you mean”
    phone = forms.CharField(label="Phone", required=False, help_text="For the driver.")
    instructions = LineField(
        label="Pickup instructions",
        required=False,
        max_length=LONGEST_INSTRUCTIONS,
        help_text="For example, “Parcels on the porch, dog inside”.",
    )
    email = forms.ChoiceField(
        label="Sender email",
        widget=forms.RadioSelect,
        help_text="The carrier and drivers write to this address.",
    )
    reads_mailbox = forms.BooleanField(
        label="A person reads this mailbox every business day", required=False
    )

    def __init__(
        self, *args: Any, sender: Sender, address: PickupAddress | None = None, **kwargs: Any
    ) -> None:
        """Start with this address of the sender, or a new one. The first one is the default."""
        self.sender = sender
        self.near: tuple[Locality, ...] = ()
        self.extension = ""
        self.streets: list[tuple[str, str]] = []  # lines that end in their own place, by field
        self.address = address or PickupAddress(sender=sender, country=sender.country)
        kwargs["initial"] = _typed_values(self.address) | kwargs.get("initial", {})
        super().__init__(*args, **kwargs)
        self._localise_fields(sender.country)
        addresses = sender_email.usable_emails(sender)
        _offer_choices(self.fields["email"], [(address, address) for address in addresses])
        if len(addresses) == 1:
            self.initial["email"] = self.initial["email"] or addresses[0]
        if not any(sender_email.judge_email(address).needs_confirmation for address in addresses):
            del self.fields["reads_mailbox"]

    def _localise_fields(self, country: str) -> None:
        for name in ("suburb", "state", "postcode"):
            self.fields[name].label = local_word(name.capitalize(), country)
        states = ((code, name) for code, (name, _) in STATES[country].items())
        _offer_choices(
            self.fields["state"], [("", "Choose one"), *sorted(states, key=lambda state: state[1])]
        )
        words = {word: local_word(word, country) for word in ("suburb", "state", "postcode")}
        for name, sentence in NEEDED.items():
            self.fields[name].error_messages["required"] = sentence.format(**words)
        for name, sentence in OFF_THE_LIST.items():
            self.fields[name].error_messages["invalid_choice"] = sentence.format(**words)
        for name, token in AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = token

    def clean_phone(self) -> str:
        self.extension = extension_of(self.cleaned_data["phone"], self.sender.country)
        return clean_phone(self.cleaned_data["phone"], self.sender.country)

    def clean_instructions(self) -> str:
        """Add the phone's extension once. Reject instructions that leave no room for it."""
        text: str = self.cleaned_data["instructions"]
        words = f"phone ext. {self.extension}"
        if not self.extension or text.endswith(words):
            return text
        longer = ", ".join(filter(None, (text, words)))
        if len(longer) > LONGEST_INSTRUCTIONS:
            raise ValidationError(
                f"Use at most {LONGEST_INSTRUCTIONS} characters; with “{words}” from the phone"
                f" this has {len(longer)}."
            )
        return longer

    def clean(self) -> Cleaned:
        data = super().clean() or self.cleaned_data
        self._check_pair(data)
        self._check_lines(data)
        if same_name(data.get("name", ""), data.get("company", "")):
            self.add_error(
                "company", "Contact and company are the same. Clear company so it prints once."
            )
        chosen = sender_email.judge_email(data.get("email", ""))
        if chosen.needs_confirmation and not data.get("reads_mailbox"):
            self.add_error("reads_mailbox", chosen.sentence)
        return data

    def _check_pair(self, data: Cleaned) -> None:
        """Store the published spelling; for an unlisted pair, suggest what was meant."""
        chosen = places.active_places(self.sender.country).filter(pk=data.get("place") or 0).first()
        if chosen is None and not {"suburb", "postcode"} <= data.keys():
            return
        pair = places.Pair(place=chosen) if chosen else self._typed_pair(data)
        if pair.doubt:
            self.near = pair.near
            self.add_error("state", pair.doubt)
        elif pair.place:
            data |= {
                "suburb": pair.place.suburb,
                "state": pair.place.state,
                "postcode": pair.place.postcode,
            }
            for name in ("suburb", "state", "postcode"):
                self.errors.pop(name, None)
        elif pair.is_unlisted:
            data["postcode"] = places.postal_code(self.sender.country, data["postcode"])
        else:
            self.near = pair.near
            self.add_error("suburb", self._mismatch(data))

    def _typed_pair(self, data: Cleaned) -> places.Pair:
        return places.check_pair(
            self.sender.country, data["suburb"], data["postcode"], data.get("state", "")
        )

    def _mismatch(self, data: Cleaned) -> ValidationError:
        message = f"{data['suburb']} doesn't match {data['postcode']} on the carrier's list."
        ask = " Choose one of the places below, or correct both." if self.near else " Check both."
        return ValidationError(
            message + ask + places.demo_places_note(self.sender.country), code="pair"
        )

    def _check_lines(self, data: Cleaned) -> None:
        suburb, postcode, state = (data.get(part, "") for part in ("suburb", "postcode", "state"))
        for name in ("line1", "line2"):
            words = repeats_place(data.get(name, ""), suburb, postcode, state, self.sender.country)
            is_street = self.data.get("is_street") == name or data.get(name) == getattr(
                self.address, name
            )
            if words and not is_street:
                self.streets.append((name, data[name]))
                self.add_error(
                    name,
                    REPEATS.format(words=words, word=local_word("suburb", self.sender.country)),
                )

    @property
    def long_lines(self) -> list[str]:
        """Return warnings about saved lines that may be cut off on the label."""
        return [
            f"“{line}” has {len(line)} of {LINE_ADVISED} characters. The end may not fit on the"
            " label."
            for line in (self.cleaned_data["line1"], self.cleaned_data["line2"])
            if is_long(line)
        ]

    def save(self, *, by: Any, at: dt.datetime) -> PickupAddress:
        """Return the address and its confirmed mailbox.

        For the default, set the account's time zone.
        """
        data, address = self.cleaned_data, self.address
        for name in STORED:
            setattr(address, name, data[name])
        is_shared = sender_email.judge_email(address.email).needs_confirmation
        address.shared_mailbox_confirmed_at = at if is_shared else None
        with transaction.atomic():
            Sender.locked(self.sender.pk)
            # Another request may have saved the first one, or chosen another default.
            others = self.sender.pickup_addresses.exclude(pk=address.pk)
            address.is_default = not others.filter(is_default=True).exists()
            address.save()
            if address.is_default:
                keep_zone(address)
            Audit.write("pickup address saved", address, by=by, sender=self.sender, at=at)
            if is_shared:
                Audit.write("shared mailbox confirmed", address, by=by, sender=self.sender, at=at)
        return address


def _offer_choices(field: Any, choices: list[tuple[str, str]]) -> None:
    field.choices = choices


def _typed_values(address: PickupAddress) -> dict[str, Any]:
    """Return the form's values for a saved address; a new one starts with the business name."""
    values = {name: getattr(address, name) for name in STORED}
    if address._state.adding:
        values["company"] = address.sender.name
    return values | {"reads_mailbox": address.shared_mailbox_confirmed_at is not None}


@transaction.atomic
def make_default(address: PickupAddress, *, by: Any, at: dt.datetime) -> None:
    """Make this the default pickup address. The account gets its time zone."""
    sender = address.sender
    Sender.locked(sender.pk)
    sender.pickup_addresses.exclude(pk=address.pk).update(is_default=False)
    sender.pickup_addresses.filter(pk=address.pk).update(is_default=True)
    keep_zone(address)
    Audit.write("default pickup address chosen", address, by=by, sender=sender, at=at)


@transaction.atomic
def delete_address(address: PickupAddress, *, by: Any, at: dt.datetime) -> None:
    """Delete an address; the oldest remaining one replaces a default. Raises Refused."""
    sender = address.sender
    Sender.locked(sender.pk)
    heir = sender.pickup_addresses.exclude(pk=address.pk).order_by("-is_default", "pk").first()
    if heir is None:
        raise Refused("This is the only pickup address. Add another first, or change this one.")
    Audit.write("pickup address deleted", address, by=by, sender=sender, at=at)
    sender.pickup_addresses.filter(pk=address.pk).delete()
    if not heir.is_default:
        make_default(heir, by=by, at=at)


def keep_zone(address: PickupAddress) -> None:
    """Set the account's time zone to that of its default pickup address."""
    zone = places.zone_of(address.country, address.state, address.postcode)
    Sender.objects.filter(pk=address.sender_id).update(zone=zone)
