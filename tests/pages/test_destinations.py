"""Where a parcel may go: anywhere the carrier quotes, from countries the interface allows exports from."""

from collections.abc import Callable
from typing import Any

import pytest
from django.forms import Select
from django.test import Client
from django.test.html import parse_html

from orders.booking import bookings
from orders.drafting.form_fields import CountrySelect
from orders.drafting.receiver_form import reach_from
from orders.models import Order, Quote
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.models import User
from shipping_portal.importing.row_values import country_code
from tests.pages.typed import ABROAD, messages_at, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

TO_NEW_ZEALAND = {
    **ABROAD,
    "receiver_country": "NZ",
    "receiver_line1": "7 Sample Terrace",
    "receiver_suburb": "Ponsonby",
    "receiver_state": "",
    "receiver_postcode": "1011",
    "receiver_phone": "+64 21 123 4567",
}
TO_LONDON = {**TO_NEW_ZEALAND, "receiver_country": "gb", "receiver_suburb": "London", "receiver_postcode": "sw1a 1aa"}
TO_HONG_KONG = {**TO_NEW_ZEALAND, "receiver_country": "HK", "receiver_suburb": "Wan Chai", "receiver_postcode": ""}


@pytest.mark.parametrize("chosen", [None, "", "NZ", "nz", '"><b>'])
def test_the_list_of_countries_is_written_as_django_writes_it(chosen: str | None) -> None:
    attrs = {"id": "id_country", "required": True, "autofocus": False, "aria-label": '"To" & from'}
    choices = [*countries.country_choices(["NZ", "AU"]), ("<i>", "Not & a <b>country</b>")]
    ours, djangos = (kind({"class": "w3"}, choices) for kind in (CountrySelect, Select))
    assert parse_html(ours.render("to", chosen, attrs)) == parse_html(djangos.render("to", chosen, attrs))


@pytest.fixture
def page(localities: None, alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


@pytest.mark.parametrize("country", ["CW", "SX", "BQ", "GA", "TT", "PA", "SS"])
def test_a_country_without_postcodes_asks_for_none(carrier: SandboxCarrier, page: Client, country: str) -> None:
    answer = page.post(
        "/parcels/new/", {**TO_HONG_KONG, "receiver_country": country, "receiver_phone": "+64 21 123 4567"}
    )
    assert "Enter the postcode." not in text(answer)


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        (TO_NEW_ZEALAND, ("Ponsonby", "", "1011", "NZ")),
        (TO_LONDON, ("London", "", "SW1A 1AA", "GB")),
        (TO_HONG_KONG, ("Wan Chai", "", "", "HK")),
    ],
)
def test_a_parcel_goes_wherever_the_carrier_quotes(
    carrier: SandboxCarrier, page: Client, typed: dict[str, Any], place: tuple[str, ...]
) -> None:
    answer = page.post("/parcels/new/", typed)
    assert answer.status_code == 302, text(answer)
    quote = Quote.objects.get()
    answer = page.post(
        f"{answer['Location']}book/",
        {"product": quote.products[0]["code"], "form_token": "0d7e5c1e-8f0b-4f57-9c8d-3f4f7d1d9c55"},
    )
    order = Order.objects.get()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked", order.problem
    receiver = order.receiver()
    assert (receiver.suburb, receiver.state, receiver.postcode, receiver.country) == place
    assert countries.country_name(place[3]) in text(page.get(f"/parcels/{order.uuid}/"))
    listed = text(page.get("/parcels/", {"country": place[3]}))
    assert str(order) in listed
    assert str(order) not in text(page.get("/parcels/", {"country": "FR"}))


def test_a_country_the_carrier_does_not_go_to_is_refused_in_its_own_words(
    carrier: SandboxCarrier, page: Client
) -> None:
    answer = page.post("/parcels/new/", {**TO_NEW_ZEALAND, "receiver_country": "KZ"})
    assert "is not a country we carry to" in text(answer)


def test_the_home_country_and_those_of_the_service_come_first(page: Client) -> None:
    body = page.get("/parcels/new/").content.decode()
    offered = body[body.index('id="id_receiver_country"') :].split("</select>")[0]
    codes = [part.split('"')[0] for part in offered.split('<option value="')[1:]]
    assert codes[:5] == ["AU", "CA", "US", "AF", "AX"] or codes[:4] == ["AU", "CA", "US", "AF"]
    assert {"NZ", "GB", "KR"} < set(codes)
    assert len(codes) == len(set(codes)) == len(countries.country_names())


