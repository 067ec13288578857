"""Validate the new-parcel form and the Book button before the carrier is asked (interface §2.1)."""

import datetime as dt
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from orders.calling.contract import (
    contracts_for_new_orders,
    cover_limit_from,
    current_contract,
    takes_parcel,
)
from orders.drafting import contents_form, further_parcels
from orders.drafting.contents_form import CURRENCY, ROWS, ContentsForm
from orders.drafting.form_fields import (
    MeasureField,
    PlainDecimalField,
    measure_fields,
    numbered,
)
from orders.drafting.parcel_details import Box, ParcelDetails
from orders.drafting.receiver_form import LINES, initial_of, line, street_of
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.addresses import OnceOnly
from shipping_portal.accounts.formatting import plain
from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.carrier.messages import Measures

UNITS = {"AU": ("kg", "cm"), "CA": ("kg", "cm"), "US": ("lb", "in")}
SIZES = ("length", "width", "height")
ONE_BY_ONE = (
    "Book these parcels one by one: customs ask for a list of what is in each. Remove the other"
    " parcels first."
)
EXTRAS = ("delivery_choice", "delivery_place", "receiver_instructions", "cover_amount")


def _strip_zeros(amount: float) -> str:
    """Return the number without trailing zeros: 1500 for 1500.0."""
    return f"{amount:.2f}".removesuffix(".00")


@dataclass(frozen=True)
class ToFix:
    """An invalid control and its error."""

    field: forms.BoundField
    why: str

    @property
    def label(self) -> str:
        return str(self.field.label).partition(",")[0]  # without the unit

    @property
    def inside(self) -> str:
        """Return the label as it reads inside a sentence.

        `ZIP code` and `HS code` stay capitalised.
        """
        return self.label if self.label[1:2].isupper() else self.label[:1].lower() + self.label[1:]

    @property
    def place(self) -> str:
        """Return the control's id, or the first one's for a group."""
        return self.field.id_for_label or f"{self.field.auto_id}_0"


def _shape(size: ParcelSize) -> str:
    """Return the icon that looks most like this size."""
    shortest, _, longest = sorted((size.length, size.width, size.height))
    return "satchel" if shortest * 4 <= longest else "tallbox" if size.height == longest else "box"


