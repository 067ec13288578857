"""Show rejected fields of rows with possible places, and save corrections, also for rows alike."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Q

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
SHOWN = 25  # rows in the grid at a time
KEY = re.compile(r"row-([0-9]{1,18})-", re.ASCII)
CHANGED = "Changed to “{}” since you opened the page. Save it to replace that with “{}”."
PLACE = ("receiver_suburb", "receiver_state", "receiver_postcode")

Trouble = tuple[tuple[str, str], ...]
Unsaved = dict[int, dict[str, str]]  # what was typed over somebody else's change, by row and field


@dataclass(frozen=True)
class FixCell:
    """One rejected value: its control and its problem."""

    control: forms.BoundField
    messages: list[str]

    @property
    def stored(self) -> str:
        """Return the row's value, which the page posts back along with what is typed."""
        return str(self.control.form.initial.get(self.control.name, ""))

    @property
    def is_filled(self) -> bool:
        """Return whether the control is required or has a choice."""
        return bool(self.control.field.required or self.stored)

    @property
    def may_be_street(self) -> bool:
        """Return whether this address line was rejected because it ends with its place."""
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


def to_fix(file: Import, unsaved: Iterable[int] = ()) -> list[ImportRow]:
    """Return the `unsaved` rows and then those to fix, with those joined to each."""
    found = file.rows.filter(Q(state=State.FIX) | Q(pk__in=unsaved)).prefetch_related("lines")
    return sorted(found, key=lambda row: row.pk not in unsaved)


def typed_in(file: Import, rows: Iterable[ImportRow]) -> dict[int, dict[str, Any]]:
    """Return each row's values, by its key."""
    size = chosen_size(file)
    return {row.pk: values(row, file, size) for row in rows}


def grid(
    file: Import,
    address: PickupAddress,
    rows: Sequence[ImportRow],
    typed: Mapping[int, dict[str, Any]],
    unsaved: Unsaved,
) -> list[Fix]:
    """Return the first rows to fix, in a fixed number of queries."""
    same = Counter(alike_problem(row, typed[row.pk]) for row in rows)
    return [
        _fix(row, typed[row.pk], file, address, same, unsaved.get(row.pk, {}))
        for row in rows[:SHOWN]
    ]


def alike_problem(row: ImportRow, typed: Mapping[str, str]) -> Trouble:
    """Return what rows with the same problem share: the fields and their typed values."""
    return tuple(sorted((name, typed.get(name, "")) for name in row.problems if name))


def save(
    file: Import, row: ImportRow, corrected: Mapping[str, str], *, alike: bool, now: dt.datetime
) -> int:
    """Schedule a check of the row with these values; return how many rows will be checked.

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
) -> tuple[int, list[int], Unsaved]:
    """Schedule a check of every row with a changed field on the page.

    Return how many there are, the numbers of rows that can't be changed any more, and what wasn't
    saved. Untouched rows stay as they are, because saving a row means that somebody saw it.
    """
    due, ended, unsaved, size = [], [], {}, chosen_size(file)
    keys = {found[1] for name in posted if (found := KEY.match(name))}
    for row in file.rows.filter(pk__in=map(int, keys)).prefetch_related("lines"):
        if row.state not in (State.NEW, *ImportRow.READY, State.FIX):
            ended.append(row.number)
            continue
        form = form_of(row, file, address, size)
        typed = {name: text for name, text in posted.items() if prefix_of(row) in name}
        corrected, unsaved[row.pk] = corrections(row, form, typed)
        is_changed = any(
            text != str(form.initial.get(name, "")) for name, text in corrected.items()
        )
        if is_changed and checking.schedule_check(row, corrected, now):
            due.append(row.pk)
    enqueue("check-row", *due[: checking.ENQUEUED_AT_ONCE])
    return len(due), ended, {key: typed for key, typed in unsaved.items() if typed}


def corrections(
    row: ImportRow, form: ParcelForm, posted: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the changes to save, and those to fields that somebody else has changed since.

    A page also posts the value that it showed for each field. A field left as shown doesn't undo
    somebody else's change.
    """
    posted = {name.replace(prefix_of(row), "", 1): text for name, text in posted.items()}
    place = [_tidy(part) for part in posted.get("place", "").split("|")]
    chosen = dict(zip(PLACE, place, strict=True)) if len(place) == len(PLACE) else {}
    typed = {name: _tidy(posted[name]) for name in form.fields if name in posted} | chosen
    if (name := posted.get("is_street", "")) in LINES:
        typed[street_of(name)] = typed.get(name) or str(form.initial.get(name, ""))
    now = {name: _tidy(str(form.initial.get(name, ""))) for name in typed}
    seen = {name: _tidy(posted.get(f"initial-{name}", now[name])) for name in typed}
    corrected = {
        name: text
        for name, text in typed.items()
        if seen[name] == now[name] and (text != now[name] or name in row.problems)
    }
    return corrected, {
        name: text for name, text in typed.items() if len({text, now[name], seen[name]}) == 3
    }


def prefix_of(row: ImportRow) -> str:
    """Return this row's prefix for control names, which sets them apart from other rows'."""
    return f"row-{row.pk}-"


def form_of(
    row: ImportRow,
    file: Import,
    address: PickupAddress,
    size: ParcelSize | None = None,
    *,
    among_others: bool = False,
) -> ParcelForm:
    """Return the parcel form for this row, not validated yet. Its controls show the problems."""
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
    """Map each field with a problem to the first with the same messages, which are shown once."""
    first: dict[str, str] = {}
    return {
        name: first.setdefault("".join(row.problems[name]), name)
        for name in form.fields
        if name in row.problems
    }


def cells(row: ImportRow, form: ParcelForm, names: Iterable[str]) -> list[FixCell]:
    """Return these controls with their new problems."""
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
    row: ImportRow,
    typed: dict[str, str],
    file: Import,
    address: PickupAddress,
    same: Counter[Trouble],
    unsaved: dict[str, str],
) -> Fix:
    alike = same[alike_problem(row, typed)] - 1
    for name, text in unsaved.items():
        row.problems[name] = [CHANGED.format(typed.get(name, ""), text)]
    form = form_of(row, file, address, among_others=True)
    for name, text in unsaved.items():
        form[name].initial = text
    wrong = cells(row, form, [name for name in form.fields if name in row.problems])
    loose = [
        text for name, texts in row.problems.items() if name not in form.fields for text in texts
    ]
    return Fix(row, wrong, typed.get("receiver_name", ""), loose, alike)


def _tidy(text: str) -> str:
    """Return the text as typed, without characters that databases can't store.

    The form rejects the character that replaces them.
    """
    return text.strip().replace("\x00", "\ufffd").replace("\r\n", "\n")[:2000]
