"""Matching columns to fields: our own template, shops' exports, and unknown columns."""

import pytest

from shipping_portal.accounts.models import Sender
from shipping_portal.importing import columns, guessing
from tests import factories
from tests.importing.shop_files import MATCHES

pytestmark = pytest.mark.django_db


def fields_of(country: str) -> list[columns.Field]:
    sender = Sender(country=country)
    return columns.fields(sender, factories.PickupAddress(country=country))


@pytest.mark.parametrize("country", ["AU", "US", "CA"])
def test_every_column_of_our_own_template_matches_its_field(country: str) -> None:
    fields = fields_of(country)
    template = [field.label for field in fields]
    assert {"AU": "Weight, kg", "US": "Weight, lb", "CA": "Weight, kg"}[country] in template
    assert guessing.guess_columns(template, fields) == {field.name: place for place, field in enumerate(fields)}


@pytest.mark.parametrize("shop", MATCHES)
def test_the_columns_of_a_shop_are_recognised(shop: str) -> None:
    header, expected = MATCHES[shop]
    names = header.split(",")
    found = guessing.guess_columns(names, fields_of("AU"))
    assert {name: names[place] for name, place in found.items()} == expected


def test_a_surname_is_added_only_to_a_column_of_first_names() -> None:
    fields = fields_of("AU")
    assert guessing.guess_columns(["Full Name", "Last Name"], fields) == {"receiver_name": 0}
    assert guessing.guess_columns(["First Name", "Last Name"], fields) == {"receiver_name": 0, "receiver_last_name": 1}


def test_short_names_of_columns_are_recognised() -> None:
    named = {
        "customer_reference": "Ord No.",
        "receiver_name": "Consignee",
        "receiver_line1": "Addr 1",
        "receiver_line2": "Addr 2",
        "receiver_suburb": "Suburb/Town",
        "receiver_state": "State/Terr.",
        "receiver_postcode": "P/code",
        "receiver_phone": "Ph No.",
        "receiver_email": "E-mail addr",
        "weight": "Wt (kg)",
        "length": "Len (cm)",
        "width": "Wid (cm)",
        "height": "Ht (cm)",
    }
    found = guessing.guess_columns([*named.values()], fields_of("AU"))
    assert found == {name: place for place, name in enumerate(named)}
