"""Validate the receiver by the rules of interface §2.1, with each message at its control."""

import json
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.calling.contract import current_contract, customs_apply, reach_from
from orders.drafting.form_fields import CountryField
from shipping_portal.accounts.address import addresses, countries, places
from shipping_portal.accounts.address.countries import STATES, state_code
from shipping_portal.accounts.address.phones import clean_phone, extension_of
from shipping_portal.accounts.address.text import normalise_name, one_line
from shipping_portal.accounts.formatting import PLACE, WORDS, local_word
from shipping_portal.accounts.models import Locality, PickupAddress, Sender
from shipping_portal.carrier.messages import Party

Cleaned = dict[str, Any]  # a form's values, as far as they are valid

RECEIVER_PARTS = (
    "name",
    "company",
    "email",
    "phone",
    "line1",
    "line2",
    "suburb",
    "state",
    "postcode",
    "country",
)
MOST_NAMED = 5  # countries in a sentence
LINES = ("receiver_line1", "receiver_line2")
EXTENSION = "phone ext."  # how it is written in the delivery instructions
AUTHORITY, SIGNATURE = "Authority To Leave", "Signature on Delivery"


def line(
    label: str, *, longest: int = addresses.LINE_LONGEST, needed: str = "", **options: Any
) -> addresses.LineField:
    """Return a one-line text field with this label; `needed` is the message when it is empty."""
    errors = {
        "required": needed,
        "max_length": f"Use at most {longest} characters; this has %(show_value)d.",
    }
    return addresses.LineField(
        label=label, max_length=longest, required=bool(needed), error_messages=errors, **options
    )


def labels(country: str) -> dict[str, str]:
    """Return that country's names for the parts of an address, by control."""
    return {f"receiver_{part}": local_word(part.capitalize(), country) for part in PLACE}


def hint(country: str) -> str:
    """Return a hint for the first address line in that country."""
    apart = f"{local_word('suburb', country)} and {local_word('postcode', country)}"
    return f"{addresses.LINE_ADVISED} characters or fewer fit on the label. Leave out the {apart}."


def street_of(name: str) -> str:
    """Return the control that records that this address line is the street."""
    return f"{name}_is_street"


def shorten(field: Any, longest: int) -> None:
    """Limit a field to this many characters, fewer than its column holds."""
    field.max_length = longest
    field.widget.attrs["maxlength"] = str(longest)


