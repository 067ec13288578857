"""Controls of the parcel form: measured numbers, money and countries, each refusing with a sentence."""

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

PLAIN_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


class PlainDecimalField(forms.Field):
    """A decimal in ASCII digits with a dot: no exponent, sign, separator, NaN or digits of another script."""

    def __init__(self, *, example: str, whole: int = 4, places: int = 3, **options: Any) -> None:
        self.example, self.whole, self.places = example, whole, places
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "class": "number"})
        super().__init__(widget=widget, **options)

    def to_python(self, value: Any) -> Decimal | None:
        text = (value or "").strip()
        if not text:
            return None
        if re.fullmatch(r"[0-9]+,[0-9]+", text, re.ASCII):
            raise ValidationError(_without_comma(text, self.places), code="comma")
        if not PLAIN_NUMBER.fullmatch(text):
            raise ValidationError(f"Write this as a number, such as {self.example}.", code="number")
        whole, _, part = text.partition(".")
        if len(part) > self.places:
            most = f"Use at most {self.places} decimals." if self.places else "Use a whole number."
            raise ValidationError(most, code="places")
        if len(whole.lstrip("0")) > self.whole:
            raise ValidationError("This is more than any parcel has. Check the number.", code="large")
        return Decimal(text)


def _without_comma(text: str, places: int) -> str:
    """Return how to write this number: with three digits after its comma it may be a thousand."""
    dotted, plain = text.replace(",", "."), text.replace(",", "")
    if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", text):
        decimals = f", or {dotted}, with a dot for the decimals" if places >= 3 else ""
        return f"Write {plain}, without a comma{decimals}."
    return f"Use a dot for the decimals: {dotted}."


class MeasureField(PlainDecimalField):
    """A weight or a length: strictly more than zero (interface §2.1)."""

    def validate(self, value: Decimal | None) -> None:
        super().validate(value)
        if value is not None and value <= 0:
            raise ValidationError("This must be more than 0.", code="zero")


def measure_fields(weight_unit: str, size_unit: str) -> dict[str, MeasureField]:
    """Return the weight and the three lengths in these units, by their names in the form, such as `weight_kg`."""
    needed = {"required": "Enter the weight."}
    fields = {
        f"weight_{weight_unit}": MeasureField(label=f"Weight, {weight_unit}", example="1.2", error_messages=needed)
    }
    for side in ("length", "width", "height"):
        needed = {"required": f"Enter the {side}. The carrier needs all three."}
        fields[f"{side}_{size_unit}"] = MeasureField(
            label=f"{side.title()}, {size_unit}", example="32", error_messages=needed
        )
    return fields


class CountryField(forms.ChoiceField):
    """A country by its code, in either case."""

    def to_python(self, value: Any) -> str:
        return super().to_python(value).strip().upper()
