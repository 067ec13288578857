"""Correct rows: their rejected fields, possible places, and rows with the same problem."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from orders.drafting.forms import ParcelForm
from orders.drafting.receiver_form import LINES, street_of
from shipping_portal.accounts.address.addresses import REPEATS
from shipping_portal.accounts.models import ParcelSize, PickupAddress
from shipping_portal.importing import checking, currencies, unread
from shipping_portal.importing.cells import read_lines
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.read_row import chosen_size
from shipping_portal.importing.row_values import values
from shipping_portal.jobs.registry import enqueue

State = ImportRow.State
SHOWN = 25  # rows of the grid at a time
PLACE = ("receiver_suburb", "receiver_state", "receiver_postcode")

Trouble = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FixCell:
    """One rejected value: its control, and its problem."""

    control: forms.BoundField
    messages: list[str]

    @property
    def is_filled(self) -> bool:
        """Return whether the control is required, or holds a choice."""
        return bool(self.control.field.required or self.control.form.initial.get(self.control.name))

    @property
    def may_be_street(self) -> bool:
        """Return whether this address line was rejected because it ends like its place."""
        return self.control.name in LINES and any(
            text.startswith(REPEATS.partition("{")[0]) for text in self.messages
        )

    @property
    def messages_id(self) -> str:
        return f"{self.control.id_for_label}_error"


@dataclass(frozen=True)
class Fix:
    """One row of the grid. `alike` counts other rows with the same problem."""

    row: ImportRow
    cells: list[FixCell]
    who: str
    messages: list[str]
    alike: int

    @property
    def is_unread(self) -> bool:
        """Return whether the row waits because no field reads a column."""
        return any(name.startswith(unread.KEY) for name in self.row.problems)


def to_fix(file: Import) -> list[ImportRow]:
    """Return the rows to fix, with those joined to each."""
    return list(file.rows.filter(state=State.FIX).prefetch_related("lines"))


def typed_in(file: Import, rows: Iterable[ImportRow]) -> dict[int, dict[str, Any]]:
    """Return each row's values, by its key."""
    size = chosen_size(file)
    return {row.pk: values(row, file, size) for row in rows}


def grid(
    file: Import,
    address: PickupAddress,
    rows: Sequence[ImportRow],
    typed: Mapping[int, dict[str, Any]],
) -> list[Fix]:
    """Return the first rows to fix, in a fixed number of queries."""
    same = Counter(alike_problem(row, typed[row.pk]) for row in rows)
    return [
        _fix(row, typed[row.pk], file, address, same[alike_problem(row, typed[row.pk])] - 1)
        for row in rows[:SHOWN]
    ]


def alike_problem(row: ImportRow, typed: Mapping[str, str]) -> Trouble:
    """Return what rows with the same problem share: the fields, and their typed values."""
    return tuple(sorted((name, typed.get(name, "")) for name in row.problems if name))


def save(
    file: Import, row: ImportRow, corrected: Mapping[str, str], *, alike: bool, now: dt.datetime
) -> int:
    """Schedule a check of the row with these values; return how many rows are checked.

    If asked, every row with the same problem is checked too.
    """
    about = {*row.problems, *PLACE, *map(street_of, LINES)}
    rows, shared = [row], {name: text for name, text in corrected.items() if name in about}
    if alike and row.problems:
        size = chosen_size(file)
        wanted = alike_problem(row, values(row, file, size))
        others = file.rows.filter(state=State.FIX).exclude(pk=row.pk).prefetch_related("lines")
        rows += [
            one
            for one in others
            if wanted and alike_problem(one, values(one, file, size)) == wanted
        ]
    saved = [
        one
        for one in rows
        if checking.schedule_check(one, dict(corrected if one is row else shared), now)
    ]
    if len(saved) > 1:
        enqueue("check-row", *(one.pk for one in saved[: checking.ENQUEUED_AT_ONCE]))
    return len(saved)


