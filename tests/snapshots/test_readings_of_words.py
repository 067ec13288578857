"""How places, business days, times and money are shown, by country."""

import datetime as dt
from decimal import Decimal
from itertools import product
from types import SimpleNamespace
from typing import Any

from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags import words
from shipping_portal.carrier.messages import Money
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

ZONES = (
    ("AU", "VIC", "3065"), ("AU", "NSW", "2880"), ("AU", "NSW", "2881"), ("AU", "wa", ""), ("AU", "", ""), ("AU",
    "XX", ""), ("US", "FL", "32501"), ("US", "FL", "32401"), ("US", "FL", "32301"), ("US", "TN", "37402"),
    ("US", "TN", "37501"), ("US", "TN", "37601"), ("US", "TX", "79901"), ("US", "TX", "88510-1234"), ("US", "Oregon",
    "97205"), ("US", "", ""), ("CA", "ON", "K1P 5M7"), ("CA", "NL", ""), ("CA", "", ""), ("NZ", "AUK", "1010"), ("",
    "", ""),
)  # fmt: skip
EVES = (
    "2026-12-24",
    "2026-12-31",
    "2027-03-25",
    "2026-11-02",
    "2026-11-20",
    "2026-11-21",
    "2026-11-25",
    "2027-01-25",
    "2026-06-30",
    "2026-10-09",
)


def working_days(where: tuple[str, str], day: str) -> list[str]:
    found = places.business_days(*where, after=dt.date.fromisoformat(day), count=3)
    return [f"{one:%d.%m.}" for one in found]


def test_places_and_business_days_are_as_expected() -> None:
    codes = [
        ("CA", "k1p5m7"),
        ("CA", " K1P 5M7"),
        ("CA", "K1P5M"),
        ("US", "97205-1234"),
        ("US", "972051234"),
        ("US", "97205"),
        ("US", "9720-51234"),
        ("AU", " 30 65 "),
        ("GB", "sw1a 1aa"),
        ("AU", ""),
    ]
    after = [("AU", "VIC"), ("AU", "Queensland"), ("AU", "XX"), ("US", "OR"), ("CA", "ON"), ("NZ", ""), ("DE", "")]
    compare(
        "reads-places",
        [
            *lines(places.normalise_name, ["Mt. Eliza", "O'Connor", "O’Connor", "SAINT-DENIS", "Zürich", "a_b", "  x  y ",
            "ß", "K'gari (Fraser Island)", ""]),
            *lines(places.postal_code, codes),
            *lines(places.zone_of, ZONES),
            *lines(working_days, list(product(after, EVES)), "the next three days of work"),
        ],
    )  # fmt: skip


MOMENTS = tuple(dt.datetime.fromisoformat(f"{text}:00+00:00") for text in (
    "2026-12-31T12:59", "2026-12-31T13:00", "2026-12-31T13:30", "2027-01-01T00:00", "2026-04-04T15:59",
    "2026-04-04T16:00", "2026-10-03T15:59", "2026-10-03T16:00", "2026-03-08T09:59",
    "2026-03-08T10:00", "2026-11-01T08:59", "2026-11-01T09:00", "2027-06-30T01:05", "2027-06-30T02:05",
    "2027-06-29T14:00",
))  # fmt: skip
AMOUNTS: tuple[Any, ...] = (
    "8.95",
    8.95,
    Decimal("-8.954"),
    Decimal("8.955"),
    Decimal("8.945"),
    0,
    "-0.001",
    "1234567.5",
    None,
    "",
    Money(Decimal(5), "NZD"),
    Money(Decimal(-5), "CAD"),
)


def chip(status: str, progress: str) -> str:
    told_as = {"get_status_display": lambda: "S", "get_progress_display": lambda: "P"}
    return words.status_chip(SimpleNamespace(status=status, progress=progress, **told_as))


def test_money_days_and_words_by_country_are_as_expected() -> None:
    senders = {
        country: Sender(country=country, zone=zone)
        for country, zone in (("AU", "Australia/Melbourne"), ("US", "America/Los_Angeles"), ("CA", "America/Toronto"))
    }
    chips = [(name, "x & y") for name in (*words.BADGES, "other")]
    said = list(
        product(
            ("suburb", "State", "postcode", "parcels", "mass", "Length", "paper", "Suburbs"),
            ("AU", "US", "CA", "GB", "NZ"),
        )
    )
    compare(
        "reads-words",
        [
            *lines(words.local_word, said),
            *lines(lambda amount: [words.money(amount), words.money(amount, "aud"), words.money(amount, "eur"),
            words.money_in(amount, "USD"), words.money_in(amount, "EUR")], AMOUNTS,
            "money: none, aud, eur, in USD, in EUR"),
            *lines(words.plain, [Decimal("2.400"), Decimal("10"), Decimal("100.0"), Decimal("1E+2"), "2.50", "20", 5,
            5.0, "0.0", ""]),
            *lines(lambda at: [words.local_moment(at, one) for one in (*senders.values(), None)], MOMENTS,
            "in Melbourne, Los Angeles, Toronto, nowhere"),
            *lines(lambda day: [words.local_date(day, one) for one in senders.values()], [dt.date(2026, 12, 31),
            dt.date(2027, 1, 1), dt.date(2027, 2, 9), None], "a date"),
            *lines(words.chip, chips),
            *lines(chip, [("booked", "delivered"), ("booked", ""),
            ("cancelled", "delivered")], "status_chip"),
        ],
    )  # fmt: skip
