"""The places that this carrier serves.

This has country names, the published suburb lists, and senders' time zones.
"""

import csv
import importlib
import io
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LOCALITIES = Path(__file__).with_name("localities.csv")

COUNTRIES = {
    "AU": "Australia",
    "CA": "Canada",
    "US": "United States",
    "NZ": "New Zealand",
    "GB": "United Kingdom",
    "IE": "Ireland",
    "FR": "France",
    "DE": "Germany",
    "NL": "Netherlands",
    "BE": "Belgium",
    "ES": "Spain",
    "PT": "Portugal",
    "IT": "Italy",
    "AT": "Austria",
    "CH": "Switzerland",
    "DK": "Denmark",
    "NO": "Norway",
    "SE": "Sweden",
    "FI": "Finland",
    "IS": "Iceland",
    "PL": "Poland",
    "CZ": "Czechia",
    "GR": "Greece",
    "JP": "Japan",
    "KR": "South Korea",
    "CN": "China",
    "HK": "Hong Kong",
    "TW": "Taiwan",
    "SG": "Singapore",
    "MY": "Malaysia",
    "TH": "Thailand",
    "VN": "Vietnam",
    "ID": "Indonesia",
    "PH": "Philippines",
    "IN": "India",
    "AE": "United Arab Emirates",
    "IL": "Israel",
    "ZA": "South Africa",
    "BR": "Brazil",
    "MX": "Mexico",
    "FJ": "Fiji",
    "PG": "Papua New Guinea",
}
_CODES = {name.casefold(): code for code, name in COUNTRIES.items()} | {
    "united states of america": "US"
}

_ZONES = {
    "AU": "Australia/Sydney",
    "AU-QLD": "Australia/Brisbane",
    "AU-SA": "Australia/Adelaide",
    "AU-NT": "Australia/Darwin",
    "AU-WA": "Australia/Perth",
    "CA": "America/Toronto",
    "CA-BC": "America/Vancouver",
    "CA-AB": "America/Edmonton",
    "CA-SK": "America/Regina",
    "CA-MB": "America/Winnipeg",
    "CA-NS": "America/Halifax",
    "CA-NB": "America/Halifax",
    "CA-PE": "America/Halifax",
    "CA-NL": "America/St_Johns",
    "CA-YT": "America/Whitehorse",
    "US": "America/New_York",
    "US-HI": "Pacific/Honolulu",
    "US-AK": "America/Anchorage",
    "US-AZ": "America/Phoenix",
    **{f"US-{state}": "America/Los_Angeles" for state in ("CA", "NV", "OR", "WA")},
    **{f"US-{state}": "America/Denver" for state in ("CO", "ID", "MT", "NM", "UT", "WY")},
    **{
        f"US-{state}": "America/Chicago"
        for state in (
            "AL",
            "AR",
            "IA",
            "IL",
            "KS",
            "LA",
            "MN",
            "MO",
            "MS",
            "ND",
            "NE",
            "OK",
            "SD",
            "TN",
            "TX",
            "WI",
        )
    },
}


class Locality(NamedTuple):
    """One published pair and its state."""

    country: str
    suburb: str
    state: str
    postcode: str


def country_code(text: str) -> str:
    """Return the two-letter code for a code or a name.

    It is "" for a country that this carrier doesn't know.
    """
    code = text.strip().upper()
    return code if code in COUNTRIES else _CODES.get(text.strip().casefold(), "")


@cache
def published() -> tuple[Locality, ...]:
    """Return the published lists: the CSV file's, and every ZIP code with letter delivery."""
    return tuple(dict.fromkeys([*_listed(), *_of_the_united_states()]))


@cache
def _listed() -> tuple[Locality, ...]:
    with LOCALITIES.open(encoding="utf-8", newline="") as file:
        return tuple(Locality(**row) for row in csv.DictReader(file))


def as_csv() -> str:
    """Return the published lists as the portal imports them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([Locality._fields, *published()])
    return text.getvalue()


def _of_the_united_states() -> Iterator[Locality]:
    """Yield each ZIP code with its city, from a package that only ./dev installs."""
    if zipcodes := _zip_codes():
        yield from _delivered(zipcodes.filter_by(zip_code_type="STANDARD", active=True))


# The package looks up single codes in a compact form. As Python objects, all codes take 140 MB.
@lru_cache(maxsize=1000)
def _at_zip_code(code: str) -> tuple[Locality, ...]:
    is_code = len(code) == 5 and code.isascii() and code.isdigit()
    zipcodes = _zip_codes() if is_code else None
    return tuple(_delivered(zipcodes.matching(code))) if zipcodes else ()


def _delivered(codes: list[dict[str, Any]]) -> Iterator[Locality]:
    """Yield those with letter delivery. No driver goes to islands as remote as Guam."""
    for code in codes:
        is_standard = code["zip_code_type"] == "STANDARD" and code["active"]
        if is_standard and code["state"] not in ("GU", "VI"):
            yield Locality("US", code["city"], code["state"], code["zip_code"])


def _zip_codes() -> ModuleType | None:
    """Return the package of ZIP codes, which no server of a real installation has."""
    try:
        return importlib.import_module("zipcodes")
    except ImportError:
        return None


def at_postcode(country: str, postcode: str) -> tuple[Locality, ...]:
    """Return published localities that share ``postcode``.

    ZIP+4 counts as its first five digits.
    """
    key = _normalised_postcode(country, postcode)
    listed = _by_postcode(country).get(key, ())
    return tuple(dict.fromkeys([*listed, *_at_zip_code(key)])) if country == "US" else listed


def is_pair(country: str, suburb: str, postcode: str) -> bool:
    """Return whether the suburb and postcode are published as a pair.

    Case and spacing don't matter.
    """
    return _normalised(suburb) in {
        _normalised(place.suburb) for place in at_postcode(country, postcode)
    }


def alternatives(country: str, postcode: str) -> str:
    """Return the suburbs published for ``postcode`` in capitals, as the reply lists them."""
    return ", ".join(place.suburb.upper() for place in at_postcode(country, postcode))


def zone_of(country: str, state: str, postcode: str) -> ZoneInfo:
    """Return the time zone pickups at this address are planned in."""
    places = at_postcode(country, postcode)
    region = places[0].state if places else state.strip().upper()
    try:
        return ZoneInfo(_ZONES.get(f"{country}-{region}") or _ZONES.get(country, "UTC"))
    except ZoneInfoNotFoundError:
        return ZoneInfo("UTC")


@cache
def _by_postcode(country: str) -> dict[str, tuple[Locality, ...]]:
    groups: dict[str, tuple[Locality, ...]] = {}
    for place in _listed():
        if place.country == country:
            key = _normalised_postcode(country, place.postcode)
            groups[key] = (*groups.get(key, ()), place)
    return groups


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split())


def _normalised_postcode(country: str, postcode: str) -> str:
    bare = "".join(postcode.split()).upper()
    return bare[:5] if country == "US" else bare


if __name__ == "__main__":
    sys.stdout.write(as_csv())
