"""Places the way people write them, pasted or in a file, and what is asked if two readings contradict each other."""

from typing import Any

import pytest
from django.utils import timezone

from orders.drafting import pasting
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.countries import at_home, code_of, state_code
from shipping_portal.importing import checking, row_form
from tests.field.checking import checked, list_places, problems, ready, receiver, rows
from tests.field.checking import places as places_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


@pytest.fixture
def listed(db: None) -> None:
    list_places()


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("country", "typed", "place"),
    [
        ("US", ("Kāneʻohe", "96744"), "Kaneohe HI 96744"),
        ("US", ("Lā‘ie", "96762"), "Laie HI 96762"),
        ("US", ("ʻEwa Beach", "96706"), "Ewa Beach HI 96706"),
        ("US", ("Coeur d'Alene", "83814"), "Coeur D Alene ID 83814"),
        ("US", ("Coeur d’ Alene", "83814"), "Coeur D Alene ID 83814"),
        ("US", ("Coeur d´Alene", "83814"), "Coeur D Alene ID 83814"),
        ("US", ("COEUR DALENE", "83814"), "Coeur D Alene ID 83814"),
        ("US", ("O'Fallon", "63366"), "O Fallon MO 63366"),
        ("US", ("OFallon", "62269"), "O Fallon IL 62269"),
        ("US", ("Land O'Lakes", "34639"), "Land O Lakes FL 34639"),
        ("US", ("Land-O-Lakes", "34639"), "Land O Lakes FL 34639"),
        ("US", ("St.Louis", "63101"), "Saint Louis MO 63101"),
        ("US", ("St Louis, Mo.", "63101"), "Saint Louis MO 63101"),
        ("US", ("Washington, D.C.", "20001"), "Washington DC 20001"),
        ("US", ("Washington DC", "20001"), "Washington DC 20001"),
        ("CA", ("Montreal (Quebec)", "h3g–1z5"), "Montréal QC H3G 1Z5"),
        ("CA", ("Vancouver", "V6T IZ4"), "Vancouver BC V6T 1Z4"),
        ("CA", ("Kamloops", "V2C OC8"), "Kamloops BC V2C 0C8"),
        ("CA", ("Edmonton", "T5J—2R7"), "Edmonton AB T5J 2R7"),
        ("AU", ("Melbourne VIC", "3000"), "Melbourne VIC 3000"),
    ],
)
def test_a_place_is_recognised_however_it_is_written(country: str, typed: tuple[str, str], place: str) -> None:
    assert str(places.check_pair(country, *typed).place) == place


def test_two_possible_places_are_offered_and_none_is_chosen(db: None) -> None:
    list_places("country,suburb,state,postcode\nUS,O Live,OH,43001\nUS,Oʼlive Hill,OH,43001\nUS,O Live Hill,OH,43001\n")
    assert str(places.check_pair("US", "o live hill", "43001").place) == "O Live Hill OH 43001"
    list_places("country,suburb,state,postcode\nUS,Mount Dor,OH,43001\nUS,Mt D Or,OH,43001\n")
    assert places.check_pair("US", "Mt Dor", "43001").place is None
    assert len(places.check_pair("US", "Mt Dor", "43001").near) == 2


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("country", "typed", "first"),
    [
        ("US", ("Brooklyn", "11202", "NY"), "Brooklyn NY 11201"),
        ("US", ("Brooklyn", "11230", "NY"), "Brooklyn NY 11229"),
        ("US", ("Brooklyn", "06235", ""), "Brooklyn CT 06234"),
        ("CA", ("Vancouver", "V6T 1Z5", "BC"), "Vancouver BC V6T 1Z4"),
        ("CA", ("Vancouver", "V5Z 1M8", "BC"), "Vancouver BC V5Z 1M9"),
    ],
)
def test_the_nearest_place_in_the_typed_state_is_offered_first(
    country: str, typed: tuple[str, str, str], first: str
) -> None:
    pair = places.check_pair(country, *typed)
    assert (pair.place, str(pair.near[0])) == (None, first)


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("country", "typed", "doubt", "near"),
    [
        ("AU", ("Melbourne", "3000", "New South Wales"), "3000 is in VIC; you wrote NSW.", ["Melbourne VIC 3000"]),
        ("US", ("Los Angeles", "90012", "NY"), "90012 is in CA; you wrote NY.", ["Los Angeles CA 90012"]),
        (
            "US",
            ("Brooklyn", "11201", "Conn."),
            "11201 is in NY; you wrote CT.",
            ["Brooklyn NY 11201", "Brooklyn CT 06234"],
        ),
        ("AU", ("Melbourne", "3000", "Florida"), "3000 is in VIC; you wrote Florida.", ["Melbourne VIC 3000"]),
        ("AU", ("Melbourne NSW", "3000", ""), "3000 is in VIC; you wrote NSW.", ["Melbourne VIC 3000"]),
        ("AU", ("Melbourne", "3000", "AU-VIC"), "", []),
        ("AU", ("Melbourne", "3000", "Greater Melbourne"), "", []),
        ("AU", ("Melbourne", "3000", ""), "", []),
    ],
)
def test_a_state_that_does_not_match_the_place_needs_an_answer(
    country: str, typed: tuple[str, str, str], doubt: str, near: list[str]
) -> None:
    pair = places.check_pair(country, *typed)
    assert (pair.doubt, [str(place) for place in pair.near if doubt]) == (doubt, near)


