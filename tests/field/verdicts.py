"""How a file in the collection was read."""

from decimal import Decimal
from pathlib import Path

from django.utils import timezone

from orders.drafting.parcel_details import measures_from, odd_weight
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, columns, reading, uploads
from shipping_portal.importing.forms import MatchForm, guesses
from shipping_portal.importing.models import Import, ImportRow

FILES = Path(__file__).parent / "files"
State = ImportRow.State
SIDES = {"length": Decimal(12), "width": Decimal(9), "height": Decimal(4)}


def taken(name: str, sender: Sender, by: User) -> Import:
    """Upload a file and press “Check all rows”, accepting every guess and typing nothing."""
    sheet, now = reading.read((FILES / name).read_bytes()), timezone.now()
    file = uploads.store_upload(sheet, name=name, sender=sender, by=by, now=now)
    if file.state == Import.State.MATCHING:
        address = sender.pickup_address()
        assert address is not None
        initial = guesses(file, columns.fields(sender, address))
        form = MatchForm(initial, file=file, address=address)
        matched = form.columns if form.is_valid() else dict(columns_of(initial))
        checking.begin(file, matched, form.constants if form.is_valid() else {}, now)
        file.refresh_from_db()
    for _ in range(5):  # a carrier that is slow to answer is asked again
        for row in file.rows.filter(state=State.NEW):
            checking.check_row(row.pk)
    return file


def columns_of(initial: dict[str, str]) -> list[tuple[str, int]]:
    """Return the guessed columns if the page would still ask for others."""
    return [(name.removeprefix("column_"), int(at)) for name, at in initial.items() if name.startswith("column_")]


def label(row: ImportRow) -> str:
    """Return what a ready row's parcel is: its receiver, its address, and what the carrier gets."""
    assert row.quote is not None
    details = row.quote.details
    to, measures = details["receiver"], details["measures"]
    sides = [f"{Decimal(measures[side]).normalize():f}" for side in ("weight", *SIDES)]
    size = f"{sides[0]} {measures['weight_units']} {' x '.join(sides[1:])} {measures['dimension_units']}"
    items = [
        f"{item['quantity']} {item['description']} at {item['value']} from {item['origin']}"
        for item in details["contents"]
    ]
    parts = [
        to["name"],
        to["company"],
        to["line1"],
        to["line2"],
        " ".join(filter(None, (to["suburb"], to["state"], to["postcode"], to["country"]))),
        to["email"],
        f"tel {''.join(filter(str.isdigit, to['phone']))[-8:]}" if to["phone"] else "",
        f"note {to['instructions']}" if to["instructions"] else "",
        "" if sides == ["1.2", "12", "9", "4"] else size,
        *items,
    ]
    return "; ".join(filter(None, parts))


def verdict(row: ImportRow, expected: str) -> str:
    """Return a row's outcome in the words of the table. If it waits, only fields in the table are named."""
    if row.state in ImportRow.READY:
        assert row.quote is not None
        is_asked = odd_weight(measures_from(row.quote.details["measures"]))  # before it is booked
        found = f"{'asked' if is_asked else 'ready'}: {label(row)}"
        return expected if expected in ("ready", found) or found.casefold() == expected.casefold() else found
    if row.state == State.SKIPPED:
        return f"left out: {' '.join(text for texts in row.problems.values() for text in texts)}"
    names = {name.removeprefix("unread:") for name in row.problems}
    named = [row.file.header[int(name)] if name.isdecimal() else name for name in names]
    waits, waited = expected.rpartition(": ")[::2]
    return f"{waits or 'waits'}: {waited if waited in named else sorted(row.problems.items())}"