class ReceiverForm(addresses.OnceOnly):
    receiver_name = line("Name", longest=120, needed="Enter the receiver's name.")
    receiver_company = line("Company", longest=120)
    receiver_country = CountryField(label="Country")
    receiver_line1 = line("Street", needed="Enter the street and number, or the PO box.")
    receiver_line2 = line("Unit")
    receiver_suburb = line("Suburb", longest=80, needed="Enter the suburb.")
    receiver_state = line("State", longest=40)
    receiver_postcode = line("Postcode", longest=12, needed="Enter the postcode.")
    receiver_email = forms.EmailField(
        label="Email",
        max_length=254,
        error_messages={
            "required": "Enter the receiver's email.",
            "invalid": "Enter a full email address, like name@example.com.",
        },
    )
    receiver_phone = forms.CharField(
        label="Phone",
        max_length=60,
        required=False,
        help_text="So the driver can call if they can't find you.",
    )

    def __init__(self, *args: Any, sender: Sender, address: PickupAddress, **options: Any) -> None:
        self.sender, self.address = sender, address
        self.near: tuple[Locality, ...] = ()
        self.left_out: dict[str, str] = {}  # what was typed but isn't used, in sentences by control
        self.extension = ""
        super().__init__(*args, **options)
        self._take_territory()
        self._localise_fields()
        for name in ("receiver_name", "receiver_company"):
            shorten(self.fields[name], current_contract().longest_name)
        for name, purpose in AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = f"section-to shipping {purpose}"
        self.fields["receiver_phone"].widget.input_type = "tel"
        # The line as it was when its sender marked it as the street.
        for name in LINES:
            self.fields[street_of(name)] = addresses.LineField(
                required=False, widget=forms.HiddenInput
            )
        self._offer_countries()
        self._offer_instructions()

    def _localise_fields(self) -> None:
        """Label and require the address parts that are usual in its country."""
        country = self._country
        for part in PLACE:
            field = self.fields[f"receiver_{part}"]
            field.label = local_word(part.capitalize(), country)
            field.error_messages["required"] = f"Enter the {local_word(part, country)}."
        self.fields["receiver_line1"].help_text = hint(country)
        self.fields["receiver_postcode"].required = country not in countries.WITHOUT_POSTCODES

    def _take_territory(self) -> None:
        """Read a country that the post office calls a state as that state, before other rules."""
        values: Any = self.data if self.is_bound else self.initial
        typed = self._country, str(values.get("receiver_state") or "")
        read = countries.at_home(self.address.country, *typed)
        if read != typed:
            values = values.copy()
            values["receiver_country"], values["receiver_state"] = read
            self.data, self.initial = (
                (values, self.initial) if self.is_bound else (self.data, values)
            )

    @property
    def words(self) -> str:
        """Return each country's names for the address parts, as JSON for the page's script."""
        known = sorted({country for part in PLACE for country in WORDS[part]})
        return json.dumps({country: labels(country) | {"hint": hint(country)} for country in known})

    def _offer_countries(self) -> None:
        """Offer the home country first, then those served; prices decide about the others."""
        origin = self.address.country
        first = [origin, *(code for code in Sender.Country.values if code != origin)]
        field: Any = self.fields["receiver_country"]
        reach = countries.country_choices(first, only=reach_from(origin))
        # If they were set as `choices`, each of the 250 pairs would be checked twice.
        field._choices = field.widget._choices = reach
        field.initial = origin
        where = " and ".join(", ".join(name for _, name in reach).rsplit(", ", 1))
        only = f"Parcels from {countries.country_name(origin)} go to {where} only."
        field.error_messages |= {
            "required": "Choose the country it goes to.",
            "invalid_choice": only if len(reach) <= MOST_NAMED else "Choose a country on the list.",
        }
        if len(reach) == 1:
            field.help_text = only

    def _offer_instructions(self) -> None:
        """Offer Australian senders the carrier's industry terms (interface §2.1)."""
        if self.address.country != "AU":
            self.fields["receiver_instructions"] = line(
                "Delivery instructions", longest=current_contract().longest_instructions
            )
            return
        self.fields["delivery_choice"] = forms.ChoiceField(
            label="Delivery instructions",
            choices=[("none", "None"), ("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)],
            initial="none",
            widget=forms.RadioSelect,
            required=False,
            error_messages={"invalid_choice": f"Choose None, {AUTHORITY} or {SIGNATURE}."},
        )
        self.fields["delivery_place"] = line(
            "Where to leave it, or what the driver should know",
            longest=current_contract().longest_instructions,
            help_text=f"Printed after the words above, such as “{AUTHORITY}: front porch”.",
        )

    # -- Rules that need more than one field ------------------------------------------------------

    def clean_receiver_email(self) -> str:
        email: str = self.cleaned_data["receiver_email"]
        if not email.isascii():
            raise ValidationError(
                "Enter the email in plain letters, like name@example.com.", code="letters"
            )
        return email

    def clean(self) -> Cleaned:
        cleaned = super().clean() or self.cleaned_data
        self._names_differ(cleaned)
        self._phone(cleaned)
        self._pair_is_published(cleaned)
        self._lines_repeat_nothing(cleaned)  # after suburb and postcode, when the state is known
        cleaned["receiver_instructions"] = self._instructions(cleaned)
        return cleaned

    @property
    def is_abroad(self) -> bool:
        """Return whether the parcel leaves the country."""
        return self._country != self.address.country

    @property
    def needs_customs(self) -> bool:
        """Return whether customs ask what is inside: abroad, and in some places at home."""
        typed = self["receiver_state"].value() or ""
        state = getattr(self, "cleaned_data", {}).get("receiver_state", typed)
        end = Party(country=self._country, state=state_code(self._country, state) or state)
        return customs_apply(self.address.party(), end)

    @cached_property
    def customs_states(self) -> list[tuple[str, str]]:
        """Return the states at home that need customs details, each with its code and name."""
        home, start = self.address.country, self.address.party()
        return [
            (code, name)
            for code, (name, _) in STATES.get(home, {}).items()
            if customs_apply(start, Party(country=home, state=code))
        ]

    @property
    def needs_phone_abroad(self) -> bool:
        """Return whether the carrier asks for a phone in another country."""
        return self.address.country == "AU"

    @property
    def _country(self) -> str:
        """Return the destination country, read from the unvalidated form."""
        country = (
            self.data.get("receiver_country")
            if self.is_bound
            else self.initial.get("receiver_country")
        )
        return str(country or self.address.country).strip().upper()

    def _names_differ(self, cleaned: Cleaned) -> None:
        if addresses.same_name(
            cleaned.get("receiver_name", ""), cleaned.get("receiver_company", "")
        ):
            same = "Contact and company are the same. Clear company so it prints once."
            self.add_error("receiver_company", ValidationError(same, code="same_name"))

    def _phone(self, cleaned: Cleaned) -> None:
        if "receiver_phone" not in cleaned or "receiver_country" not in cleaned:
            return
        typed, country = cleaned["receiver_phone"], cleaned["receiver_country"]
        is_needed = self.needs_phone_abroad and self.is_abroad
        try:
            cleaned["receiver_phone"] = clean_phone(typed, country)
            self.extension = extension_of(typed, country)
        except ValidationError as error:
            if is_needed:
                return self.add_error("receiver_phone", error)
            cleaned["receiver_phone"] = ""
            self.left_out["receiver_phone"] = (
                f"The phone “{one_line(typed)}” is left out. {error.message}"
            )
        if is_needed and not cleaned["receiver_phone"]:
            needed = (
                "Add the receiver's phone. Parcels leaving Australia need an email and a phone"
                " number."
            )
            self.add_error("receiver_phone", ValidationError(needed, code="abroad"))

    def _lines_repeat_nothing(self, cleaned: Cleaned) -> None:
        place = [
            cleaned.get(f"receiver_{part}", "")
            for part in ("suburb", "postcode", "state", "country")
        ]
        for name in LINES:
            repeated = addresses.repeats_place(cleaned.get(name, ""), *place)
            if repeated and not self._is_street(name, cleaned):
                text = addresses.REPEATS.format(
                    words=repeated, word=local_word("suburb", self._country)
                )
                self.add_error(name, ValidationError(text, code="repeats"))

    def _is_street(self, name: str, cleaned: Cleaned) -> bool:
        """Return whether the sender confirmed this exact line as the street.

        They may do so here or in the address book.
        """
        line, part = cleaned[name], name.removeprefix("receiver_")
        place = {of: cleaned.get(f"receiver_{of}", "") for of in ("suburb", "postcode", "country")}
        return (
            line == cleaned.get(street_of(name))
            or self.sender.receivers.filter(**{part: line}, **place).exists()
        )

    @property
    def streets(self) -> list[tuple[str, str]]:
        """Return address lines that end with the name of their place, by control.

        Any of them may still be a street.
        """
        wrong = self.errors.as_data() if self.is_bound else {}
        return [
            (name, self.cleaned_data.get(name) or self[name].value())
            for name in LINES
            if any(error.code == "repeats" for error in wrong.get(name, ()))
        ]

    def _pair_is_published(self, cleaned: Cleaned) -> None:
        names = [f"receiver_{part}" for part in ("country", "suburb", "postcode")]
        if any(name in self.errors for name in names):
            return
        country, suburb, postcode = (cleaned[name] for name in names)
        pair = places.check_pair(country, suburb, postcode, cleaned.get("receiver_state", ""))
        if pair.doubt:
            self.near = pair.near
            self.add_error("receiver_suburb", ValidationError(pair.doubt, code="state"))
            self.add_error(
                "receiver_state", ValidationError(f"Doesn't match {postcode}.", code="pair_too")
            )
        elif pair.place:
            cleaned["receiver_suburb"], cleaned["receiver_state"] = (
                pair.place.suburb,
                pair.place.state,
            )
            cleaned["receiver_postcode"] = pair.place.postcode
        elif pair.is_unlisted:
            self._take_unlisted(cleaned)
        else:
            self._refuse_pair(suburb, postcode, pair.near)

    def _take_unlisted(self, cleaned: Cleaned) -> None:
        """Use the place as typed if no list is loaded for this country.

        The carrier's reply decides.
        """
        country = cleaned["receiver_country"]
        if country not in STATES:
            cleaned["receiver_postcode"] = cleaned["receiver_postcode"].upper()
            return
        cleaned["receiver_postcode"] = places.postal_code(country, cleaned["receiver_postcode"])
        cleaned["receiver_state"] = state_code(country, cleaned.get("receiver_state", ""))
        if not cleaned["receiver_state"]:
            self.add_error("receiver_state", f"Enter the {local_word('state', country)}.")

    def _refuse_pair(self, suburb: str, postcode: str, near: tuple[Locality, ...]) -> None:
        self.near = near
        state = state_code("US", self.cleaned_data.get("receiver_state", ""))
        is_military = (
            state in countries.MILITARY or normalise_name(suburb) in countries.MILITARY_CITIES
        )
        if self._country == "US" and is_military:
            text = (
                f"{suburb} {postcode} is US military mail, which isn't on the carrier's list. It"
                " can't be booked."
            )
            return self.add_error("receiver_suburb", ValidationError(text, code="military"))
        meant = " or ".join(f"{place.suburb.title()} {place.postcode}" for place in near[:2])
        ask = f" Did you mean {meant}?" if meant else ""
        few = places.demo_places_note(self.cleaned_data["receiver_country"])
        text = f"{suburb} doesn't match {postcode} on the carrier's list.{ask}{few}"
        self.add_error("receiver_suburb", ValidationError(text, code="pair"))
        self.add_error(
            "receiver_postcode", ValidationError(f"Doesn't match {suburb}.", code="pair_too")
        )

    def _instructions(self, cleaned: Cleaned) -> str:
        if self.address.country != "AU":
            return self._with_extension(str(cleaned.get("receiver_instructions", "")))
        term = {"authority_to_leave": AUTHORITY, "signature": SIGNATURE}.get(
            cleaned.get("delivery_choice", "")
        )
        detail = cleaned.get("delivery_place", "")
        if detail and not term and "delivery_choice" not in self.errors:
            self.add_error(
                "delivery_choice", f"Choose {AUTHORITY} or {SIGNATURE} to go with “{detail[:40]}”."
            )
        text = f"{term}: {detail}" if term and detail else term or ""
        if len(text) > current_contract().longest_instructions:
            self.add_error(
                "delivery_place",
                f"Together this is {len(text)} of {current_contract().longest_instructions}"
                " characters.",
            )
        return self._with_extension(text, may_take=bool(term))

    def _with_extension(self, text: str, *, may_take: bool = True) -> str:
        """Add the phone's extension to the instructions, if allowed and if there is room."""
        if not self.extension:
            return text
        longer = ", ".join(filter(None, (text, f"{EXTENSION} {self.extension}")))
        if may_take and len(longer) <= current_contract().longest_instructions:
            return longer
        self.left_out["receiver_phone"] = (
            f"Extension {self.extension} of the phone is left out: the delivery instructions don't"
            " take it."
        )
        return text

    @property
    def remarks(self) -> list[str]:
        """Return what was not used as typed, in sentences."""
        is_kept = self.extension and "receiver_phone" not in self.left_out
        kept = (
            [f"Extension {self.extension} of the phone is in the delivery instructions."]
            if is_kept
            else []
        )
        return [*self.left_out.values(), *kept]

    def receiver(self) -> Party:
        """Return the cleaned receiver."""
        values = {part: self.cleaned_data[f"receiver_{part}"] for part in RECEIVER_PARTS}
        return Party(**values, instructions=self.cleaned_data["receiver_instructions"])


def initial_of(receiver: Party) -> dict[str, str]:
    """Return the form's values for a known receiver."""
    values = {f"receiver_{part}": getattr(receiver, part) for part in RECEIVER_PARTS}
    values |= {"receiver_instructions": receiver.instructions, "delivery_choice": "none"}
    for choice, term in (("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)):
        if receiver.instructions == term or receiver.instructions.startswith(f"{term}: "):
            place = receiver.instructions.removeprefix(term).removeprefix(": ")
            values |= {"delivery_choice": choice, "delivery_place": place}
    return values


AUTOCOMPLETE = {
    "receiver_name": "name",
    "receiver_company": "organization",
    "receiver_country": "country",
    "receiver_line1": "address-line1",
    "receiver_line2": "address-line2",
    "receiver_suburb": "address-level2",
    "receiver_state": "address-level1",
    "receiver_postcode": "postal-code",
    "receiver_email": "email",
    "receiver_phone": "tel",
}
