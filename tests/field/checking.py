"""Files as senders upload them, checked row by row with a list of places and the sandbox carrier."""

from collections.abc import Iterable
from pathlib import Path

from django.utils import timezone

from shipping_portal.accounts.address.locality_lists import import_list
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.orders.test_importing import work_off

FILES = Path(__file__).parent / "addresses"
PLACES = """country,suburb,state,postcode
AU,Fitzroy,VIC,3065
AU,Melbourne,VIC,3000
AU,Carnegie,VIC,3163
AU,Darwin City,NT,0800
AU,Sydney,NSW,2000
AU,Norfolk Island,NSW,2899
AU,Wodonga,VIC,3690
US,Portland,OR,97205
US,Los Angeles,CA,90012
US,New York,NY,10012
US,Hartford,CT,06103
US,Del Mar,CA,92014
US,San Juan,PR,00901
US,Broadway,VA,22815
US,Brooklyn,CT,06234
US,Brooklyn,NY,11201
US,Brooklyn,NY,11229
US,Kaneohe,HI,96744
US,Laie,HI,96762
US,Ewa Beach,HI,96706
US,Coeur D Alene,ID,83814
US,O Fallon,IL,62269
US,O Fallon,MO,63366
US,Land O Lakes,FL,34639
US,Saint Louis,MO,63101
US,Austin,TX,78701
US,Washington,DC,20001
CA,Ottawa,ON,K1P 5M7
CA,Montréal,QC,H3G 1Z5
CA,Québec,QC,G1R 4P5
CA,Toronto,ON,M5V 2T6
CA,Edmonton,AB,T5J 2R7
CA,Vancouver,BC,V6T 1Z4
CA,Vancouver,BC,V5Y 1V4
CA,Vancouver,BC,V5Z 1M9
CA,Kamloops,BC,V2C 0C8
"""


def list_places(places: str = PLACES) -> None:
    import_list(places.encode(), source="places.csv", by=None, at=timezone.now())


def checked(name: str, country: str) -> Import:
    """Upload this file from the folder as a sender of this country, check it, and return it."""
    list_places()
    sender = factories.sender(country=country)
    person = factories.user(f"{country.lower()}@shop.example", name="Sam Poe")
    factories.member(sender, person)
    factories.pickup_address(sender, email=person.email)
    file = factories.taken((FILES / name).read_bytes(), sender, person)
    for _ in range(3):  # a busy machine's carrier may answer too late
        work_off(file)
    return file


def rows(file: Import) -> dict[str, ImportRow]:
    """Return the rows by their order numbers, which are in the first column."""
    return {row.cells[0]: row for row in file.rows.select_related("quote")}


def receiver(row: ImportRow) -> dict[str, str]:
    """Return the receiver in the price of the row's parcel."""
    assert row.quote, row.problems
    found: dict[str, str] = row.quote.details["receiver"]
    return found


def ready(found: dict[str, ImportRow]) -> set[str]:
    return {number for number, row in found.items() if row.state in ImportRow.READY}


def problems(row: ImportRow) -> str:
    return " ".join(text for texts in row.problems.values() for text in texts)


def places(found: Iterable[ImportRow]) -> list[str]:
    return [" ".join(receiver(row)[part] for part in ("suburb", "state", "postcode")) for row in found]
