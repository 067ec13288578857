"""Define an import's two forms: one for the file or paste, one for matching columns to fields."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.drafting.form_fields import PlainDecimalField
from orders.drafting.forms import DayField
from orders.quoting import choosing
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.importing import columns, reading, shops, units
from shipping_portal.importing.guessing import guess_columns
from shipping_portal.importing.models import Import
from shipping_portal.importing.reading import Sheet, UnreadableFile

Cleaned = dict[str, Any]  # a form's values, as far as they are valid

NO_COLUMN = ""
CHOICES_OF_UNIT = {units.WEIGHT_UNIT: "Weights are in", units.SIZE_UNIT: "Measures are in"}
# fields that never have one value for all rows
ONLY_COLUMNS = {columns.LAST_NAME, *(field.name for field in columns.FILE_ONLY)}


class ImportUploadForm(forms.Form):
    """Takes a file or a paste; `sheet` is its table once the form is valid."""

    file = forms.FileField(
        label="Excel, CSV or TSV file",
        required=False,
        help_text="Up to 2,000 rows and 2 MB. The first line names the columns.",
        widget=forms.FileInput(
            attrs={
                "accept": ".xlsx,.xlsm,.csv,.tsv,.txt,text/csv,text/tab-separated-values",
                "data-most-mb": "2",
            }
        ),
        error_messages={
            "empty": "This file is empty.",
            "max_length": "Give the file a shorter name.",
        },
    )
    pasted = forms.CharField(
        label="Or paste rows from a spreadsheet",
        required=False,
        strip=False,
        help_text="Include the line that names the columns.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )

    def clean(self) -> Cleaned:
        cleaned = super().clean() or self.cleaned_data
        upload, pasted = cleaned.get("file"), cleaned.get("pasted", "")
        if "file" in self.errors or "pasted" in self.errors:
            return cleaned
        if not upload and not pasted.strip():
            raise ValidationError({"file": "Choose a file, or paste the rows below."})
        name = "file" if upload else "pasted"
        try:
            if upload and upload.size > reading.MOST_BYTES:
                raise UnreadableFile(reading.TOO_LARGE)
            self.sheet: Sheet = reading.read(upload.read() if upload else pasted.encode())
        except UnreadableFile as error:
            raise ValidationError({name: str(error)}) from error
        return cleaned

    @property
    def file_name(self) -> str:
        upload = self.cleaned_data.get("file")
        return shown_name(upload.name) if upload else "Pasted rows"


def shown_name(name: str) -> str:
    """Return a file's name without folders or unprintable characters."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return "".join(c if c.isprintable() else " " for c in last)[:120].strip() or "Import"


@dataclass(frozen=True)
class Match:
    """One line of the matching page: field, column, value for all rows, and sample values."""

    field: columns.Field
    column: forms.BoundField
    constant: forms.BoundField | None
    preview: list[str]
    unit: str  # guessed by the column's name

    @property
    def is_used(self) -> bool:
        """Return whether the field is needed, or already has a column or a value."""
        constant = self.constant and self.constant.value()
        return bool(self.field.is_needed or self.column.value() or constant or self.column.errors)

    @property
    def is_measure(self) -> bool:
        return self.field.name in units.MEASURES

    @property
    def is_missing(self) -> bool:
        """Return whether the field is needed but has no column, value for all rows or size yet."""
        given = self.column.value() or (self.constant and self.constant.value())
        form = self.column.form
        size = self.is_measure and form[columns.SIZE].value()
        of_one_cell = ((units.SIZES, units.DIMENSIONS), (columns.PLACE, columns.ADDRESS))
        size = size or any(
            self.field.name in names and form[f"column_{one}"].value() for names, one in of_one_cell
        )
        return self.field.is_needed and not given and not size


def named_columns(header: list[str]) -> list[tuple[str, str]]:
    """Return each column's position and name; duplicate names get their position added."""
    times = Counter(map(normalise_name, header))
    return [
        (str(place), f"{name} (column {place + 1})" if times[normalise_name(name)] > 1 else name)
        for place, name in enumerate(header)
    ]


def _without_unit(field: columns.Field) -> columns.Field:
    """Return the field without the parcel form's unit in its name: the file's unit may differ."""
    return replace(field, label=field.name.title()) if field.name in units.MEASURES else field


