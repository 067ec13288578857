"""The carrier's published pairs, time zones and business days."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.locality_lists import UnreadableList, import_list
from shipping_portal.accounts.models import Audit, Locality, LocalityList, User

PAIRS = b"""country,suburb,state,postcode
AU,Brunswick,VIC,3056
AU,Brunswick East,VIC,3057
AU,Fitzroy,VIC,3065
AU,Mount Eliza,VIC,3930
AU,St Kilda,VIC,3182
AU,Darwin,NT,0800
AU,Richmond,NSW,2753
AU,Richmond,VIC,3121
CA,Ottawa,ON,K1P 5M7
US,Portland,OR,97205
"""


def load(content: bytes = PAIRS) -> Any:
    return import_list(content, source="pairs.csv", by=None, at=timezone.now())


@pytest.fixture
def listed(db: None) -> None:
    load()


def names(found: Any) -> list[str]:
    return [str(place) for place in found]


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("country", "suburb", "postcode", "published"),
    [
        ("AU", "fitzroy", "3065", "Fitzroy VIC 3065"),
        ("AU", " BRUNSWICK  east ", " 3057 ", "Brunswick East VIC 3057"),
        ("AU", "Mt. Eliza", "3930", "Mount Eliza VIC 3930"),
        ("AU", "Saint Kilda", "3182", "St Kilda VIC 3182"),
        ("AU", "darwin", "0800", "Darwin NT 0800"),
        ("CA", "ottawa", "k1p5m7", "Ottawa ON K1P 5M7"),
        ("US", "Portland", "97205-1234", "Portland OR 97205"),
        ("US", "Portland", "97205–1234", "Portland OR 97205"),
        ("US", "portland or", "972O5 l234", "Portland OR 97205"),
        ("AU", "St.Kilda", "3l82", "St Kilda VIC 3182"),
        ("CA", "Ottawa, Ontario", "K1P–5M7", "Ottawa ON K1P 5M7"),
        ("CA", "Ottawa", "KIP SM7", "Ottawa ON K1P 5M7"),
    ],
)
def test_a_listed_pair_comes_back_in_its_published_spelling(
    country: str, suburb: str, postcode: str, published: str
) -> None:
    assert str(places.check_pair(country, suburb, postcode).place) == published


@pytest.mark.usefixtures("listed")
def test_a_mismatch_suggests_the_suburb_elsewhere_and_others_with_the_postcode() -> None:
    pair = places.check_pair("AU", "Brunswick", "3065")
    assert pair.place is None
    assert set(names(pair.near)) == {"Brunswick VIC 3056", "Fitzroy VIC 3065"}


@pytest.mark.usefixtures("listed")
def test_a_typo_gets_the_right_place_suggested() -> None:
    assert names(places.check_pair("AU", "Brunswik", "3000").near)[0] == "Brunswick VIC 3056"


@pytest.mark.usefixtures("listed")
def test_a_leading_zero_is_part_of_a_postcode() -> None:
    assert places.check_pair("AU", "Darwin", "800").place is None


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("sign", ["²", "①", "௩", "٣"], ids=ascii)
@pytest.mark.parametrize("suburb", ["Brunswick", "Brunswik"])
def test_a_postcode_with_other_digits_gets_suggestions_too(suburb: str, sign: str) -> None:
    """Some of them, such as ², are digits to Python, but no number."""
    assert "Brunswick VIC 3056" in names(places.check_pair("AU", suburb, f"305{sign}").near)


@pytest.mark.usefixtures("listed")
def test_without_an_active_list_there_is_no_message() -> None:
    Locality.objects.all().delete()
    LocalityList.objects.filter(country="US").update(is_active=False)
    assert places.check_pair("US", "Anywhere", "00000").is_unlisted


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("bru", ["Brunswick VIC 3056", "Brunswick East VIC 3057"]),
        ("3056", ["Brunswick VIC 3056"]),
        ("brunswick 3057", ["Brunswick East VIC 3057"]),
        ("3057 bru", ["Brunswick East VIC 3057"]),
        ("mt e", ["Mount Eliza VIC 3930"]),
        ("rich", ["Richmond NSW 2753", "Richmond VIC 3121"]),
        ("Richmond vic", ["Richmond VIC 3121"]),
        ("Richmond NSW 2753", ["Richmond NSW 2753"]),
        ("3121 Richmond VIC", ["Richmond VIC 3121"]),
        ("Mount Eliza, Victoria, 3930", ["Mount Eliza VIC 3930"]),
        ("Richmond, new south wales", ["Richmond NSW 2753"]),
        ("Richmond NSW 3121", []),
        ("vic 3121", []),
        ("", []),
        ("%", []),
        ("_", []),
        ("unswick", []),
    ],
)
def test_suggestions_start_with_the_typed_text(typed: str, found: list[str]) -> None:
    assert names(places.suggest_places("AU", typed)) == found


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("last", ["\U0010ffff", "\ud7ff"])
def test_the_last_letters_of_unicode_find_no_suburb_and_break_nothing(last: str) -> None:
    """Nothing follows the one, and only surrogates follow the other: neither has an upper bound."""
    for start in (last, f"bru{last}"):
        assert list(places.active_places("AU").filter(places.begins_with("normalised", start))) == []
    for typed in (last, f"305{last}", f"{last} 3056 NSW"):
        assert places.suggest_places("AU", typed) == []
        assert places.check_pair("AU", typed, typed).near == ()
    assert names(places.suggest_places("AU", f"bru{last}"))[:1] == ["Brunswick VIC 3056"]


@pytest.mark.usefixtures("listed")
def test_a_half_typed_canadian_code_finds_its_place() -> None:
    assert names(places.suggest_places("CA", "k1p5")) == ["Ottawa ON K1P 5M7"]


@pytest.mark.usefixtures("listed")
def test_a_suggestion_takes_at_most_two_queries(django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(2):
        places.suggest_places("AU", "brunswick e 305")


def test_importing_again_changes_nothing_and_a_new_file_is_active_at_once(db: None) -> None:
    assert [(one.country, one.rows, one.added) for one in load()] == [("AU", 8, 8), ("CA", 1, 1), ("US", 1, 1)]
    assert all(one.is_same for one in load())
    assert LocalityList.objects.count() == 3
    (change,) = load(b"country,suburb,state,postcode\nAU,Fitzroy,VIC,3065\nAU,Hobart,TAS,7000\n")
    assert (change.rows, change.added, change.removed) == (2, 1, 7)
    assert sorted(places.active_places("AU").values_list("suburb", flat=True)) == ["Fitzroy", "Hobart"]
    assert LocalityList.objects.filter(country="AU", is_active=True).count() == 1
    assert Audit.objects.filter(action="locality list imported").count() == 4


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "must name the columns"),
        (b"country,suburb,state\nAU,Fitzroy,VIC\n", "missing: postcode"),
        (b"country,suburb,state,postcode\n", "holds no pairs"),
        (b"country,suburb,state,postcode\nNZ,Ponsonby,AKL,1011\n", "Line 2: country"),
        (b"country,suburb,state,postcode\nAU,Fitzroy,VIC\n", "Line 2: postcode"),
        (b"country,suburb,state,postcode\nAU,Fitzroy,VIC,3065,extra\n", "more cells"),
        (b"country,suburb,state,postcode\nAU,F\xe9,VIC,3065\n", "not UTF-8"),
        (b'country,suburb,state,postcode\nAU,"Fitz\n', "unexpected end"),
    ],
)
def test_a_file_that_cannot_be_read_changes_nothing(db: None, content: bytes, sentence: str) -> None:
    load()
    with pytest.raises(UnreadableList, match=sentence):
        load(content)
    assert places.active_places("AU").count() == 8


def test_the_command_says_what_changed(db: None, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "pairs.csv"
    file.write_bytes(b"\xef\xbb\xbf" + PAIRS)
    call_command("localities", "import", str(file))
    assert "AU: 8 pairs, 8 added, 0 removed" in capsys.readouterr().out
    file.write_bytes(b"town\n")
    with pytest.raises(CommandError, match="missing"):
        call_command("localities", "import", str(file))


@pytest.mark.parametrize(
    ("country", "state", "postcode", "zone"),
    [
        ("AU", "VIC", "", "Australia/Melbourne"),
        ("AU", "Western Australia", "", "Australia/Perth"),
        ("AU", "NSW", "2880", "Australia/Broken_Hill"),
        ("US", "or", "97205", "America/Los_Angeles"),
        ("US", "TX", "79901", "America/Denver"),
        ("CA", "", "", "America/Toronto"),
    ],
)
def test_a_place_has_a_time_zone(country: str, state: str, postcode: str, zone: str) -> None:
    assert places.zone_of(country, state, postcode) == zone


def test_business_days_leave_out_weekends_and_the_states_own_holidays() -> None:
    before_the_cup = dt.date(2026, 10, 30)  # a Friday; Tuesday 3 November is a holiday in Victoria only
    victoria = places.business_days("AU", "VIC", after=before_the_cup, count=2)
    sydney = places.business_days("AU", "NSW", after=before_the_cup, count=2)
    assert victoria == [dt.date(2026, 11, 2), dt.date(2026, 11, 4)]
    assert sydney == [dt.date(2026, 11, 2), dt.date(2026, 11, 3)]
    assert places.next_business_day("AU", "VIC", after=dt.date(2026, 12, 24)) == dt.date(2026, 12, 29)


def test_a_calendar_is_built_completely_and_never_changes_under_another_thread() -> None:
    """The library's calendars fill in one year at a time, on demand."""
    days = places._holidays_around("AU", "VIC", 2026)
    known = set(days)
    places.business_days("AU", "VIC", after=dt.date(2026, 12, 20), count=12)
    assert dt.date(2027, 1, 1) in known
    assert set(days) == known
    assert places.next_business_day("AU", "VIC", after=dt.date(2041, 12, 24)) == dt.date(2041, 12, 27)


def test_an_unknown_state_has_the_countrys_holidays() -> None:
    assert places.next_business_day("US", "ZZ", after=dt.date(2026, 12, 24)) == dt.date(2026, 12, 28)


@pytest.mark.usefixtures("listed")
def test_members_get_suggestions_as_json_and_strangers_get_none(alice: User, sam: User, visit: Any) -> None:
    address = "/suggest/localities/?country=au&q=bru"
    assert visit(alice).get(address).json()[0] == {"suburb": "Brunswick", "state": "VIC", "postcode": "3056"}
    assert visit(sam).get(address).status_code == 404
    assert Client().get(address).status_code == 302
