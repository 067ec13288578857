"""Files the way shops and spreadsheets really write them: each row is ready, left out for a reason, or waits."""

from collections.abc import Collection

import pytest

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing.models import ImportRow
from tests import factories
from tests.field.cases import CASES, EXPORTS
from tests.field.checking import list_places
from tests.field.verdicts import FILES, SIDES, State, taken, verdict
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

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


@pytest.fixture
def accounts(quill: Sender, alice: User, carrier: SandboxCarrier) -> dict[str, tuple[Sender, User]]:
    """A sender in each country, with a size for files without measures."""
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


def number(row: ImportRow, known: Collection[str]) -> str:
    """Return the row's name in the table: its order number, or the first cell in the table."""
    found = row.cell_of("customer_reference").strip()
    return found if found in known else next((cell for cell in map(str.strip, row.cells) if cell in known), found)


@pytest.mark.parametrize("name", EVERY)
def test_every_row_is_ready_left_out_for_a_reason_or_waits(name: str, accounts: dict[str, tuple[Sender, User]]) -> None:
    case = EVERY[name]
    file = taken(name, *accounts[case.account])
    rows = [row for row in file.rows.select_related("file", "quote") if row.state != State.JOINED]
    numbers = [number(row, case.rows) for row in rows]
    found = {one: verdict(row, case.rows.get(one, "")) for one, row in zip(numbers, rows, strict=True)}
    assert found == case.rows


def test_every_file_is_in_the_table() -> None:
    assert {path.name for path in FILES.iterdir()} == set(EVERY)


def test_the_corpus_is_large_and_at_most_one_clear_row_in_twenty_waits() -> None:
    verdicts = [verdict for case in EVERY.values() for verdict in case.rows.values()]
    of_one_reading = [verdict for verdict in verdicts if verdict.startswith(("ready", "asked"))]
    by_hand = [verdict for verdict in of_one_reading if verdict.startswith("ready by hand")]
    assert len(EVERY) >= 75
    assert len(verdicts) >= 650
    assert 20 * len(by_hand) <= len(of_one_reading)
    assert all(case.source for case in EXPORTS.values())