class MatchForm(forms.Form):
    """Asks for a column for each of our fields, or one value for all rows."""

    def __init__(self, *args: Any, file: Import, address: PickupAddress, **options: Any) -> None:
        self.file = file
        self.wanted = [
            *map(_without_unit, columns.fields(file.sender, address)),
            *columns.FILE_ONLY,
        ]
        super().__init__(*args, **options)
        places = [(NO_COLUMN, "No column"), *named_columns(file.header)]
        for field in self.wanted:
            self.fields[f"column_{field.name}"] = forms.ChoiceField(
                label=field.label,
                choices=places,
                required=False,
                error_messages={"invalid_choice": "Choose one of the file's columns."},
            )
            if field.name not in ONLY_COLUMNS:
                self.fields[f"all_{field.name}"] = forms.CharField(
                    label=f"{field.label}, the same for all rows",
                    max_length=255,
                    required=False,
                    widget=forms.TextInput(attrs={"placeholder": "For every row"}),
                )
        for kind, table in units.TABLES.items():
            self.fields[kind] = forms.ChoiceField(
                label=CHOICES_OF_UNIT[kind],
                choices=[(unit, unit) for unit in table],
                initial=units.of_account(file.sender.country)[kind],
            )
        self._offer_sizes(file.sender)

    def _offer_sizes(self, sender: Sender) -> None:
        self.sizes = {str(size.uuid): size for size in sender.sizes.order_by("position", "pk")}
        named = [(key, size.name) for key, size in self.sizes.items()]
        self.fields[columns.SIZE] = forms.ChoiceField(
            label="Size for rows without measures",
            choices=[("", "None: the file has them"), *named],
            required=False,
        )

    def clean(self) -> Cleaned:
        cleaned = super().clean() or self.cleaned_data
        size = self.sizes.get(cleaned.get(columns.SIZE, ""))
        of_size = {*units.MEASURES, "description" if size.description else ""} if size else set()
        of_size |= set(units.SIZES) if cleaned.get(f"column_{units.DIMENSIONS}") else set()
        of_size |= set(columns.PLACE) if cleaned.get(f"column_{columns.ADDRESS}") else set()
        for field in self.wanted:
            given = cleaned.get(f"column_{field.name}") or cleaned.get(f"all_{field.name}")
            if field.is_needed and not given and field.name not in of_size:
                text = f"Choose the column for “{field.label}”, or write what all rows have."
                self.add_error(f"column_{field.name}", text)
        self._refuse_other_units(cleaned)
        return cleaned

    def _refuse_other_units(self, cleaned: Cleaned) -> None:
        """Reject units that contradict a column's name: one or the other must be wrong."""
        for kind in units.TABLES:
            stated = units.of_columns(self.file.header, self.columns, kind)
            if stated and cleaned.get(kind) and cleaned[kind] not in stated.values():
                name, unit = next(iter(stated.items()))
                text = (
                    f"“{name}” says {unit}. Choose {unit}, or rename that column in your file and"
                    " upload it again."
                )
                self.add_error(kind, text)

    @property
    def columns(self) -> dict[str, int]:
        chosen = {
            field.name: self.cleaned_data.get(f"column_{field.name}") for field in self.wanted
        }
        return {name: int(place) for name, place in chosen.items() if place}

    @property
    def constants(self) -> dict[str, str]:
        names = {f"all_{field.name}": field.name for field in self.wanted}
        names |= {name: name for name in (*units.TABLES, columns.SIZE)}
        chosen = {name: self.cleaned_data.get(control, "") for control, name in names.items()}
        return {name: text for name, text in chosen.items() if text} | {
            name: decided for name, decided in self.file.constants.items() if name not in chosen
        }

    def matches(self) -> Iterator[Match]:
        """Yield our fields with their chosen or guessed column, and its first three values."""
        firsts = [row.cells for row in self.file.rows.all()[:3]]
        for field in self.wanted:
            column = self[f"column_{field.name}"]
            place = str(column.value() or "")
            at = int(place[:9]) if place.isdecimal() else -1
            table = units.TABLES.get(units.KINDS.get(field.name, ""))
            preview = [cells[at] for cells in firsts if 0 <= at < len(cells)]
            constant = self[f"all_{field.name}"] if f"all_{field.name}" in self.fields else None
            unit = units.unit_in_text(self.file.header[at], table) if table and preview else ""
            yield Match(field, column, constant, preview, unit)


def guesses(file: Import, wanted: list[columns.Field]) -> dict[str, Any]:
    """Return the matching page's initial values: confirmed for this header, or guessed."""
    known = columns.remembered(file.sender, file.fingerprint)
    matched = (
        known.columns
        if known
        else guess_columns(file.header, [*wanted, *columns.FILE_ONLY], file.filled)
    )
    constants = {
        kind: next(iter(units.of_columns(file.header, matched, kind).values()), own)
        for kind, own in units.of_account(file.sender.country).items()
    } | (known.constants if known else {})
    if not known:
        constants |= _suggested(file, matched)
    named = {f"all_{name}": text for name, text in constants.items()}
    return named | constants | {f"column_{name}": str(place) for name, place in matched.items()}


def _suggested(file: Import, matched: dict[str, int]) -> dict[str, str]:
    """Suggest values for fields that the file lacks. They are shown before anything is booked."""
    sizes, address, found = list(file.sender.sizes.all()[:2]), file.sender.pickup_address(), {}
    size = file.sender.default_size or (sizes[0] if len(sizes) == 1 else None)
    if (
        size
        and not {*matched, *(units.SIZES if units.DIMENSIONS in matched else ())}
        >= units.MEASURES.keys()
    ):
        found[columns.SIZE] = str(size.uuid)
    if address and shops.find_shop(file.header) and "receiver_email" not in matched:
        # Etsy doesn't reveal the buyer's email, so the carrier writes to the shop
        found["receiver_email"] = address.email
    return found


class RateForm(forms.Form):
    """Asks for an exchange rate from another currency into ours."""

    code = forms.CharField(max_length=20, widget=forms.HiddenInput)
    rate = PlainDecimalField(label="Rate", example="1.52", whole=6, places=6)

    def clean_rate(self) -> str:
        rate = self.cleaned_data["rate"]
        if not rate:
            raise ValidationError("Enter a rate above 0, like 1.52.")
        return f"{rate.normalize():f}"


class BookAllForm(forms.Form):
    """Asks for the rule that chooses each row's service, any chosen carrier, and the pickup day."""

    rule = forms.ChoiceField(
        choices=Sender.ServiceRule.choices,
        error_messages={
            "required": "Choose how the services are chosen.",
            "invalid_choice": "Choose one of the rules.",
        },
    )
    carrier = forms.TypedChoiceField(
        choices=choosing.carrier_choices,
        coerce=int,
        empty_value=None,
        required=False,
        error_messages={"invalid_choice": "Choose one of the carriers."},
    )
    pickup_date = DayField(required=False)
    # as many rows as the page showed
    rows = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    # priced up to this quote
    newest = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    # “same as last time”
    last = forms.CharField(max_length=100, required=False, widget=forms.HiddenInput)
    # see outliers.doubts_token
    doubts = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    # see chosen_service.services_token
    services = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