@pytest.mark.parametrize(
    ("country", "typed", "code"),
    [
        ("CA", "Québec", "QC"),
        ("CA", "Ont.", "ON"),
        ("CA", "P.E.I.", "PE"),
        ("CA", "CA-BC", "BC"),
        ("US", "Washington D.C.", "DC"),
        ("US", "Guam", "GU"),
        ("US", "Virgin Islands", "VI"),
        ("US", "Calif.", "CA"),
        ("US", "ae", "AE"),
        ("AU", "N.S.W.", "NSW"),
        ("AU", "Bavaria", "BAVARIA"),
        ("FR", "Bretagne", "BRETAGNE"),
    ],
)
def test_a_state_is_recognised_by_its_name_its_code_and_common_spellings(country: str, typed: str, code: str) -> None:
    assert state_code(country, typed) == code


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("U.S.A.", "US"),
        ("United States (US)", "US"),
        ("Estados Unidos", "US"),
        ("États-Unis", "US"),
        ("Canadá", "CA"),
        ("Côte d'Ivoire", "CI"),
        ("Virgin Islands, U.S.", "VI"),
        ("u\u200bsa", "US"),
        ("Atlantis", ""),
        ("", ""),
    ],
)
def test_a_country_is_recognised_by_its_names(typed: str, code: str) -> None:
    assert code_of(typed) == code


@pytest.mark.parametrize(
    ("origin", "typed", "home"),
    [
        ("US", ("PR", ""), ("US", "PR")),
        ("US", ("PR", "San Juan"), ("US", "PR")),
        ("US", ("PR", "FL"), ("US", "FL")),
        ("US", ("GU", "GU"), ("US", "GU")),
        ("US", ("FM", ""), ("FM", "")),
        ("AU", ("NF", ""), ("AU", "NSW")),
        ("AU", ("CX", ""), ("AU", "WA")),
        ("AU", ("PR", ""), ("PR", "")),
        ("CA", ("PR", ""), ("PR", "")),
        ("US", ("US", "OR"), ("US", "OR")),
    ],
)
def test_a_territory_is_a_state_of_its_own_postal_service(
    origin: str, typed: tuple[str, str], home: tuple[str, str]
) -> None:
    assert at_home(origin, *typed) == home


