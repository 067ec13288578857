"""How names, address lines, phones, countries and states are read."""

import datetime as dt
from decimal import Decimal
from itertools import product

from shipping_portal import sheets
from shipping_portal.accounts.address import addresses, countries, phones
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

LINES = (
    "1 A Street", "  1  A\u00a0Street ", "Zoe\u0308", "Łódź ß Ø", "Ｄａｎｇ", "Дом", "Анна 5", "5 € £ ° №", "a\tb",
    "a\x00b", "a\u200bb", "\u202eabc", "---", "½ x", "x²", "ª º", "", " ",
    "☂ shop", "x" * 255, "x" * 256, "日本", "ﬁne", "O’Neil – “x”", "a\u2028b", "5️⃣ Road", "Ⅷ Road", "$5 + 3 = 8",
)  # fmt: skip
REPEATS = (
    ("1 Smith Street, Fitzroy VIC 3065", "Fitzroy", "3065", "VIC", "AU"), ("1 Fitzroy Street", "Fitzroy", "3065",
    "VIC", "AU"), ("12 Broadway", "Broadway", "2007", "NSW", "AU"),
    ("1 Smith Street Fitzroy", "Fitzroy", "3065", "VIC", "AU"), ("Fitzroy", "Fitzroy", "3065", "VIC", "AU"),
    ("Unit 3065", "Fitzroy", "3065", "VIC", "AU"), ("PO Box 3065", "Fitzroy", "3065", "VIC", "AU"),
    ("1 Smith St 3065", "Fitzroy", "3065", "VIC", "AU"), ("1 Smith St, Victoria", "Fitzroy", "3065", "VIC", "AU"),
    ("1 Smith St, Australia", "Fitzroy", "3065", "VIC", "AU"), ("3065 Main Road", "Fitzroy", "3065", "VIC", "AU"),
    ("Shop 2, Fitzroy 3065 Mall", "Fitzroy", "3065", "VIC", "AU"), ("1 Rue Ottawa", "Ottawa", "K1P 5M7", "ON", "CA"),
    ("1 Elgin St K1P5M7", "Ottawa", "K1P 5M7", "ON", "CA"), ("1 Elgin St; Ottawa / ON", "Ottawa", "K1P 5M7", "ON",
    "CA"),
    ("5 Main St, U.S.A.", "Portland", "97205", "OR", "US"), ("5 Main St, OR", "Portland", "97205", "OR", "US"),
    ("Highway 7000", "Hobart", "7000", "TAS", "AU"), ("5 High St, Germany", "Bonn", "53111", "", "DE"),
    ("12-14 Broadway", "Broadway", "2007", "NSW", "AU"),
    ("1 Saint-Denis Street, saint denis", "Saint-Denis", "97400", "", "FR"), ("", "Fitzroy", "3065", "VIC", "AU"),
    ("1 Smith", "", "", "", "AU"), ("1 Smith St, FITZROY, 3065", "Fitzroy", "3065", "VIC", "AU"),
)  # fmt: skip


def test_names_and_address_lines_are_read_as_expected() -> None:
    names = [("Quill & Co", "QUILL  & co."), ("Quill", "Quills"), ("", ""), ("!", "?"), ("José", "Jose")]
    compare(
        "reads-address-lines",
        [
            *lines(addresses.clean_line, LINES),
            *lines(lambda longest: addresses.clean_line("x" * 40, longest=longest), [39, 40], "longest"),
            *lines(addresses.is_long, ["x" * 40, "x" * 41]),
            *lines(addresses.same_name, names),
            *lines(addresses.repeats_place, REPEATS),
            *lines(sheets.safe_cell, [None, "", "=1", "+61", "-5", "@x", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠1",
            " =1", "x=1", -5, Decimal("-5.50"), 1.5, True, dt.date(2026, 1, 2)]),
        ],
    )  # fmt: skip


NUMBERS = (
    "0491 570 156", "+61 491 570 156", "61491570156", "(03) 9000 1234", "9000 1234", "1300 555 123", "13 11 14",
    "1800 555 123", "+61 1300 555 123", "190 123 4567", "0491 570 15",
    "+1 503 555 0123", "503-555-0123", "(613) 555-0123", "+1 800 555 1234", "020 7946 0018", "+44 20 7946 0018",
    "+64 21 123 4567", "021 123 4567", "+49 30 901820", "+33 1 42 68 53 00", "0491 570 156 x5",
    "٠٤٩١", "", " ", "abc", "+", "0491 570 156" + " " * 30, "0" * 31, "+61 491 570 156 0000 0000 000000",
)  # fmt: skip


def test_phones_and_countries_are_read_as_expected() -> None:
    names = (
        "AU",
        "australia",
        "AUS",
        " new  zealand ",
        "Great Britain",
        "UK",
        "united kingdom",
        "de",
        "Deutschland",
        "U.S.A.",
        "USA",
        "Korea",
        "",
        "XX",
        "côte d'ivoire",
        "Vatican City",
    )
    compare(
        "reads-phones",
        [
            *lines(lambda number: [tried(number, country) for country in ("AU", "US", "CA", "GB", "NZ")], NUMBERS,
            "in Australia, the US, Canada, Britain, New Zealand"),
            *lines(phones.across_borders, [("0491 570 156", "AU"), ("503-555-0123", "US"), ("x", "AU"),
            ("+44 20 7946 0018", "AU"), ("", "AU")]),
            *lines(countries.code_of, names),
            *lines(countries.country_name, ["AU", "GB", "KR", "XX", "", "CD", "VI"]),
            *lines(lambda first, only: [code for code, _ in countries.country_choices(first, only=only)][:4], [(("AU",), ()),
            (("NZ", "AU"), ("AU", "GB", "NZ")), ((), ("GB", "DE")), ((), ())], "choices"),
            *lines(lambda: [len(countries.country_names()), len(countries.WITHOUT_POSTCODES)], [()],
            "countries, without postcodes"),
            *lines(lambda: countries.WITHOUT_POSTCODES - set(countries.country_names()), [()], "unknown among these"),
            *lines(countries.state_code, list(product(("AU", "US", "NZ"), ("Victoria", "vic", " V.I.C. ",
            "New  South Wales", "wa", "Washington", "x y")))),
            *lines(countries.state_name, [("AU", "WA"), ("US", "WA"), ("CA", "NT"), ("AU", "XX"), ("NZ", "AUK")]),
        ],
    )  # fmt: skip


def tried(number: str, country: str) -> str:
    try:
        return phones.clean_phone(number, country)
    except Exception as error:  # noqa: BLE001 - its code is written down
        return str(getattr(error, "code", error))
