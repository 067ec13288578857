"""Apply one answer to all rows that wait for it: a column, email, rate, price or correction."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from orders.drafting.contents_form import ROWS
from shipping_portal.accounts.address.addresses import LINE_ADVISED, same_name, without_place
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.importing import (
    checking,
    columns,
    currencies,
    headings,
    row_form,
    row_values,
    unread,
)
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.jobs.registry import enqueue

State = ImportRow.State
EMAIL = "receiver_email"
SHOWN = 5  # example rows shown for a correction, before and after
LABELS = {
    "company": "Clear the company where it repeats the name or isn't a word",
    "line": "Remove the suburb, state or postcode from the street",
    "postcode": "Restore the postcode's leading zero",
    "street": "Put the street first",
}


@dataclass(frozen=True)
class Correction:
    """One rule's corrections. `examples` has rows with their text before and after."""

    kind: str
    rows: dict[int, dict[str, str]] = field(default_factory=dict)  # values by row key
    examples: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def label(self) -> str:
        return LABELS[self.kind]

    @property
    def more(self) -> int:
        return len(self.rows) - len(self.examples)


@dataclass(frozen=True)
class Asked:
    """The questions about a file that one answer resolves, each with its number of rows."""

    currencies: dict[str, int]
    without_email: int
    corrections: list[Correction]
    unsure_prices: int  # prices for one piece, or for a whole line


def find_questions(rows: Iterable[ImportRow], typed: Mapping[int, Mapping[str, str]]) -> Asked:
    """Return the questions about these rows to fix; `typed` has each row's values, by key."""
    found: dict[str, Correction] = {}
    money: dict[str, int] = {}
    blank = unsure = 0
    for row in rows:
        values = typed[row.pk]
        unsure += _is_unsure(row, values)
        blank += EMAIL in row.problems and not values.get(EMAIL)
        for code in sorted(_currencies(row, values)):
            money[code] = money.get(code, 0) + 1
        for kind, right in _corrections(row, values).items():
            one = found.setdefault(kind, Correction(kind))
            one.rows[row.pk] = right
            if len(one.examples) < SHOWN:
                one.examples.append(
                    (row.number, _join_values(values, right), _join_values(right, right))
                )
    return Asked(money, blank, [found[kind] for kind in LABELS if kind in found], unsure)


def correct(file: Import, kind: str, now: dt.datetime) -> int:
    """Correct every row of one kind and check it again; return how many."""
    rows = row_form.to_fix(file)
    found = find_questions(rows, row_form.typed_in(file, rows)).corrections
    right = next((one.rows for one in found if one.kind == kind), {})
    return _check([(row, right[row.pk]) for row in rows if row.pk in right], now)


def use_own_email(file: Import, address: PickupAddress, now: dt.datetime) -> int:
    """Use the sender's own email for rows without one; return how many."""
    _decide(file, {EMAIL: address.email})
    rows = [row for row in row_form.to_fix(file) if EMAIL in row.problems]
    return _check(
        [(row, {}) for row in rows if not row_form.without_constants(row, file).get(EMAIL)], now
    )


def use_rate(file: Import, code: str, rate: str, now: dt.datetime) -> int:
    """Convert this currency's values at a rate, in this file only; return how many rows."""
    rows = [
        row
        for row in row_form.to_fix(file)
        if code in _currencies(row, row_values.values(row, file))
    ]
    _decide(file, {columns.RATES: {**file.constants.get(columns.RATES, {}), code: rate}})
    return _check([(row, {}) for row in rows], now)


def use_prices(file: Import, of_what: str, now: dt.datetime) -> int:
    """Read ambiguous prices as per piece or per line, also in the next file with this header."""
    if of_what not in (columns.OF_PIECE, columns.OF_LINE):
        return 0
    rows = [row for row in row_form.to_fix(file) if _is_unsure(row, row_values.values(row, file))]
    _decide(file, {columns.PRICES: of_what})
    return _check([(row, {}) for row in rows], now)