QUEBEC = {"name": "Ann Poe", "suburb": "Montréal", "state": "QC", "postcode": "H3G 1Z5", "country": "CA"}
PASTED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "brackets around the province": (
        "CA",
        "Ann Poe\n1234 rue Exemple app. 5\nMontréal (Québec) H3G 1Z5\nCanada",
        QUEBEC | {"line1": "1234 rue Exemple app. 5"},
    ),
    "a flat on its own line": (
        "CA",
        "Ann Poe\n1234, rue Exemple\napp. 5\nMontréal (QC)  H3G–1Z5",
        QUEBEC | {"line1": "1234, rue Exemple", "line2": "app. 5"},
    ),
    "an office": (
        "CA",
        "Ann Poe\n1234 rue Exemple\nBureau 200\nMontréal, Québec\nH3G 1Z5\nCANADA",
        QUEBEC | {"line1": "1234 rue Exemple", "line2": "Bureau 200"},
    ),
    "a number before the house number": (
        "CA",
        "Ann Poe\n#5-123 rue Exemple\nMontréal QC H3G IZ5",
        QUEBEC | {"line1": "#5-123 rue Exemple"},
    ),
    "a city with its province's name": (
        "CA",
        "Ann Poe\n9 rue Exemple\nQuébec G1R 4P5",
        QUEBEC | {"line1": "9 rue Exemple", "suburb": "Québec", "postcode": "G1R 4P5"},
    ),
    "a city and its province": (
        "CA",
        "Ann Poe\n9 rue Exemple\nQuébec QC  G1R 4P5 Canada",
        QUEBEC | {"line1": "9 rue Exemple", "suburb": "Québec", "postcode": "G1R 4P5"},
    ),
    "a province shortened": (
        "CA",
        "Ann Poe\n9 Sample St\nToronto, Ont. M5V 2T6",
        QUEBEC | {"line1": "9 Sample St", "suburb": "Toronto", "state": "ON", "postcode": "M5V 2T6"},
    ),
    "a state in brackets": (
        "US",
        "Ann Poe\n9 Sample St\nAustin (Texas) 78701\nEstados Unidos",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "Austin", "state": "TX", "postcode": "78701",
         "country": "US"},
    ),
    "a city with its state's name": (
        "US",
        "Ann Poe\n9 Sample St\nNew York 10012",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "New York", "state": "NY", "postcode": "10012",
         "country": "US"},
    ),
    "brackets in Sydney": (
        "AU",
        "Ann Poe\n9 Sample St\nSydney (NSW) 2000",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "Sydney", "state": "NSW", "postcode": "2000",
         "country": "AU"},
    ),
    "brackets behind the postcode": (
        "AU",
        "Ann Poe\n9 Sample St\nSydney 2000 (New South Wales)",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "Sydney", "state": "NSW", "postcode": "2000",
         "country": "AU"},
    ),
    "an okina": (
        "US",
        "Ann Poe\n9 Sample St\nLā‘ie,\u00a0HI\u00a096762",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "Laie", "state": "HI", "postcode": "96762",
         "country": "US"},
    ),
    "a state that is not the place's": (
        "AU",
        "Ann Poe\n9 Sample St\nMelbourne NSW 3000",
        {"name": "Ann Poe", "line1": "9 Sample St", "suburb": "Melbourne", "state": "NSW", "postcode": "3000",
         "country": "AU"},
    ),
}  # fmt: skip


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(("home", "text", "parts"), list(PASTED.values()), ids=list(PASTED))
def test_an_address_is_pasted_as_it_is_written_on_letters(home: str, text: str, parts: dict[str, Any]) -> None:
    pasted = pasting.read(text, home)
    assert (pasted.parts, pasted.left) == (parts, [])


def test_a_territory_of_the_united_states_is_not_another_country(carrier: SandboxCarrier) -> None:
    found = rows(checked("us_territories.csv", "US"))
    assert ready(found) == set(found)
    assert places_of(found.values()) == ["San Juan PR 00901"] * 5 + ["Washington DC 20001"] * 2
    assert {receiver(row)["country"] for row in found.values()} == {"US"}
    assert {
        row.quote.details["contents"] for row in found.values() if row.quote and row.quote.details["contents"]
    } == set()


def test_military_mail_is_recognised_by_its_name(carrier: SandboxCarrier) -> None:
    found = rows(checked("military_mail.csv", "US"))
    assert ready(found) == set()
    assert all("US military mail" in problems(row) for row in found.values())
    list_places("country,suburb,state,postcode\nUS,APO,AE,09009\n")
    assert places.check_pair("US", "apo", "09009", "Armed Forces Europe").place is not None


def test_places_in_a_file_are_recognised_however_they_are_written(carrier: SandboxCarrier) -> None:
    found = rows(checked("place_names_us.csv", "US"))
    assert ready(found) == set(found)
    assert {receiver(row)["suburb"] for row in found.values()} == {
        "Kaneohe", "Laie", "Coeur D Alene", "Land O Lakes", "Saint Louis", "O Fallon"
    }  # fmt: skip


def test_canadian_codes_in_a_file_are_read_by_position(carrier: SandboxCarrier) -> None:
    found = rows(checked("postal_codes_ca.csv", "CA"))
    assert ready(found) == set(found)
    assert [receiver(row)["postcode"] for row in found.values()] == [
        "T5J 2R7",
        "V6T 1Z4",
        "V2C 0C8",
        "H3G 1Z5",
        "M5V 2T6",
    ]


def test_a_contradicting_state_waits_for_one_click(carrier: SandboxCarrier) -> None:
    file = checked("state_contradicts_au.csv", "AU")
    found = rows(file)
    assert ready(found) == {"D3"}
    assert problems(found["D1"]) == "3000 is in VIC; you wrote NSW. Doesn't match 3000."
    assert found["D1"].near == [["Melbourne", "VIC", "3000"]]
    press = dict(zip(row_form.PLACE, found["D1"].near[0], strict=True))
    assert row_form.save(file, found["D1"], press, alike=False, now=timezone.now()) == 1
    checking.check_row(found["D1"].pk)
    assert ready(rows(file)) == {"D1", "D3"}
