"""The parcel form for parcels abroad and from the United States: more fields, the same rules."""

from typing import Any

import pytest

from tests.catalogue.browsing import Browser, ListeningCarrier, lost
from tests.catalogue.form_values import HIDDEN, NEW, TWICE, refused
from tests.catalogue.rows import rows
from tests.pages.typed import ABROAD, FROM_OHIO, text

pytestmark = pytest.mark.django_db


@rows(
    "name, typed, message",
    (
        "B20",
        "no phone",
        "receiver_phone",
        "",
        "Add the receiver's phone. Parcels leaving Australia need an email and a phone number.",
    ),
    ("B20", "no e-mail", "receiver_email", "", "Enter the receiver's email."),
    ("B1", "customs", "item_1_description", "shirt\x00", HIDDEN),
    ("B1", "kind of contents", "contents_type", "Gift\x00", HIDDEN),
    ("B3", "customs", "item_1_origin", "B\nD", HIDDEN),
    ("B8", "value of an item", "item_1_value", "NaN", "Enter a number, like 28.00."),
    ("B8", "a negative quantity", "item_1_quantity", "-2", "Enter a number, like 2."),
    ("B12", "half a piece", "item_1_quantity", "1.5", "Use a whole number."),
    ("B30", "value of an item", "item_1_value", ["1", "1000"], TWICE),
)
def test_a_bad_value_for_a_parcel_abroad_is_refused(
    alices: Browser, listener: ListeningCarrier, name: str, typed: Any, message: str
) -> None:
    refused(alices, {**ABROAD, name: typed}, name, message, listener)


@rows(
    "name, typed, message",
    (
        "B6",
        "American state",
        "receiver_line1",
        "500 SW Placeholder Ave, Portland OR",
        "Leave out “Portland OR” here. It's printed from the city field.",
    ),
    ("B3", "American instructions", "receiver_instructions", "ring\r\ntwice", HIDDEN),
    (
        "B25",
        "10,000 characters from the United States",
        "receiver_instructions",
        "x" * 10_000,
        "Use at most 200 characters; this has 10000.",
    ),
)
def test_a_bad_value_for_a_parcel_in_the_united_states_is_refused(
    from_ohio: Browser, listener: ListeningCarrier, name: str, typed: str, message: str
) -> None:
    refused(from_ohio, {**FROM_OHIO, name: typed}, name, message, listener)


@rows("amount", ("B21", "from the United States", "100"), ("B21", "none at all, yet sent", "0"))
def test_extra_cover_is_only_for_parcels_from_australia(
    from_ohio: Browser, listener: ListeningCarrier, amount: str
) -> None:
    answer = from_ohio.send(NEW, {**FROM_OHIO, "cover_amount": amount})
    assert answer.status_code == 422
    assert "Extra Cover is for parcels from Australia only." in text(answer)
    assert lost(answer, FROM_OHIO) == {}
    assert listener.asked == []