def ignore_columns(file: Import, places: Iterable[int], now: dt.datetime) -> int:
    """Ignore columns, also in the next file with this header.

    Return how many rows are rechecked.
    """
    places = set(places)
    names = {headings.plain(file.header[place]) for place in places}
    _decide(file, {columns.NO_MATTER: sorted({*file.constants.get(columns.NO_MATTER, ()), *names})})
    keys = {f"{unread.KEY}{place}" for place in places}
    return _check([(row, {}) for row in row_form.to_fix(file) if keys & row.problems.keys()], now)


@transaction.atomic
def _decide(file: Import, decided: Mapping[str, Any]) -> None:
    """Store the answer with the file and, except for rates, for the next one with this header."""
    locked = Import.objects.select_for_update(of=("self",)).get(pk=file.pk)
    file.constants = locked.constants | dict(decided)
    Import.objects.filter(pk=file.pk).update(constants=file.constants)
    mapping = ColumnMapping.objects.filter(sender=file.sender, fingerprint=file.fingerprint)
    mapping.update(constants=columns.lasting_constants(file.constants))


def _check(rows: list[tuple[ImportRow, dict[str, str]]], now: dt.datetime) -> int:
    due = [row for row, right in rows if checking.schedule_check(row, right, now)]
    enqueue("check-row", *(row.pk for row in due[: checking.ENQUEUED_AT_ONCE]))
    return len(due)


def _currencies(row: ImportRow, values: Mapping[str, str]) -> set[str]:
    """Return the foreign currencies of the amounts that keep the row waiting."""
    names = [f"item_{number}_value" for number in range(1, ROWS + 1)] + ["cover_amount"]
    return {
        code
        for name in names
        if name in row.problems and (code := currencies.read(values.get(name, ""))[1])
    }


def _is_unsure(row: ImportRow, values: Mapping[str, str]) -> bool:
    names = [name for name in row.problems if name.endswith("_value")]
    return any(currencies.UNSURE.fullmatch(values.get(name, "")) for name in names)


def _corrections(row: ImportRow, values: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return this row's certain corrections, by rule."""
    found: dict[str, dict[str, str]] = {}
    company = values.get("receiver_company", "")
    is_a_word = any(map(str.isalnum, company))
    if "receiver_company" in row.problems and (
        same_name(values["receiver_name"], company) or not is_a_word
    ):
        found["company"] = {"receiver_company": ""}
    if lines := _without_place(row, values):
        found["line"] = lines
    postcode = values.get("receiver_postcode", "")
    if (
        row.near
        and row.near[0][2] != postcode
        and row.near[0][2] == postcode.zfill(len(row.near[0][2]))
    ):
        found["postcode"] = dict(zip(row_form.PLACE, row.near[0], strict=True))
    third = row.cell_of(columns.LINE3).strip()
    first = [row.cell_of(f"receiver_line{number}").strip() for number in (1, 2)]
    if (
        third
        and "receiver_line1" in row.problems
        and len(rest := ", ".join(filter(None, first))) <= LINE_ADVISED
    ):
        found["street"] = {"receiver_line1": third, "receiver_line2": rest}
    return found


def _without_place(row: ImportRow, values: Mapping[str, str]) -> dict[str, str]:
    """Return the address lines without the place at the end, unless that leaves no street."""
    place = {
        part: values.get(f"receiver_{part}", "")
        for part in ("suburb", "postcode", "state", "country")
    }
    typed = {
        name: values.get(name, "")
        for name in ("receiver_line1", "receiver_line2")
        if name in row.problems
    }
    right = {
        name: text for name, line in typed.items() if (text := without_place(line, **place)) != line
    }
    return {} if right.get("receiver_line1", "street") == "" else right


def _join_values(values: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(filter(None, (values.get(name, "") for name in names))) or "blank"
