"""The time zone of a place: by its state, or by its postcode if the state has two."""

import datetime as dt
import functools
import itertools
from zoneinfo import ZoneInfo, available_timezones

import pytest
import zipcodes

from shipping_portal.accounts.address import places, zones
from shipping_portal.accounts.address.countries import STATES

MONTHS = [dt.datetime(2026, month, 15, 12, tzinfo=dt.UTC) for month in range(1, 13)]

# Where the other source is wrong, by county or by law: Chattanooga, Kendall, El Paso, Cottonwood, Flagstaff, Page,
# Tuba City and West Wendover.
RIGHT_HERE = {"37405", "67857", "79942", "83522", "86003", "86040", "86045", "89883"}


def clock(zone: str) -> list[dt.timedelta | None]:
    """Return what a clock there shows through the year, so two names of the same time are equal."""
    return [at.astimezone(ZoneInfo(zone)).utcoffset() for at in MONTHS]


@pytest.mark.parametrize(
    ("country", "state", "postcode", "zone"),
    [
        ("US", "IN", "47708", "America/Chicago"),
        ("US", "IN", "46204", "America/New_York"),
        ("US", "KY", "42001", "America/Chicago"),
        ("US", "KY", "40202", "America/New_York"),
        ("US", "TN", "37902", "America/New_York"),
        ("US", "TN", "37203", "America/Chicago"),
        ("US", "FL", "32501", "America/Chicago"),
        ("US", "FL", "33101", "America/New_York"),
        ("US", "MI", "49801", "America/Chicago"),
        ("US", "MI", "49855", "America/New_York"),
        ("US", "ND", "58601", "America/Denver"),
        ("US", "ND", "58102", "America/Chicago"),
        ("US", "SD", "57701", "America/Denver"),
        ("US", "SD", "57501", "America/Chicago"),
        ("US", "NE", "69361", "America/Denver"),
        ("US", "NE", "68102", "America/Chicago"),
        ("US", "KS", "67735", "America/Denver"),
        ("US", "KS", "67202", "America/Chicago"),
        ("US", "TX", "79901", "America/Denver"),
        ("US", "TX", "79701", "America/Chicago"),
        ("US", "OR", "97914", "America/Denver"),
        ("US", "ID", "83814", "America/Los_Angeles"),
        ("US", "ID", "83501", "America/Los_Angeles"),
        ("US", "ID", "83702", "America/Denver"),
        ("US", "NV", "89883", "America/Denver"),
        ("US", "AZ", "86515", "America/Denver"),
        ("US", "AZ", "85003", "America/Phoenix"),
        ("US", "AK", "99546", "America/Adak"),
        ("US", "AK", "99501", "America/Anchorage"),
        ("US", "PR", "00901", "America/Puerto_Rico"),
        ("US", "VI", "00802", "America/Puerto_Rico"),
        ("US", "GU", "96910", "Pacific/Guam"),
        ("US", "MP", "96950", "Pacific/Guam"),
        ("US", "AS", "96799", "Pacific/Pago_Pago"),
        ("CA", "BC", "V1J 4M7", "America/Dawson_Creek"),
        ("CA", "BC", "V1C 1A1", "America/Edmonton"),
        ("CA", "BC", "V1L 1A1", "America/Vancouver"),
        ("CA", "ON", "P9N 1A1", "America/Winnipeg"),
        ("CA", "ON", "P7B 1A1", "America/Toronto"),
        ("CA", "SK", "S9V 1A1", "America/Edmonton"),
        ("CA", "SK", "S4P 1A1", "America/Regina"),
        ("CA", "NU", "X0A 0H0", "America/Toronto"),
        ("CA", "NU", "X0B 0C0", "America/Edmonton"),
        ("CA", "NU", "X0C 0G0", "America/Winnipeg"),
        ("CA", "QC", "G4T 1A1", "America/Halifax"),
        ("CA", "NL", "A2V 1A1", "America/Halifax"),
        ("CA", "NL", "a0p-1c0", "America/Halifax"),
        ("AU", "NSW", "2880", "Australia/Broken_Hill"),
        ("AU", "NSW", "2898", "Australia/Lord_Howe"),
        ("AU", "NSW", "2897", "Australia/Sydney"),
        ("AU", "WA", "6443", "Australia/Eucla"),
        ("AU", "WA", "6798", "Indian/Christmas"),
        ("AU", "WA", "6797", "Australia/Perth"),
        ("AU", "WA", "6799", "Indian/Cocos"),
    ],
)
def test_a_place_has_its_own_time_zone(country: str, state: str, postcode: str, zone: str) -> None:
    assert clock(places.zone_of(country, state, postcode)) == clock(zone)


def test_every_zip_code_has_the_same_time_zone_as_in_another_source() -> None:
    known, clocks, wrong = available_timezones(), functools.cache(clock), {}
    for row in zipcodes.filter_by(country="US"):
        if row["state"] in STATES["US"] and row["timezone"] in known:
            ours = places.zone_of("US", row["state"], row["zip_code"])
            if clocks(ours) != clocks(row["timezone"]):
                wrong[row["zip_code"]] = f"{row['city']} {row['timezone']} {ours} {row['active']}"
    assert wrong.keys() == RIGHT_HERE


def test_every_zone_exists_and_every_range_ascends() -> None:
    found = zones._zone_ranges()
    assert {zone for *_, zone in found} <= available_timezones()
    assert all(first <= last for _, first, last, _ in found)
    apart = [(a, b) for a, b in itertools.pairwise(found) if a[0] == b[0] and a[2] >= b[1]]
    assert apart == []
