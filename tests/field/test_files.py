"""Files in the shapes that shops and spreadsheets really write: each row is ready, left out for a reason, or waits."""

from collections.abc import Collection
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from orders.drafting.parcel_details import measures_from, odd
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, columns, reading, uploads
from shipping_portal.importing.forms import MatchForm, guesses
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.field.cases import CASES, EXPORTS
from tests.field.checking import list_places
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

FILES = Path(__file__).parent / "files"
EVERY = CASES | EXPORTS
PLACES = """country,suburb,state,postcode
AU,Fitzroy,VIC,3065
AU,Brunswick,VIC,3056
AU,Hobart,TAS,7000
AU,Sydney,NSW,2000
AU,Darwin,NT,0800
AU,Perth,WA,6000
AU,Brisbane City,QLD,4000
AU,Adelaide,SA,5000
AU,Canberra,ACT,2601
US,Portland,OR,97205
US,Austin,TX,78701
US,Brooklyn,NY,11201
US,Saint Louis,MO,63101
US,Chicago,IL,60614
US,Seattle,WA,98101
US,Denver,CO,80202
US,Los Angeles,CA,90012
US,Hartford,CT,06103
US,San Juan,PR,00901
US,Boston,MA,02116
US,Newark,NJ,07102
US,Burlington,VT,05401
US,Hagatna,GU,96910
US,Saint Thomas,VI,00802
US,APO,AE,09021
US,FPO,AP,96667
US,Honolulu,HI,96813
US,Anchorage,AK,99501
CA,Ottawa,ON,K1P 5M7
"""
State = ImportRow.State
SIDES = {"length": Decimal(12), "width": Decimal(9), "height": Decimal(4)}


@pytest.fixture
def accounts(quill: Sender, alice: User, carrier: SandboxCarrier) -> dict[str, tuple[Sender, User]]:
    """A sender of each country, with a size for the files that have no measures."""
    list_places(PLACES)
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


def label(row: ImportRow) -> str:
    """What a ready row's parcel is: who and where it goes to, and what the carrier is told of it."""
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
    """What became of a row, in the words of the table; of all it waits for, what the table names."""
    if row.state in ImportRow.READY:
        assert row.quote is not None
        is_asked = odd(measures_from(row.quote.details["measures"]))  # before it is booked
        found = f"{'asked' if is_asked else 'ready'}: {label(row)}"
        return expected if expected in ("ready", found) or found.casefold() == expected.casefold() else found
    if row.state == State.SKIPPED:
        return f"left out: {' '.join(text for texts in row.problems.values() for text in texts)}"
    names = {name.removeprefix("unread:") for name in row.problems}
    named = [row.file.header[int(name)] if name.isdecimal() else name for name in names]
    waits, waited = expected.rpartition(": ")[::2]
    return f"{waits or 'waits'}: {waited if waited in named else sorted(row.problems.items())}"


def number(row: ImportRow, known: Collection[str]) -> str:
    """The row's name in the table: its order number, or the first cell that the table names."""
    found = columns.cell(row, row.file, "customer_reference").strip()
    return found if found in known else next((cell for cell in map(str.strip, row.cells) if cell in known), found)


@pytest.mark.parametrize("name", EVERY)
def test_every_row_is_ready_left_out_for_a_reason_or_waits(name: str, accounts: dict[str, tuple[Sender, User]]) -> None:
    case = EVERY[name]
    file = taken(name, *accounts[case.account])
    rows = [row for row in file.rows.select_related("file", "quote") if row.state != State.JOINED]
    numbers = [number(row, case.rows) for row in rows]
    found = {one: verdict(row, case.rows.get(one, "")) for one, row in zip(numbers, rows, strict=True)}
    assert found == case.rows


def test_the_table_names_every_file() -> None:
    assert {path.name for path in FILES.iterdir()} == set(EVERY)


def test_the_corpus_is_large_and_one_reading_in_twenty_at_most_waits_for_a_hand() -> None:
    verdicts = [verdict for case in EVERY.values() for verdict in case.rows.values()]
    of_one_reading = [verdict for verdict in verdicts if verdict.startswith(("ready", "asked"))]
    by_hand = [verdict for verdict in of_one_reading if verdict.startswith("ready by hand")]
    assert len(EVERY) >= 75
    assert len(verdicts) >= 650
    assert 20 * len(by_hand) <= len(of_one_reading)
    assert all(case.source for case in EXPORTS.values())
