"""Declare the contents of a parcel that leaves its country: up to five rows with values.

Also ask one question for each word that suggests dangerous goods.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.calling.contract import current_contract, exports_from
from orders.drafting.form_fields import PlainDecimalField
from orders.drafting.receiver_form import ReceiverForm, line
from shipping_portal.accounts.address import countries
from shipping_portal.carrier.messages import Item

Cleaned = dict[str, Any]  # a form's values, as far as they are valid

ROWS = 5
PARTS = ("description", "value", "quantity", "origin", "hs_code")
CURRENCY = {"AU": "AUD", "CA": "CAD", "US": "USD"}


def _hs_digits() -> str:
    """Return how many digits an HS code has, in words."""
    return f"{current_contract().hs_code_shortest} to {current_contract().hs_code_longest} digits"


class ContentsForm(ReceiverForm):
    """Add contents rows for senders who may ship abroad. They are needed only across a border."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not exports_from(self.address.country):
            return
        kinds = current_contract().contents_types
        self.fields["contents_type"] = forms.ChoiceField(
            label="Kind of contents",
            choices=[(word, word) for word in kinds],
            initial=kinds[0],
            required=False,
            error_messages={"invalid_choice": f"Choose one of these: {', '.join(kinds)}."},
        )
        for row in range(1, ROWS + 1):
            self.fields |= self._row(row)

    def _row(self, row: int) -> dict[str, forms.Field]:
        return {
            f"item_{row}_description": line(f"Item {row}: what it is", longest=300),
            f"item_{row}_value": PlainDecimalField(
                label=f"Value of one, {CURRENCY[self.address.country]}",
                example="28.00",
                whole=5,
                places=2,
                is_money=True,
                required=False,
            ),
            f"item_{row}_quantity": PlainDecimalField(
                label="How many",
                example="2",
                whole=4,
                places=0,
                required=False,
                initial="1" if row == 1 else None,
            ),
            f"item_{row}_origin": line(
                "Made in", longest=60, help_text="A country, such as Italy or IT."
            ),
            f"item_{row}_hs_code": line(
                "HS code",
                longest=20,
                help_text=(
                    f"{_hs_digits()}; {current_contract().hs_code_duties_paid} for duties paid"
                    " upfront."
                ),
            ),
        }

    @property
    def content_rows(self) -> list[list[forms.BoundField]]:
        return [[self[f"item_{row}_{part}"] for part in PARTS] for row in range(1, ROWS + 1)]

    @property
    def has_more_rows(self) -> bool:
        """Return whether anything is filled in below the first row."""
        return any(field.value() for row in self.content_rows[1:] for field in row)

    def clean(self) -> Cleaned:
        cleaned = super().clean()
        cleaned["items"] = ()
        if not (self.needs_customs and exports_from(self.address.country)):
            cleaned["contents_type"] = ""
            return cleaned
        cleaned["contents_type"] = (
            cleaned.get("contents_type") or current_contract().contents_types[0]
        )
        filled = [row for row in range(1, ROWS + 1) if self._is_filled(row)]
        if not filled:
            self.add_error(
                "item_1_description",
                f"List what's inside. Customs ask for it on every parcel {self._way}.",
            )
        items = [self._item(row, cleaned) for row in filled]
        cleaned["items"] = tuple(item for item in items if item)
        return cleaned

    @property
    def _way(self) -> str:
        """Return the route in customs' terms: abroad, or between two states."""
        if self.is_abroad:
            return "abroad"
        ends = (self.address.state, self.cleaned_data.get("receiver_state", ""))
        start, end = (countries.state_name(self.address.country, state) for state in ends)
        return f"between {start} and {end}"

    def _is_filled(self, row: int) -> bool:
        """Return whether anything is filled in here; the first row starts with a quantity."""
        parts = PARTS if row > 1 else [part for part in PARTS if part != "quantity"]
        return any(str(self.data.get(f"item_{row}_{part}", "")).strip() for part in parts)

    def _item(self, row: int, cleaned: Cleaned) -> Item | None:
        parts: Cleaned = {part: cleaned.get(f"item_{row}_{part}") for part in PARTS}
        before = len(self.errors)
        self._check(row, parts)
        if len(self.errors) > before or any(f"item_{row}_{part}" in self.errors for part in parts):
            return None
        return Item(
            description=parts["description"],
            value=parts["value"],
            quantity=int(parts["quantity"] or 1),
            origin=countries.code_of(parts["origin"]),
            hs_code=parts["hs_code"],
        )

    def _check(self, row: int, parts: Cleaned) -> None:
        digits = re.sub(r"[^0-9]", "", parts["hs_code"] or "")
        leaving_out = f" To leave item {row} out, clear all of it." if row > 1 else ""
        refusals = {
            "description": (
                len(parts["description"] or "") < 3
                and f"Say what it is, in 3 characters or more.{leaving_out}"
            ),
            "value": not parts["value"] and "Enter the value of one, more than 0.",
            "quantity": parts["quantity"] == 0 and "Enter how many, 1 or more.",
            "origin": (
                not countries.code_of(parts["origin"] or "")
                and "Enter the country it was made in, such as Italy or IT."
            ),
            "hs_code": (
                bool(parts["hs_code"])
                and not (
                    current_contract().hs_code_shortest
                    <= len(digits)
                    <= current_contract().hs_code_longest
                )
                and f"An HS code has {_hs_digits()}."
            ),
        }
        for part, text in refusals.items():
            name = f"item_{row}_{part}"
            if text and name not in self.errors:
                self.add_error(name, ValidationError(str(text), code="item"))