def save_changed(
    file: Import, address: PickupAddress, posted: Mapping[str, str], now: dt.datetime
) -> int:
    """Schedule a check of every row with a changed field on the page; return how many.

    Untouched rows stay as they are: saving one would mean that it was seen.
    """
    rows, size = to_fix(file), chosen_size(file)
    shown = [row for row in rows if any(name.startswith(prefix_of(row)) for name in posted)]
    due = []
    for row in shown:
        form = form_of(row, file, address, size)
        corrected = corrections(
            row, form, {name: text for name, text in posted.items() if name.startswith("row-")}
        )
        is_changed = any(
            text != str(form.initial.get(name, "")) for name, text in corrected.items()
        )
        if is_changed and checking.schedule_check(row, corrected, now):
            due.append(row.pk)
    enqueue("check-row", *due[: checking.ENQUEUED_AT_ONCE])
    return len(due)


def corrections(row: ImportRow, form: ParcelForm, posted: Mapping[str, str]) -> dict[str, str]:
    """Return the changes: values of the form's fields that differ from the row's."""
    posted = {name.removeprefix(prefix_of(row)): text for name, text in posted.items()}
    place = [_tidy(part) for part in posted.get("place", "").split("|")]
    chosen = dict(zip(PLACE, place, strict=True)) if len(place) == len(PLACE) else {}
    typed = {name: _tidy(posted[name]) for name in form.fields if name in posted} | chosen
    if (name := posted.get("is_street", "")) in LINES:
        typed[street_of(name)] = typed.get(name) or str(form.initial.get(name, ""))
    return {
        name: text
        for name, text in typed.items()
        if text != form.initial.get(name, "") or name in row.problems
    }


def prefix_of(row: ImportRow) -> str:
    """Return the prefix of this row's control names among other rows."""
    return f"row-{row.pk}-"


def form_of(
    row: ImportRow,
    file: Import,
    address: PickupAddress,
    size: ParcelSize | None = None,
    *,
    among_others: bool = False,
) -> ParcelForm:
    """Return the parcel form for this row, not yet validated; its controls show the problems."""
    apart: dict[str, Any] = (
        {"prefix": prefix_of(row)[:-1], "auto_id": "%s"}
        if among_others
        else {"auto_id": f"{prefix_of(row)}%s"}
    )
    typed = {name: currencies.bare_amount(text) for name, text in values(row, file, size).items()}
    form = ParcelForm(initial=typed, sender=file.sender, address=address, **apart)
    for name, shown_at in _first_shown(row, form).items():
        described = {"aria-invalid": "true", "aria-describedby": f"row-{row.pk}-{shown_at}_error"}
        form.fields[name].widget.attrs |= described
    return form


def _first_shown(row: ImportRow, form: ParcelForm) -> dict[str, str]:
    """Return each field with a problem, and the first field with the same messages, shown once."""
    first: dict[str, str] = {}
    return {
        name: first.setdefault("".join(row.problems[name]), name)
        for name in form.fields
        if name in row.problems
    }


def cells(row: ImportRow, form: ParcelForm, names: Iterable[str]) -> list[FixCell]:
    """Return these controls, each with its new problems."""
    first = _first_shown(row, form)
    shown = [form[name] for name in names if not form[name].is_hidden]
    return [
        FixCell(one, row.problems[one.name] if first.get(one.name) == one.name else [])
        for one in shown
    ]


def without_constants(row: ImportRow, file: Import) -> dict[str, str]:
    """Return the row's own values, by our field."""
    return read_lines(row, file)[0] | row.corrected


def _fix(
    row: ImportRow, typed: dict[str, str], file: Import, address: PickupAddress, alike: int
) -> Fix:
    form = form_of(row, file, address, among_others=True)
    wrong = cells(row, form, [name for name in form.fields if name in row.problems])
    loose = [
        text for name, texts in row.problems.items() if name not in form.fields for text in texts
    ]
    return Fix(row, wrong, typed.get("receiver_name", ""), loose, alike)


def _tidy(text: str) -> str:
    """Return the text as typed, without characters that databases can't store.

    The form rejects its replacement.
    """
    return text.strip().replace("\x00", "\ufffd")[:2000]
