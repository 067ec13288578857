"""Name countries by ISO 3166 code, and say which have no postcodes."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import resources

from shipping_portal.accounts.address.text import normalise_name

# Names to use where the time zone database abbreviates, or names no address uses.
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
# By the Universal Postal Union, parcels to these countries need no postcode.
WITHOUT_POSTCODES = {
    "AE",
    "AG",
    "AO",
    "AW",
    "BF",
    "BI",
    "BJ",
    "BO",
    "BS",
    "BW",
    "BZ",
    "CD",
    "CF",
    "CG",
    "CI",
    "CK",
    "CM",
    "DJ",
    "DM",
    "ER",
    "FJ",
    "GD",
    "GH",
    "GM",
    "GQ",
    "GY",
    "HK",
    "JM",
    "KI",
    "KM",
    "KN",
    "KP",
    "ML",
    "MO",
    "MR",
    "MW",
    "NR",
    "NU",
    "QA",
    "RW",
    "SB",
    "SC",
    "SL",
    "SR",
    "ST",
    "SY",
    "TD",
    "TG",
    "TK",
    "TO",
    "TV",
    "UG",
    "VU",
    "YE",
    "ZW",
}

WITH_ARTICLE = {
    "AE",
    "BS",
    "CZ",
    "DO",
    "GB",
    "GM",
    "KM",
    "KY",
    "MH",
    "NL",
    "PH",
    "SB",
    "TC",
    "US",
    "VG",
    "VI",
}


@lru_cache(maxsize=1)
def country_names() -> dict[str, str]:
    """Return every country's name by code, sorted by name."""
    table = resources.files("tzdata.zoneinfo").joinpath("iso3166.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    named = {code: PLAIN_NAMES.get(code, name) for code, name in rows}
    return dict(sorted(named.items(), key=lambda country: country[1]))


def country_choices(first: Sequence[str], *, only: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return codes and names to choose from, those in `first` before the others.

    `only` limits them.
    """
    order = [*first, *(code for code in country_names() if code not in first)]
    return [(code, country_name(code)) for code in order if not only or code in only]


def country_name(code: str) -> str:
    """Return a country's name, or the code itself if there is none."""
    return country_names().get(code, code)


def in_text(code: str) -> str:
    """Return a country's name as it reads in a sentence: `the United States`."""
    return f"the {country_name(code)}" if code in WITH_ARTICLE else country_name(code)


def code_of(text: str) -> str:
    """Return the code of a country given by name or code, or ""."""
    return _codes_by_name().get(normalise_name(text), "")


@lru_cache(maxsize=1)
def _codes_by_name() -> dict[str, str]:
    """Return every country's code by its normalised names."""
    called = (
        (code, word)
        for code, known in country_names().items()
        for word in (code, known, *COUNTRY_NAMES.get(code, ()))
    )
    return {normalise_name(word): code for code, word in called}


def at_home(origin: str, country: str, state: str) -> tuple[str, str]:
    """Return an address's country and state as its sender sees them.

    For a sender in Oregon, Puerto Rico is a state.
    """
    own = TERRITORIES.get(origin, {}).get(country)
    if not own:
        return country, state
    return origin, state if state_code(origin, state) in STATES[origin] else own


STATES: dict[str, dict[str, tuple[str, str]]] = {
    "AU": {
        "ACT": ("Australian Capital Territory", "Australia/Sydney"),
        "NSW": ("New South Wales", "Australia/Sydney"),
        "NT": ("Northern Territory", "Australia/Darwin"),
        "QLD": ("Queensland", "Australia/Brisbane"),
        "SA": ("South Australia", "Australia/Adelaide"),
        "TAS": ("Tasmania", "Australia/Hobart"),
        "VIC": ("Victoria", "Australia/Melbourne"),
        "WA": ("Western Australia", "Australia/Perth"),
    },
    "CA": {
        "AB": ("Alberta", "America/Edmonton"),
        "BC": ("British Columbia", "America/Vancouver"),
        "MB": ("Manitoba", "America/Winnipeg"),
        "NB": ("New Brunswick", "America/Moncton"),
        "NL": ("Newfoundland and Labrador", "America/St_Johns"),
        "NS": ("Nova Scotia", "America/Halifax"),
        "NT": ("Northwest Territories", "America/Yellowknife"),
        "NU": ("Nunavut", "America/Iqaluit"),
        "ON": ("Ontario", "America/Toronto"),
        "PE": ("Prince Edward Island", "America/Halifax"),
        "QC": ("Quebec", "America/Toronto"),
        "SK": ("Saskatchewan", "America/Regina"),
        "YT": ("Yukon", "America/Whitehorse"),
    },
    "US": {
        "AA": ("Armed Forces Americas", "America/New_York"),
        "AE": ("Armed Forces Europe", "Europe/Berlin"),
        "AK": ("Alaska", "America/Anchorage"),
        "AL": ("Alabama", "America/Chicago"),
        "AP": ("Armed Forces Pacific", "Asia/Tokyo"),
        "AR": ("Arkansas", "America/Chicago"),
        "AS": ("American Samoa", "Pacific/Pago_Pago"),
        "AZ": ("Arizona", "America/Phoenix"),
        "CA": ("California", "America/Los_Angeles"),
        "CO": ("Colorado", "America/Denver"),
        "CT": ("Connecticut", "America/New_York"),
        "DC": ("District of Columbia", "America/New_York"),
        "DE": ("Delaware", "America/New_York"),
        "FL": ("Florida", "America/New_York"),
        "GA": ("Georgia", "America/New_York"),
        "GU": ("Guam", "Pacific/Guam"),
        "HI": ("Hawaii", "Pacific/Honolulu"),
        "IA": ("Iowa", "America/Chicago"),
        "ID": ("Idaho", "America/Boise"),
        "IL": ("Illinois", "America/Chicago"),
        "IN": ("Indiana", "America/Indiana/Indianapolis"),
        "KS": ("Kansas", "America/Chicago"),
        "KY": ("Kentucky", "America/New_York"),
        "LA": ("Louisiana", "America/Chicago"),
        "MA": ("Massachusetts", "America/New_York"),
        "MD": ("Maryland", "America/New_York"),
        "ME": ("Maine", "America/New_York"),
        "MI": ("Michigan", "America/Detroit"),
        "MN": ("Minnesota", "America/Chicago"),
        "MO": ("Missouri", "America/Chicago"),
        "MP": ("Northern Mariana Islands", "Pacific/Guam"),
        "MS": ("Mississippi", "America/Chicago"),
        "MT": ("Montana", "America/Denver"),
        "NC": ("North Carolina", "America/New_York"),
        "ND": ("North Dakota", "America/Chicago"),
        "NE": ("Nebraska", "America/Chicago"),
        "NH": ("New Hampshire", "America/New_York"),
        "NJ": ("New Jersey", "America/New_York"),
        "NM": ("New Mexico", "America/Denver"),
        "NV": ("Nevada", "America/Los_Angeles"),
        "NY": ("New York", "America/New_York"),
        "OH": ("Ohio", "America/New_York"),
        "OK": ("Oklahoma", "America/Chicago"),
        "OR": ("Oregon", "America/Los_Angeles"),
        "PA": ("Pennsylvania", "America/New_York"),
        "PR": ("Puerto Rico", "America/Puerto_Rico"),
        "RI": ("Rhode Island", "America/New_York"),
        "SC": ("South Carolina", "America/New_York"),
        "SD": ("South Dakota", "America/Chicago"),
        "TN": ("Tennessee", "America/Chicago"),
        "TX": ("Texas", "America/Chicago"),
        "UT": ("Utah", "America/Denver"),
        "VA": ("Virginia", "America/New_York"),
        "VI": ("US Virgin Islands", "America/Puerto_Rico"),
        "VT": ("Vermont", "America/New_York"),
        "WA": ("Washington", "America/Los_Angeles"),
        "WI": ("Wisconsin", "America/Chicago"),
        "WV": ("West Virginia", "America/New_York"),
        "WY": ("Wyoming", "America/Denver"),
    },
}
ZONES_OF_COUNTRIES = {"AU": "Australia/Sydney", "CA": "America/Toronto", "US": "America/New_York"}
# Other names of countries; shops write "United States (US)".
COUNTRY_NAMES = {
    "AS": ("ASM",),
    "AU": ("Australia", "AU", "AUS", "Aust", "Aussie", "Commonwealth of Australia"),
    "CA": ("Canada", "CA", "CAN"),
    "CC": ("Cocos Islands", "Keeling Islands", "CCK"),
    "CX": ("CXR",),
    "AE": ("UAE", "U.A.E."),
    "CZ": ("Czechia",),
    "GB": (
        "UK",
        "U.K.",
        "GBR",
        "Great Britain",
        "Britain",
        "England",
        "Scotland",
        "Wales",
        "Northern Ireland",
        "United Kingdom (UK)",
    ),
    "GU": ("GUM", "Guam (US)", "Guam USA"),
    "IE": ("IRL", "Eire", "Republic of Ireland"),
    "KR": ("Korea", "Republic of Korea"),
    "MP": (
        "Northern Marianas",
        "Commonwealth of the Northern Mariana Islands",
        "CNMI",
        "MNP",
        "Saipan",
    ),
    "NF": ("NFK",),
    "NL": ("Holland", "The Netherlands"),
    "NZ": ("NZL", "Aotearoa", "Aotearoa New Zealand", "N.Z."),
    "PR": ("PRI", "Puerto Rico (US)", "Puerto Rico USA", "Porto Rico"),
    "SG": ("SGP",),
    "US": (
        "United States",
        "United States of America",
        "US",
        "USA",
        "U.S.A.",
        "U.S. of A.",
        "United States (US)",
        "United States of America (USA)",
        "The United States",
        "U S A",
        "U S",
        "Estados Unidos",
        "Estados Unidos de América",
        "EE. UU.",
        "États-Unis",
        "États-Unis d'Amérique",
    ),
    "VI": (
        "U.S. Virgin Islands",
        "Virgin Islands, U.S.",
        "Virgin Islands (US)",
        "Virgin Islands (U.S.)",
        "USVI",
        "VIR",
        "United States Virgin Islands",
        "United States (US) Virgin Islands",
    ),
}
# Countries that another country's post calls its states, by ISO code.
TERRITORIES = {
    "AU": {"CC": "WA", "CX": "WA", "NF": "NSW"},
    "US": {"AS": "AS", "GU": "GU", "MP": "MP", "PR": "PR", "VI": "VI"},
}
# the United States' military posts abroad
MILITARY, MILITARY_CITIES = {"AA", "AE", "AP"}, {"apo", "dpo", "fpo"}
# Other common abbreviations of states.
SHORTENED = {
    "AU": "TASM:TAS VICT:VIC",
    "CA": (
        "ALTA:AB MAN:MB NFLD:NL NF:NL LAB:NL NEWFOUNDLAND:NL LABRADOR:NL NWT:NT ONT:ON PEI:PE"
        " QUE:QC PQ:QC SASK:SK YK:YT"
    ),
    "US": (
        "ALA:AL ARIZ:AZ ARK:AR CALIF:CA COLO:CO CONN:CT FLA:FL ILL:IL KANS:KS MASS:MA MICH:MI"
        " MINN:MN MONT:MT NEBR:NE NEV:NV OKLA:OK ORE:OR PENN:PA PENNA:PA TENN:TN TEX:TX WASH:WA"
        " WISC:WI WYO:WY USVI:VI CNMI:MP"
    ),
}
WASHINGTON = {"washington dc": "DC", "washington d c": "DC", "d c": "DC", "virgin islands": "VI"}


@lru_cache(maxsize=1)
def _states_by_name() -> dict[str, dict[str, str]]:
    """Return each country's states by their normalised names."""
    found = {}
    for country, states in STATES.items():
        short = dict(pair.split(":") for pair in SHORTENED[country].split())
        full = {name: code for code, (name, _) in states.items()} | {code: code for code in states}
        found[country] = {normalise_name(word): code for word, code in (short | full).items()}
    found["US"] |= WASHINGTON
    return found


@lru_cache(maxsize=4096)
def state_code(country: str, text: str) -> str:
    """Return `VIC` for `Victoria`, `vic` and `AU-VIC`; an unknown state in upper case."""
    words = normalise_name(text)
    known = _states_by_name().get(country, {})
    return (
        known.get(words)
        or known.get(words.removeprefix(f"{country.lower()} "))
        or (" ".join(text.split()).upper().replace(".", ""))
    )


def state_name(country: str, code: str) -> str:
    """Return a state's name, or the code itself if there is none."""
    return STATES.get(country, {}).get(code, (code, ""))[0]
