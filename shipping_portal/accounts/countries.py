"""Countries of the world by their ISO 3166 code: what people call them, and which have no postcodes."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import resources

from shipping_portal.accounts.states import COUNTRY_NAMES

# Where the list of the time zone database abbreviates, or says what nobody writes on a parcel.
PLAIN_NAMES = {
    "AS": "American Samoa",
    "CD": "Congo, Democratic Republic",
    "CG": "Congo, Republic",
    "GB": "United Kingdom",
    "KP": "North Korea",
    "KR": "South Korea",
    "MF": "Saint Martin",
    "MM": "Myanmar",
    "SX": "Sint Maarten",
    "SZ": "Eswatini",
    "TC": "Turks & Caicos Islands",
    "VC": "St Vincent & the Grenadines",
    "VG": "British Virgin Islands",
    "VI": "US Virgin Islands",
    "WS": "Samoa",
}
# By the Universal Postal Union's addressing pages: a parcel goes there without one.
WITHOUT_POSTCODES = {
    "AE", "AG", "AO", "AW", "BF", "BI", "BJ", "BO", "BS", "BW", "BZ", "CD", "CF", "CG", "CI", "CK", "CM", "DJ",
    "DM", "ER", "FJ", "GD", "GH", "GM", "GQ", "GY", "HK", "JM", "KI", "KM", "KN", "KP", "ML", "MO", "MR", "MW",
    "NR", "NU", "QA", "RW", "SB", "SC", "SL", "SR", "ST", "SY", "TD", "TG", "TK", "TO", "TV", "UG", "VU", "YE",
    "ZW",
}  # fmt: skip


@lru_cache(maxsize=1)
def names() -> dict[str, str]:
    """Every country's name by its code, in the order of the names."""
    table = resources.files("tzdata.zoneinfo").joinpath("iso3166.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    named = {code: PLAIN_NAMES.get(code, name) for code, name in rows}
    return dict(sorted(named.items(), key=lambda country: country[1]))


def choices(first: Sequence[str], *, only: Collection[str] = ()) -> list[tuple[str, str]]:
    """Codes and names to choose from, those in `first` before all others; `only` these where any are given."""
    order = [*first, *(code for code in names() if code not in first)]
    return [(code, name(code)) for code in order if not only or code in only]


def name(code: str) -> str:
    """The name of a country, or the code itself where there is none of it."""
    return names().get(code, code)


def code_of(text: str) -> str:
    """The code of a country told by its name or its code; "" for anything else."""
    wanted = " ".join(text.split()).casefold()
    for code, known in names().items():
        if wanted in {code.casefold(), known.casefold(), *map(str.casefold, COUNTRY_NAMES.get(code, ()))}:
            return code
    return ""