@pytest.mark.parametrize(
    ("found", "origin", "reach"),
    [
        ("", "AU", set()),
        ("", "CA", {"CA"}),
        ('destinations = ["NZ", "FJ"]', "AU", {"AU", "NZ", "FJ"}),
        ('destinations = ["NZ"]', "CA", {"CA"}),
        ('export_origins = ["AU", "CA"]', "CA", set()),
        ('export_origins = ["US"]', "AU", {"AU"}),
    ],
)
def test_the_contract_says_where_parcels_may_go_and_where_they_may_leave(
    contract: Callable[[str], None], found: str, origin: str, reach: set[str]
) -> None:
    contract(found)
    assert reach_from(origin) == reach


def test_a_list_of_destinations_is_shown_at_the_field(contract: Callable[[str], None], page: Client) -> None:
    contract('destinations = ["NZ", "FJ"]')
    found = messages_at(page.post("/parcels/new/", ABROAD), "receiver_country")
    assert found == ["Parcels from Australia go to Australia, Fiji and New Zealand only."]


def test_a_canadian_parcel_abroad_has_its_contents_priced_in_its_own_currency(
    contract: Callable[[str], None], ottawa: Client
) -> None:
    contract('export_origins = ["AU", "CA", "US"]')
    assert "Value of one, CAD" in text(ottawa.get("/parcels/new/"))


def test_an_address_line_may_not_repeat_any_country_name(page: Client) -> None:
    typed = {**TO_NEW_ZEALAND, "receiver_line2": "Floor 2, New Zealand"}
    assert "Leave out “New Zealand” here." in messages_at(page.post("/parcels/new/", typed), "receiver_line2")[0]


@pytest.mark.parametrize(
    ("written", "code"),
    [("New Zealand", "NZ"), ("united kingdom", "GB"), ("nz", "NZ"), ("USA", "US"), ("Atlantis", "Atlantis")],
)
def test_an_import_file_may_name_any_country(written: str, code: str) -> None:
    assert country_code(written) == code


def test_extra_cover_is_limited_by_the_contract(contract: Callable[[str], None], page: Client) -> None:
    contract("cover_limit = 500")
    shown = text(page.get("/parcels/new/"))
    assert "In AUD, at most 500." in shown
    found = messages_at(page.post("/parcels/new/", {**ABROAD, "cover_amount": "500.01"}), "cover_amount")
    assert found == ["Extra Cover goes up to 500."]


def test_extra_cover_is_offered_where_the_contract_allows_it(contract: Callable[[str], None], page: Client) -> None:
    contract('cover_origins = ["US"]')
    assert "Extra Cover" not in text(page.get("/parcels/new/"))
    answer = page.post("/parcels/new/", {**ABROAD, "cover_amount": "100"})
    assert "Extra Cover is for parcels from United States only." in text(answer)


SHIRT = {**ABROAD, "item_1_hs_code": "6109.10.0012"}


@pytest.mark.parametrize(
    ("said", "typed", "name", "found"),
    [
        ("longest_name = 35", {"receiver_name": "x" * 36}, "receiver_name", "Use at most 35 characters; this has 36."),
        (
            "longest_name = 35",
            {"receiver_company": "x" * 36},
            "receiver_company",
            "Use at most 35 characters; this has 36.",
        ),
        (
            "longest_instructions = 30",
            {"delivery_choice": "signature", "delivery_place": "x" * 20},
            "delivery_place",
            "Together this is 43 of 30 characters.",
        ),
        ("hs_code_longest = 8", {}, "item_1_hs_code", "An HS code has 6 to 8 digits."),
        ("hs_code_shortest = 8", {"item_1_hs_code": "610910"}, "item_1_hs_code", "An HS code has 8 to 10 digits."),
        ('contents_types = ["Goods"]', {"contents_type": "Gift"}, "contents_type", "Choose one of these: Goods."),
        ("", {"description": ""}, "description", "Say what's inside, such as “ceramic mugs”."),
    ],
)
def test_field_lengths_are_limited_by_the_contract(
    contract: Callable[[str], None], page: Client, said: str, typed: dict[str, str], name: str, found: str
) -> None:
    contract(said)
    assert messages_at(page.post("/parcels/new/", {**SHIRT, **typed}), name) == [found]


def test_a_description_may_be_left_out_where_the_contract_does_not_need_one(
    carrier_with: Callable[[str], SandboxCarrier], page: Client
) -> None:
    carrier_with("description_needed = false")
    assert page.post("/parcels/new/", {**ABROAD, "description": ""}).status_code == 302