# The first group that matches a text asks its question. Words are matched whole, singular or
# plural.
WORDS = {
    "Is it inside its device? Power banks, and batteries on their own or damaged, can't go.": (
        "battery, batteries, power bank, power banks, powerbank, powerbanks, lithium"
    ),
    "Does it contain alcohol? Perfume that burns can't go.": (
        "perfume, perfumes, cologne, aftershave, eau de toilette, eau de parfum"
    ),
    "Is it a can under pressure? Aerosols can't go.": (
        "aerosol, aerosols, hairspray, spray can, spray cans, spray paint"
    ),
    "Does it burn? Nail polish and its remover can't go if they do.": (
        "nail polish, nail varnish, nail lacquer, acetone"
    ),
    "Does it contain alcohol? Sanitiser that burns can't go.": (
        "sanitiser, sanitisers, sanitizer, sanitizers"
    ),
    "Does it hold gas or fuel, or light a flame? Then it can't go.": (
        "lighter, lighters, matches, firework, fireworks, sparkler, sparklers, flare, flares"
    ),
    "Is there gas in it? Cylinders and cartridges of gas can't go.": (
        "gas, butane, propane, gas cylinder, gas cartridge"
    ),
    "Does it burn? Fuel, and paint, solvent or glue that burns, can't go.": (
        "paint, paints, thinner, solvent, turpentine, glue, adhesive, fuel, petrol, gasoline, "
        "kerosene"
    ),
    "Is it corrosive or poisonous? Then it can't go.": (
        "bleach, acid, poison, pesticide, pesticides, weedkiller, insecticide"
    ),
    "Is it a strong magnet? Strong ones can't go.": "magnet, magnets",
    "Is it packed with dry ice? That can't go.": "dry ice",
}
QUESTIONS = {question: words.split(", ") for question, words in WORDS.items()}


@dataclass(frozen=True)
class Question:
    """One question, with the word that raised it, as typed."""

    word: str
    question: str


def contents_questions(texts: Iterable[str]) -> list[Question]:
    """Return one question for each group of words that the texts match."""
    return list(_questions_met(" / ".join(texts)))


def _questions_met(text: str) -> Iterator[Question]:
    for question, words in QUESTIONS.items():
        found = re.search(
            rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b", text, re.IGNORECASE
        )
        if found:
            yield Question(found[0], question)
