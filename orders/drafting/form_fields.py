"""Define the parcel form's fields for numbers, money and countries, with their error messages."""

import re
from decimal import ROUND_UP, Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

POUNDS = re.compile(
    r"(?:([0-9.]+) ?(?:lbs?\.?|pounds?))?,? ?(?:([0-9.]+) ?(?:oz\.?|ounces?))?",
    re.ASCII | re.IGNORECASE,
)
PLAIN_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


class PlainDecimalField(forms.Field):
    """Accept a decimal in ASCII digits with a dot: no exponent, sign, separator or NaN."""

    def __init__(
        self,
        *,
        example: str,
        whole: int = 4,
        places: int = 3,
        is_money: bool = False,
        **options: Any,
    ) -> None:
        self.example, self.whole, self.places, self.is_money = example, whole, places, is_money
        widget = forms.TextInput(
            attrs={"inputmode": "decimal", "autocomplete": "off", "class": "number"}
        )
        super().__init__(widget=widget, **options)

    def to_python(self, value: Any) -> Decimal | None:
        text = (value or "").strip()
        if not text:
            return None
        if self.is_money:
            text = _without_signs(text)
        if re.fullmatch(r"[0-9]+,[0-9]+", text, re.ASCII):
            raise ValidationError(_without_comma(text, self.places), code="comma")
        if not PLAIN_NUMBER.fullmatch(text):
            raise ValidationError(f"Enter a number, like {self.example}.", code="number")
        whole, _, part = text.partition(".")
        # Trailing zeros add nothing: spreadsheets and saved sizes write 9.5000.
        part = part[: self.places] if not part[self.places :].strip("0") else part
        if len(part) > self.places:
            most = f"Use at most {self.places} decimals." if self.places else "Use a whole number."
            raise ValidationError(most, code="places")
        if len(whole.lstrip("0")) > self.whole:
            raise ValidationError(
                "This is more than any parcel has. Check the number.", code="large"
            )
        return Decimal(f"{whole}.{part}")


def _without_comma(text: str, places: int) -> str:
    """Return how to write this number: a comma before three digits may mean thousands."""
    dotted, plain = text.replace(",", "."), text.replace(",", "")
    if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", text):
        decimals = f", or {dotted}, with a dot for the decimals" if places >= 3 else ""
        return f"Write {plain}, without a comma{decimals}."
    return f"Use a dot: {dotted}."


def _without_signs(text: str) -> str:
    """Return `1280.00` for `$1,280.00`: a currency sign or cents make the comma unambiguous."""
    plain = text.removeprefix("$").strip()
    is_clear = re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]{2})?", plain, re.ASCII) and (
        plain != text or "." in plain
    )
    return plain.replace(",", "") if is_clear else plain


class MeasureField(PlainDecimalField):
    """Accept a weight or length above zero (interface §2.1). Pounds may be written with ounces."""

    def __init__(self, *, short: str = "", unit: str = "", **options: Any) -> None:
        self.short, self.unit = short, unit
        super().__init__(**options)
        if unit == "lb":
            self.widget.attrs |= {"inputmode": "text", "placeholder": "3 lb 8 oz"}

    def to_python(self, value: Any) -> Decimal | None:
        found = POUNDS.fullmatch((value or "").strip()) if self.unit == "lb" else None
        if not found or not any(found.groups()):
            return super().to_python(value)
        pounds = super().to_python(found[1]) or Decimal(0)
        ounces = super().to_python(found[2]) or Decimal(0)
        # Round up, so that the parcel is never declared lighter than it is.
        return (pounds + ounces / 16).quantize(Decimal("0.001"), ROUND_UP)

    def validate(self, value: Decimal | None) -> None:
        super().validate(value)
        if value is not None and value <= 0:
            raise ValidationError("This must be more than 0.", code="zero")


def numbered(name: str, parcel: int) -> str:
    """Return the name of a control of this parcel; the first parcel's have no number."""
    return name if parcel == 1 else f"parcel_{parcel}_{name}"


def measure_fields(weight_unit: str, size_unit: str, *, of: int = 1) -> dict[str, MeasureField]:
    """Return the weight and three lengths in these units, by form name, such as `weight_kg`.

    The fields `of` a further parcel have its number: `parcel_2_weight_kg`.
    """
    name, whose = numbered("", of), f" of parcel {of}" if of > 1 else ""
    needed = {"required": f"Enter the weight{whose}."}
    fields = {
        f"{name}weight_{weight_unit}": MeasureField(
            short="Weight",
            unit=weight_unit,
            label=f"Weight{whose}, {weight_unit}",
            example="1.2",
            error_messages=needed,
        )
    }
    for side in ("length", "width", "height"):
        label = f"{side.title()}{whose}, {size_unit}"
        needed = {"required": f"Enter the {side}{whose}. The carrier needs all three."}
        fields[f"{name}{side}_{size_unit}"] = MeasureField(
            short=side.title(), unit=size_unit, label=label, example="32", error_messages=needed
        )
    return fields


class CountrySelect(forms.Select):
    """Write the list of countries directly: Django would render two templates per country."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = (
            (code, SafeString(" selected" if code == value else ""), label)
            for code, label in self.choices
        )
        return format_html(
            "<select{}>\n{}\n</select>",
            flatatt({"name": name} | self.build_attrs(self.attrs, attrs)),
            format_html_join("\n", '  <option value="{}"{}>{}</option>', options),
        )


class CountryField(forms.ChoiceField):
    """Accept a country code in either case."""

    widget = CountrySelect

    def to_python(self, value: Any) -> str:
        return super().to_python(value).strip().upper()
