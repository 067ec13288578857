"""Files in the shapes that shops and spreadsheets really write: each row is ready, left out for a reason, or waits."""

from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, columns, reading, uploads
from shipping_portal.importing.forms import MatchForm, guesses
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.field.cases import CASES
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

FILES = Path(__file__).parent / "files"
State = ImportRow.State
SIDES = {"length": Decimal(12), "width": Decimal(9), "height": Decimal(4)}


@pytest.fixture
def accounts(quill: Sender, alice: User, localities: None, carrier: SandboxCarrier) -> dict[str, tuple[Sender, User]]:
    """A sender of each country, with a size for the files that have no measures."""
    ohio, uma = factories.sender(name="Ohio Parts", country="US"), factories.user("uma@parts.example")
    factories.member(ohio, uma)
    factories.pickup_address(ohio, email=uma.email)
    found = {"AU": (quill, alice), "US": (ohio, uma)}
    for country, (sender, _) in found.items():
        pounds = {"weight_units": "lb", "dimension_units": "in"} if country == "US" else {}
        sender.default_size = factories.size(sender, description="Mugs", **SIDES, **pounds)
        sender.save()
    return found


def taken(name: str, sender: Sender, by: User) -> Import:
    """The file as an upload and “Check all rows” take it: every guess is believed, and nothing is typed."""
    sheet, now = reading.read((FILES / name).read_bytes()), timezone.now()
    file = uploads.take(sheet, name=name, sender=sender, by=by, now=now)
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
            checking.work(row.pk)
    return file


def columns_of(initial: dict[str, str]) -> list[tuple[str, int]]:
    """The columns guessed, where the page would still ask for others."""
    return [(name.removeprefix("column_"), int(at)) for name, at in initial.items() if name.startswith("column_")]


def verdict(row: ImportRow, expected: str) -> str:
    """What became of a row, in the words of the table; of all it waits for, what the table names."""
    if row.state in ImportRow.READY:
        return "ready"
    if row.state == State.SKIPPED:
        return f"left out: {' '.join(text for texts in row.problems.values() for text in texts)}"
    names = {name.removeprefix("unread:") for name in row.problems}
    named = [row.file.header[int(name)] if name.isdecimal() else name for name in names]
    waited = expected.removeprefix("waits: ")
    return f"waits: {waited if waited in named else sorted(row.problems.items())}"


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_ready_left_out_for_a_reason_or_waits(name: str, accounts: dict[str, tuple[Sender, User]]) -> None:
    case = CASES[name]
    file = taken(name, *accounts[case.account])
    rows = [row for row in file.rows.select_related("file") if row.state != State.JOINED]
    numbers = [columns.cell(row, file, "customer_reference") for row in rows]
    found = {number: verdict(row, case.rows[number]) for number, row in zip(numbers, rows, strict=True)}
    assert found == case.rows


def test_the_table_names_every_file() -> None:
    assert {path.name for path in FILES.iterdir()} == set(CASES)
