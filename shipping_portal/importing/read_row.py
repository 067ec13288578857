"""Hold one parcel of a file, read once: checks use this value and never read cells again."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from orders.drafting.forms import ParcelForm
from shipping_portal.accounts.models import ParcelSize
from shipping_portal.importing import cells, columns, pickup_days, row_values
from shipping_portal.importing.models import Import, ImportRow

Problems = dict[str, list[str]]  # messages by form field, "" for the whole row


@dataclass(frozen=True)
class ReadRow:
    """The content of one parcel's rows, and the parcel form as if that had been typed there.

    `cells` has the first row's cells as typed, by our field. `lines` has each row's values, by our
    field.
    """

    row: ImportRow
    rows: list[ImportRow]
    file: Import
    cells: Mapping[str, str]
    lines: list[dict[str, str]]
    form: ParcelForm
    pickup_day: dt.date | None  # the pickup day that the row asks for
    day_problems: Problems

    def cell(self, name: str) -> str:
        """Return the cell of a field, or "" for none."""
        return self.cells.get(name, "")

    @property
    def corrected(self) -> Mapping[str, str]:
        """The corrections by our field, and the sender's decisions."""
        return self.row.corrected

    @property
    def texts(self) -> dict[str, str]:
        """The values by form field."""
        return {name: str(self.form.data.get(name, "")) for name in self.form.fields}


def read_row(row: ImportRow) -> ReadRow | None:
    """Read a row and those joined to it, or return None if the sender has no pickup address."""
    file = row.file
    address = file.pickup_address
    if address is None:
        return None
    size, lines = chosen_size(file), cells.read_lines(row, file)
    values = row_values.read_values(row, file, size, lines)
    day, day_problems = pickup_days.read_day(row, address)
    typed = {name: row.cell(place).strip() for name, place in file.columns.items()}
    form = ParcelForm(values, sender=file.sender, address=address)
    return ReadRow(row, row.of_parcel, file, typed, lines, form, day, day_problems)


def chosen_size(file: Import) -> ParcelSize | None:
    """Return the saved size chosen for all rows, if it still exists."""
    wanted = file.constants.get(columns.SIZE)
    return file.sender.sizes.filter(uuid=wanted).first() if wanted else None
