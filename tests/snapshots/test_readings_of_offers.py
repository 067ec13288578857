"""How the products of a quote are shown: their badges, days, warnings, and how long a price is valid."""

import datetime as dt
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from orders.booking import booking_rules, verdict
from orders.models import Quote
from orders.quoting import asking, offers
from shipping_portal.carrier.messages import Party
from tests.snapshots.comparing import compare
from tests.snapshots.tables import changes, lines, text_of
from tests.snapshots.test_readings_of_answers import AT, AU, order
from tests.snapshots.test_readings_of_parcels import ENTRY


def offer(code: str, amount: str, last: str | None, mile: str = "pickup", **more: Any) -> dict[str, Any]:
    plain = {
        "code": code,
        "name": code.title(),
        "first_mile": mile,
        "amount": amount,
        "currency": "AUD",
        "breakdown": [["price.base", amount, "AUD"]],
        "taxes": [],
        "cover": None,
        "eta_from": last,
        "eta_to": last,
        "duties_paid": False,
    }
    return plain | more


OFFERS: dict[str, list[dict[str, Any]]] = {
    "none": [], "one": [offer("A", "9", "2026-11-25")], "two": [offer("A", "9.50", "2026-11-26"), offer("B", "10",
    "2026-11-25")], "the same day": [offer("A", "10", "2026-11-25"), offer("B", "9.00", "2026-11-25")],
    "no days": [offer("A", "9", None), offer("B", "9", None)], "one day": [offer("A", "9", None), offer("B", "8",
    "2026-11-25")], "a drop-off": [offer("A", "9", "2026-11-25", "drop-off", cover="3.00", duties_paid=True)],
    "refused": [offer("A", "9", "2026-11-25", refused="No codes."), offer("B", "99", "2026-11-30")],
}  # fmt: skip


def badges(products: list[dict[str, Any]]) -> list[str]:
    made = offers._sorted_offers(Quote(products=products, sender=AU), ENTRY, AT)
    return [changes(one, replace(made[0], code="", total=None, is_cheapest=None)) for one in made]


@pytest.mark.django_db
def test_offers_and_pickup_days_are_shown_as_expected() -> None:
    here, there = (
        Party(line1="1 A St", suburb="Fitzroy", postcode="3065", country="AU", state="VIC"),
        Party(line1="1  a st", suburb="FITZROY", postcode="3065", country="AU"),
    )
    first = [None, *(dt.date(2026, 11, day) for day in (23, 24, 25, 28))]
    names = ["price.base", "service_charge", "gst", "HST", "fuel_levy", "a.b.remote_area", "", "GST.x", "_"]
    second = SimpleNamespace(pickup=here, receiver=there, measures=ENTRY.measures)
    long = SimpleNamespace(pickup=here, receiver=Party(line1="x" * 41, line2="y" * 40), measures=ENTRY.measures)
    ages = [dt.timedelta(seconds=seconds) for seconds in (0, 599, 600, 601, 899, 900, 901, 1800, 1801, 3600, 3601)]
    compare(
        "reads-offers",
        [
            *(f"{name} -> {badges(found)}; closed: {text_of(offers._closed_offers(Quote(products=found), ENTRY))}" for name,
            found in OFFERS.items()),
            *lines(lambda day, at: [f"{one:%d.%m.}" for one in booking_rules.pickup_days(AU, here, at, first=day)],
            list(product(first, [AT - dt.timedelta(hours=1), AT])), "pickup_days"),
            *lines(offers._readable_name, names),
            *lines(offers.quote_warnings, [second, long, ENTRY], "warnings"),
            *lines(lambda age: (verdict.is_old(order("booking", quoted_at=AT - age), AT),
            Quote(made_at=AT - age).is_live(AT)), ages, "is old; is live"),
            asking.needs_codes(),
        ],
    )  # fmt: skip
