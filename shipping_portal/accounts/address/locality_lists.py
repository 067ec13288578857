"""Import the carrier's published pairs from CSV: check all, preview, then switch in one step."""

import csv
import datetime as dt
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from shipping_portal.accounts.address import places, receivers
from shipping_portal.accounts.address.countries import STATES, state_code
from shipping_portal.accounts.address.places import normalise_name, postal_code
from shipping_portal.accounts.models import Audit, Locality, LocalityList, PickupAddress
from shipping_portal.refused import Refused

COLUMNS = ("country", "suburb", "state", "postcode")
LONGEST = {"suburb": 80, "state": 40, "postcode": 12}
BATCH = 2000
Place = tuple[str, str, str]  # suburb, state, postcode, as published
Places = dict[Place, Place]  # keyed by the same three, with a normalised suburb


class UnreadableList(Exception):
    """Raised with the line and the reason when a file can't be imported. Nothing has changed."""


@dataclass(frozen=True)
class Imported:
    """How a country's new list differs from the replaced one, counted in pairs.

    `off_list` counts receivers in address books whose pair the new list lacks.
    """

    country: str
    rows: int
    added: int
    removed: int
    is_same: bool = False
    off_list: int = 0


def import_list(
    content: bytes, *, source: str, by: Any, at: dt.datetime, reason: str = ""
) -> list[Imported]:
    """Replace the active list of every country in the file.

    Raises UnreadableList, changing nothing.

    Identical pairs are left alone, so importing twice does no harm.
    """
    countries = _read_places(content)
    with transaction.atomic():
        return [
            _activate_list(country, countries[country], source=source, by=by, at=at, reason=reason)
            for country in sorted(countries)
        ]


def _activate_list(
    country: str, places: Places, *, source: str, by: Any, at: dt.datetime, reason: str
) -> Imported:
    digest = hashlib.sha256(repr(sorted(places.values())).encode()).hexdigest()
    before = LocalityList.objects.filter(country=country, is_active=True).first()
    if before and before.sha256 == digest:
        return Imported(country, len(places), 0, 0, is_same=True)
    old = set(before.localities.values_list("normalised", "state", "postcode")) if before else set()
    made = LocalityList.objects.create(
        country=country, source=source[:200], sha256=digest, rows=len(places), loaded_at=at
    )
    Locality.objects.bulk_create(_locality_rows(made, places), batch_size=BATCH)
    LocalityList.objects.filter(country=country, is_active=True).update(is_active=False)
    LocalityList.objects.filter(pk=made.pk).update(is_active=True)
    counts = Imported(
        country,
        len(places),
        len(places.keys() - old),
        len(old - places.keys()),
        off_list=receivers.mark_off_list(country),
    )
    summary = f"{source}: {counts.rows} pairs, {counts.added} added, {counts.removed} removed"
    reason = f"{summary}: {reason}" if reason else summary
    Audit.write("locality list imported", made, by=by, at=at, reason=reason)
    return counts


def _locality_rows(made: LocalityList, places: Places) -> Iterator[Locality]:
    for (normalised, _, _), (suburb, state, postcode) in places.items():
        yield Locality(
            list=made,
            country=made.country,
            suburb=suburb,
            state=state,
            postcode=postcode,
            normalised=normalised,
        )


def _read_places(content: bytes) -> dict[str, Places]:
    """Return pairs by country, each once, in the file's order."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UnreadableList(
            f"The file is not UTF-8 (byte {problem.start}). Save it as UTF-8 CSV."
        ) from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    countries: dict[str, Places] = {}
    try:
        _check_columns(reader.fieldnames or [])
        for row in reader:
            country, normalised, place = _read_place(row, reader.line_num)
            countries.setdefault(country, {}).setdefault((normalised, *place[1:]), place)
    except csv.Error as problem:
        raise UnreadableList(f"Line {reader.reader.line_num}: {problem}.") from None
    if not countries:
        raise UnreadableList("The file holds no pairs.")
    return countries


def _check_columns(names: Sequence[str]) -> None:
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise UnreadableList(
            f"The first line must name the columns {', '.join(COLUMNS)}; missing: {missing[0]}."
        )


def _read_place(row: dict[str, Any], line: int) -> tuple[str, str, Place]:
    """Return the country, the suburb's normalised name and the place."""
    cells = {column: " ".join((row[column] or "").split()) for column in COLUMNS}
    country = cells["country"].upper()
    if country not in STATES:
        raise UnreadableList(f"Line {line}: country “{country}” is none of {', '.join(STATES)}.")
    if None in row:
        raise UnreadableList(f"Line {line}: more cells than columns.")
    for column, longest in LONGEST.items():
        if not cells[column] or len(cells[column]) > longest:
            raise UnreadableList(f"Line {line}: {column} must have 1 to {longest} characters.")
    place = (
        cells["suburb"],
        state_code(country, cells["state"]),
        postal_code(country, cells["postcode"]),
    )
    normalised = normalise_name(place[0])
    if not normalised:
        raise UnreadableList(f"Line {line}: the suburb has no letter.")
    return country, normalised, place


MUCH = 0.05  # a list that loses this much in one import suggests a truncated file


@dataclass(frozen=True)
class ListPreview:
    """What a country's new list would change. `stranded` counts pickup addresses not on it."""

    change: Imported
    stranded: list[PickupAddress]

    @property
    def removes_much(self) -> bool:
        before = self.change.rows - self.change.added + self.change.removed
        return self.change.removed > before * MUCH


@transaction.atomic
def preview_import(content: bytes, *, source: str, by: Any, at: dt.datetime) -> list[ListPreview]:
    """Import and roll back, so that the preview can't differ. Raises UnreadableList."""
    changes = import_list(content, source=source, by=by, at=at)
    previews = [ListPreview(change, _stranded_addresses(change.country)) for change in changes]
    transaction.set_rollback(True)
    return previews


@transaction.atomic
def reactivate_list(chosen: LocalityList, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Make an earlier list active again. Raises Refused."""
    active = LocalityList.objects.select_for_update().filter(country=chosen.country, is_active=True)
    if active.filter(pk=chosen.pk).exists():
        raise Refused("This list is in use already.")
    active.update(is_active=False)
    LocalityList.objects.filter(pk=chosen.pk).update(is_active=True)
    receivers.mark_off_list(chosen.country)
    Audit.write("locality list used again", chosen, by=by, reason=reason, at=now)


def _stranded_addresses(country: str) -> list[PickupAddress]:
    addresses = (
        PickupAddress.objects.filter(country=country).select_related("sender").order_by("pk")
    )
    return [address for address in addresses if not _is_listed(address)]


def _is_listed(address: PickupAddress) -> bool:
    pair = places.check_pair(address.country, address.suburb, address.postcode, address.state)
    return pair.place is not None