class ParcelForm(ContentsForm):
    """Read one parcel in its sender's words and units, for the countries it may go to."""

    description = line("What's inside", needed="Say what's inside, such as “ceramic mugs”.")
    customer_reference = line("Order number")
    # Set when the carrier gave no prices now but may later.
    may_wait = False

    def __init__(
        self,
        *args: Any,
        sizes: Sequence[ParcelSize] = (),
        returns: int | None = None,
        most: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.returns = returns  # key of the parcel that this one sends back
        self.most = most  # how many parcels the form may hold
        self.weight_unit, self.size_unit = UNITS[self.sender.country]
        self.weight_name = f"weight_{self.weight_unit}"
        self.size_names = [f"{size}_{self.size_unit}" for size in SIZES]
        self.measure_names = [self.weight_name, *self.size_names]
        self.fields |= measure_fields(self.weight_unit, self.size_unit)
        self.fields["description"].required = current_contract().description_needed
        self.sizes = [size for size in sizes if size.weight_units == self.weight_unit]
        self._take_size()
        self._add_parcels()
        if limit := cover_limit_from(self.address.country):
            self.fields["cover_amount"] = PlainDecimalField(
                label="Extra Cover, up to",
                example="200",
                places=2,
                is_money=True,
                required=False,
                help_text=(
                    f"In {CURRENCY[self.address.country]}, at most {_strip_zeros(limit)}."
                    " Leave it blank for none; its price comes with the quote."
                ),
            )

    def _take_size(self) -> None:
        """Offer the saved sizes.

        If a size is chosen without measures, as happens without scripts, its own measures are used.
        """
        if not self.sizes:
            return
        self.fields["size"] = forms.CharField(label="Size", max_length=36, required=False)
        chosen = self.size_of(self.data.get("size") or "")
        if chosen and not any(self.data.get(name, "").strip() for name in self.measure_names):
            posted = QueryDict(mutable=True)
            posted.update(self.data)
            for name, value in self.measures_of(chosen).items():
                posted[name] = value
            self.data = posted

    def size_of(self, key: str) -> ParcelSize | None:
        """Return the offered size with this id, in small or capital letters."""
        return next((size for size in self.sizes if str(size.uuid) == key.strip().lower()), None)

    def _add_parcels(self) -> None:
        """Add the weight and measures of each further parcel."""
        values = self.data if self.is_bound else self.initial
        self.parcel_count = further_parcels.count_in(values, most=self.most)
        if self.most > 1:
            self.fields["parcels"] = forms.CharField(max_length=2, required=False)
        for number in self.further_numbers:
            self.fields |= measure_fields(self.weight_unit, self.size_unit, of=number)
            self.fields[numbered("size", number)] = forms.CharField(max_length=36, required=False)

    @property
    def further_numbers(self) -> range:
        return range(2, self.parcel_count + 1)

    @property
    def box_names(self) -> list[str]:
        """The controls that each parcel has separately, under the first parcel's names."""
        return [*self.measure_names, "size"]

    @property
    def further(self) -> list[tuple[int, list[forms.BoundField], forms.BoundField]]:
        """Return each further parcel: its number, its measures and the saved size it came from."""
        return [
            (
                number,
                [self[numbered(name, number)] for name in self.measure_names],
                self[numbered("size", number)],
            )
            for number in self.further_numbers
        ]

    def begin_with(self, size: ParcelSize | None) -> None:
        """Choose a size before anything is typed."""
        if size and size in self.sizes:
            self.initial.update({"size": str(size.uuid), **self._filled_by(size)})

    def _filled_by(self, size: ParcelSize) -> dict[str, str]:
        return self.measures_of(size) | (
            {"description": size.description} if size.description else {}
        )

    def measures_of(self, size: ParcelSize) -> dict[str, str]:
        """Return a saved size as the form's values."""
        found = {self.weight_name: size.weight}
        found |= {f"{side}_{self.size_unit}": getattr(size, side) for side in SIZES}
        return {name: f"{value.normalize():f}" for name, value in found.items()}

    @property
    def size_choices(self) -> list[tuple[ParcelSize, str, bool, str]]:
        """Return each size with its values as JSON, whether it is chosen, and its icon."""
        chosen = str(self["size"].value() or "") if self.sizes else ""
        return [
            (size, json.dumps(self._filled_by(size)), str(size.uuid) == chosen, _shape(size))
            for size in self.sizes
        ]

    @property
    def has_extras(self) -> bool:
        """Return whether an optional field that most parcels don't need is filled in or invalid."""
        names = [name for name in EXTRAS if name in self.fields]
        return any(
            self[name].errors or self[name].value() not in {None, "", "none"} for name in names
        )

    @property
    def home(self) -> str:
        """Return the country the parcel starts in, as it reads in a sentence."""
        return countries.in_text(self.address.country)

    @property
    def fixes(self) -> list[ToFix]:
        """Return invalid fields in page order; empty required fields aren't errors yet."""
        wrong = self.errors.as_data()
        found: dict[str, ToFix] = {}
        for field in self:
            if field.value() and field.name in wrong and wrong[field.name][0].code != "pair_too":
                why = str(field.errors[0])
                found.setdefault(why, ToFix(field, why))
        return list(found.values())

    @property
    def missing(self) -> list[ToFix]:
        """Return the empty fields that prices need; what's inside can wait until the booking."""
        wrong = [field for field in self if field.name in self.errors and not field.value()]
        return [ToFix(one, str(one.errors[0])) for one in wrong if one.name != "description"]

    def is_ready_for_prices(self) -> bool:
        """Return whether the form is valid, except that what's inside may still be missing."""
        is_blank = not str(self.data.get("description", "")).strip()
        return not self.errors or (set(self.errors) == {"description"} and is_blank)

    @property
    def goods_questions(self) -> str:
        """Return the dangerous-goods questions for the page's script, as JSON."""
        return json.dumps(list(contents_form.QUESTIONS.items()))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.address.line1:
            self.add_error(None, "The address that it starts from was erased.")
        if self.parcel_count > 1 and self.needs_customs:
            self.add_error(None, ONE_BY_ONE)
        cover, limit = cleaned.get("cover_amount"), cover_limit_from(self.address.country)
        contracts = contracts_for_new_orders()
        way = self.address.country, cleaned.get("receiver_country", "")
        if "cover_amount" not in self.fields and self.data.get("cover_amount", "").strip():
            origins = dict.fromkeys(code for one in contracts for code in one.cover_origins)
            where = " and ".join(map(countries.country_name, origins))
            self.add_error(None, f"Extra Cover is for parcels from {where} only.")
        elif cover and limit and cover > limit:
            self.add_error("cover_amount", f"Extra Cover goes up to {_strip_zeros(limit)}.")
        elif cover and way[1] and not any(takes_parcel(one, *way, cover) for one in contracts):
            # One carrier delivers there, and only the other sells the cover.
            self.add_error("cover_amount", "No carrier sells this much Extra Cover to there.")
        return cleaned

    @property
    def measure_controls(self) -> list[forms.BoundField]:
        return [self[name] for name in self.measure_names]

    def details(self) -> ParcelDetails:
        """Return the parcel to quote and book."""
        cleaned = self.cleaned_data
        details = ParcelDetails(
            pickup=self.address.party(),
            receiver=self.receiver(),
            measures=self._measures(1),
            description=cleaned.get("description", ""),
            contents=cleaned["items"],
            contents_type=cleaned["contents_type"],
            cover=cleaned.get("cover_amount") or None,
            customer_reference=cleaned["customer_reference"],
            size=self._size_entered(),
            returns=self.returns,
            ends_at_pickup=bool(self.returns),
            more=tuple(
                Box(self._measures(number), self._size_entered(number))
                for number in self.further_numbers
            ),
        )
        if details.returns and details.has_moved(self.sender.pickup_address()):
            return replace(details, ends_at_pickup=False)  # to another place
        return details

    def _measures(self, parcel: int) -> Measures:
        weight, length, width, height = (
            self.cleaned_data[numbered(name, parcel)] for name in self.measure_names
        )
        return Measures(weight, self.weight_unit, length, width, height, self.size_unit)

    def _size_entered(self, parcel: int = 1) -> str:
        """Return the chosen size, if the measures are still those of the size."""
        typed = {name: self.cleaned_data[numbered(name, parcel)] for name in self.measure_names}
        size = self.size_of(self.cleaned_data.get(numbered("size", parcel)) or "")
        if (
            size
            and {name: Decimal(value) for name, value in self.measures_of(size).items()} == typed
        ):
            return str(size.uuid)
        return ""


def initial_from(details: ParcelDetails, sender: Sender) -> dict[str, Any]:
    """Return the form's values for an earlier parcel, so that nothing is typed twice."""
    weight_unit, size_unit = UNITS[sender.country]
    measures = details.measures
    values: dict[str, Any] = {**initial_of(details.receiver), "description": details.description}
    values |= {"customer_reference": details.customer_reference, "cover_amount": details.cover}
    values["size"] = details.size
    if measures.weight_units == weight_unit and measures.dimension_units == size_unit:
        values |= typed_measures(measures)
        for number, box in enumerate(details.more, start=2):
            typed = typed_measures(box.measures) | {"size": box.size}
            values |= {numbered(name, number): value for name, value in typed.items()}
            values["parcels"] = str(number)
    values["contents_type"] = details.contents_type
    for row, item in enumerate(details.contents[:ROWS], start=1):
        values |= {
            f"item_{row}_{part}": getattr(item, part)
            for part in ("description", "value", "quantity", "origin", "hs_code")
        }
    return values


def typed_measures(measures: Measures) -> dict[str, str]:
    """Return measures as the form's values.

    A saved size's measures have more decimals than a field accepts: 9.5000.
    """
    return {f"weight_{measures.weight_units}": plain(measures.weight)} | {
        f"{side}_{measures.dimension_units}": plain(getattr(measures, side)) for side in SIZES
    }


def after_presses(typed: Any) -> Any:
    """Return what was sent, after the small buttons that correct a field.

    They clear the company, use a suggested place, or mark an address line as the street.
    """
    if not {"clear_company", "use_place", "is_street"} & set(typed):
        return typed
    changed = typed.copy()
    for name, _, shown in (one.partition("|") for one in typed.getlist("is_street")):
        if name in LINES:
            changed[street_of(name)] = shown
    if "clear_company" in typed:
        changed["receiver_company"] = ""
    chosen = typed.get("use_place", "").split("|")
    if len(chosen) == 3:
        changed["receiver_suburb"], changed["receiver_state"], changed["receiver_postcode"] = chosen
    return changed


class DayField(forms.Field):
    """Accept a day as the page sends it, such as 2025-11-25. Anything else is rejected."""

    def to_python(self, value: Any) -> dt.date | None:
        if not value:
            return None
        try:
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
                raise ValueError
            return dt.date.fromisoformat(value)
        except ValueError:
            raise ValidationError("Choose one of the pickup days.", code="day") from None


class WeightForm(forms.Form):
    """Accept, with one press, the weight measured for parcels of a saved size."""

    use_weight = MeasureField(example="1.2")


class BookForm(OnceOnly):
    """Read the service, the pickup day, and the token that ensures one booking per form."""

    product = forms.CharField(
        max_length=100,  # as long as any code a carrier quotes
        error_messages={
            "required": "Choose a service.",
            "max_length": "Choose one of the services.",
        },
    )
    pickup_date = DayField(required=False)
    form_token = forms.UUIDField(
        error_messages={
            "required": "Open this page again, then book.",
            "invalid": "Open this page again, then book.",
        }
    )
