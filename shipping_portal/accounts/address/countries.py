"""Name countries by ISO 3166 code, and say which have no postcodes."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import resources

from shipping_portal.accounts.address.text import normalise_name, word_set

# Used where the time zone database abbreviates a name or has one that no address uses.
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
# Addresses in these countries have no postcode, or are mostly written without one.
WITHOUT_POSTCODES = word_set(
    "AE AG AO AW BF BI BJ BO BQ BS BW BZ CD CF CG CI CK CM CW DJ DM ER FJ GA GD GH GM GQ GY HK JM "
    "KI KM KN KP LC LY ML MO MR MS MW NR NU PA PS QA RW SB SC SL SR SS ST SX SY TD TG TK TL TO TT "
    "TV UG VU WS YE ZW"
)

WITH_ARTICLE = word_set("AE BS CZ DO GB GM KM KY MH NL PH SB TC US VG VI")


@lru_cache(maxsize=1)
def country_names() -> dict[str, str]:
    """Return every country's name by code, sorted by name."""
    table = resources.files("tzdata.zoneinfo").joinpath("iso3166.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    named = {code: PLAIN_NAMES.get(code, name) for code, name in rows}
    return dict(sorted(named.items(), key=lambda country: country[1]))


def country_choices(first: Sequence[str], *, only: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return codes and names to choose from, those in `first` before the others.

    `only` limits the choice to these.
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


# A line for each state or province: its country and code, the time zone of most of it, and its
# name.
TABLE_OF_STATES = """
AU ACT Australia/Sydney             Australian Capital Territory
AU NSW Australia/Sydney             New South Wales
AU NT  Australia/Darwin             Northern Territory
AU QLD Australia/Brisbane           Queensland
AU SA  Australia/Adelaide           South Australia
AU TAS Australia/Hobart             Tasmania
AU VIC Australia/Melbourne          Victoria
AU WA  Australia/Perth              Western Australia
CA AB  America/Edmonton             Alberta
CA BC  America/Vancouver            British Columbia
CA MB  America/Winnipeg             Manitoba
CA NB  America/Moncton              New Brunswick
CA NL  America/St_Johns             Newfoundland and Labrador
CA NS  America/Halifax              Nova Scotia
CA NT  America/Yellowknife          Northwest Territories
CA NU  America/Iqaluit              Nunavut
CA ON  America/Toronto              Ontario
CA PE  America/Halifax              Prince Edward Island
CA QC  America/Toronto              Quebec
CA SK  America/Regina               Saskatchewan
CA YT  America/Whitehorse           Yukon
US AA  America/New_York             Armed Forces Americas
US AE  Europe/Berlin                Armed Forces Europe
US AK  America/Anchorage            Alaska
US AL  America/Chicago              Alabama
US AP  Asia/Tokyo                   Armed Forces Pacific
US AR  America/Chicago              Arkansas
US AS  Pacific/Pago_Pago            American Samoa
US AZ  America/Phoenix              Arizona
US CA  America/Los_Angeles          California
US CO  America/Denver               Colorado
US CT  America/New_York             Connecticut
US DC  America/New_York             District of Columbia
US DE  America/New_York             Delaware
US FL  America/New_York             Florida
US GA  America/New_York             Georgia
US GU  Pacific/Guam                 Guam
US HI  Pacific/Honolulu             Hawaii
US IA  America/Chicago              Iowa
US ID  America/Boise                Idaho
US IL  America/Chicago              Illinois
US IN  America/Indiana/Indianapolis Indiana
US KS  America/Chicago              Kansas
US KY  America/New_York             Kentucky
US LA  America/Chicago              Louisiana
US MA  America/New_York             Massachusetts
US MD  America/New_York             Maryland
US ME  America/New_York             Maine
US MI  America/Detroit              Michigan
US MN  America/Chicago              Minnesota
US MO  America/Chicago              Missouri
US MP  Pacific/Guam                 Northern Mariana Islands
US MS  America/Chicago              Mississippi
US MT  America/Denver               Montana
US NC  America/New_York             North Carolina
US ND  America/Chicago              North Dakota
US NE  America/Chicago              Nebraska
US NH  America/New_York             New Hampshire
US NJ  America/New_York             New Jersey
US NM  America/Denver               New Mexico
US NV  America/Los_Angeles          Nevada
US NY  America/New_York             New York
US OH  America/New_York             Ohio
US OK  America/Chicago              Oklahoma
US OR  America/Los_Angeles          Oregon
US PA  America/New_York             Pennsylvania
US PR  America/Puerto_Rico          Puerto Rico
US RI  America/New_York             Rhode Island
US SC  America/New_York             South Carolina
US SD  America/Chicago              South Dakota
US TN  America/Chicago              Tennessee
US TX  America/Chicago              Texas
US UT  America/Denver               Utah
US VA  America/New_York             Virginia
US VI  America/Puerto_Rico          US Virgin Islands
US VT  America/New_York             Vermont
US WA  America/Los_Angeles          Washington
US WI  America/Chicago              Wisconsin
US WV  America/New_York             West Virginia
US WY  America/Denver               Wyoming
"""


def _read_states(table: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return each state's name and zone, by country and code."""
    found = defaultdict[str, dict[str, tuple[str, str]]](dict)
    for line in table.strip().splitlines():
        country, code, zone, name = line.split(maxsplit=3)
        found[country][code] = name, zone
    return dict(found)


STATES = _read_states(TABLE_OF_STATES)
ZONES_OF_COUNTRIES = {"AU": "Australia/Sydney", "CA": "America/Toronto", "US": "America/New_York"}
# Other names of countries; shops write "United States (US)".
COUNTRY_NAMES = {
    "AS": ("ASM",),
    "AU": ("Australia", "AU", "AUS", "Aust", "Aussie", "Commonwealth of Australia"),
    "CA": ("Canada", "CA", "CAN", "Canada (CA)"),
    "CC": ("Cocos Islands", "Keeling Islands", "CCK"),
    "CN": ("PRC", "People's Republic of China", "Mainland China"),
    "CX": ("CXR",),
    "DE": ("Deutschland",),
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
    "TR": ("Türkiye",),
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
    "VN": ("Viet Nam",),
}
# Countries that another country's postal service treats as its states, by ISO code.
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
    """Return each country's state codes by normalised name."""
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
