"""A price by suburb or postcode, size and weight alone: no name, nothing to book."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules
from orders.drafting import drafts, sizes
from orders.models import Draft, Quote
from shipping_portal.accounts.models import Locality, Sender
from tests import factories
from tests.pages.typed import messages_at, text, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
MEASURES = {"weight_kg": "1.2", "length_cm": "30", "width_cm": "20", "height_cm": "10"}
UNKNOWN = "“Nowhere” isn't on the carrier's list. Check the spelling, or try the postcode."


def check(page: Client, **typed: str) -> Any:
    return page.post("/prices/", {**MEASURES, **typed}, follow=True)


@pytest.mark.parametrize("place", ["3056", "Brunswick", "brunswick vic 3056"[:9], "3056 Brunswick"])
def test_a_place_by_name_or_postcode_gets_prices(carrier: SandboxCarrier, listed: Client, place: str) -> None:
    answer = check(listed, place=place)
    assert answer.redirect_chain[-1][1] == 302
    assert "To Brunswick VIC 3056" in text(answer)
    assert "$" in text(answer)
    assert "Book" not in text(answer).replace("Nothing is booked", "")


def test_a_postcode_of_several_suburbs_names_the_one_it_used(carrier: SandboxCarrier, listed: Client) -> None:
    known = Locality.objects.get(suburb="BRUNSWICK")
    Locality.objects.create(
        list=known.list,
        country="AU",
        suburb="BRUNSWICK WEST",
        state="VIC",
        postcode="3056",
        normalised="brunswick west",
    )
    answer = check(listed, place="3056")
    assert "3056 has 2 suburbs. These prices are for Brunswick." in text(answer)


def test_a_default_size_leaves_only_the_place_to_type(carrier: SandboxCarrier, listed: Client, quill: Sender) -> None:
    size = factories.size(quill)
    sizes.make_default(size)
    assert f'value="{size.uuid}"' in listed.get("/prices/").content.decode()
    answer = listed.post("/prices/", {"place": "3056", "size": str(size.uuid)}, follow=True)
    assert "To Brunswick VIC 3056" in text(answer)


@pytest.mark.parametrize(
    ("changes", "name", "found"),
    [
        ({"place": ""}, "place", "Enter where it goes."),
        (
            {"place": "Nowhere"},
            "place",
            "“Nowhere” isn't on the carrier's list. Check the spelling, or try the postcode.",
        ),
        ({"place": "3056", "weight_kg": "1,2"}, "weight_kg", "Use a dot: 1.2."),
    ],
)
def test_an_error_shows_at_its_field(listed: Client, changes: dict[str, str], name: str, found: str) -> None:
    answer = check(listed, **changes)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [found]


def test_a_checked_price_cannot_be_booked_but_becomes_a_parcel(carrier: SandboxCarrier, listed: Client) -> None:
    check(listed, place="3056")
    quote = Quote.objects.get()
    with pytest.raises(booking_rules.ServiceNotOffered):
        booking_rules.bookable_offer(quote, quote.products[0]["code"], None, timezone.now())
    draft = Draft.objects.get()
    assert listed.get(f"/parcels/drafts/{draft.uuid}/prices/")["Location"] == f"/prices/{draft.uuid}/"
    assert not drafts.listed(draft.made_by).exists()
    form = listed.get(f"/parcels/drafts/{draft.uuid}/")
    assert [value_of(form, name) for name in ("receiver_suburb", "weight_kg")] == ["BRUNSWICK", "1.2"]


def test_another_accounts_price_is_not_found(listed: Client, bob: Any) -> None:
    theirs = factories.draft(bob.membership.sender, bob)
    assert listed.get(f"/prices/{theirs.uuid}/").status_code == 404
    assert listed.get(f"/prices/{uuid.uuid4()}/").status_code == 404


INSIDE = {
    "item_1_description": "Cotton t-shirt",
    "item_1_value": "28.00",
    "item_1_quantity": "2",
    "item_1_origin": "bd",
    "item_1_hs_code": "6109.10.0012",
}
NO_AMOUNT = "The carrier names no amount for them before booking."


@pytest.mark.parametrize(
    ("country", "place", "shown", "to"),
    [
        ("US", "97205", "Portland 97205", "To Portland OR 97205 United States"),
        ("NZ", "Wellington 6011", "Wellington 6011", "To Wellington 6011 New Zealand"),
        ("GB", "m1 1ae Manchester", "Manchester M1 1AE", "To Manchester M1 1AE United Kingdom"),
        ("HK", "Central", "Central", "To Central Hong Kong"),
    ],
)
def test_another_country_has_prices_and_who_pays_duties(
    carrier: SandboxCarrier, listed: Client, country: str, place: str, shown: str, to: str
) -> None:
    answer = check(listed, receiver_country=country, place=place)
    said = text(answer)
    assert to in said
    assert "Receiver may be asked for duties and taxes." in said
    assert NO_AMOUNT in said
    assert "Add what's inside to see prices with duties and taxes included." in said
    assert value_of(answer, "place") == shown
    assert value_of(answer, "weight_kg") == "1.2"
    assert f'<option value="{country}" selected' in answer.content.decode()


def test_contents_typed_for_a_domestic_parcel_are_ignored(carrier: SandboxCarrier, listed: Client) -> None:
    answer = check(listed, place="3056", item_1_description="Cotton t-shirt")
    assert "To Brunswick VIC 3056" in text(answer)
    assert not Quote.objects.get().details.get("contents")


@pytest.mark.parametrize("country", ["XX", "a country"])
def test_an_unknown_country_is_refused_at_its_field_alone(listed: Client, country: str) -> None:
    answer = check(listed, receiver_country=country, place="nowhere at all")
    assert answer.status_code == 422
    assert len(messages_at(answer, "receiver_country")) == 1
    assert messages_at(answer, "place") == []
    assert value_of(answer, "place") == "nowhere at all"


def test_contents_give_the_price_with_duties_and_the_amount_of_duties(carrier: SandboxCarrier, listed: Client) -> None:
    answer = check(listed, receiver_country="US", place="97205", **INSIDE)
    said = text(answer)
    assert "Duties and taxes included – guaranteed total" in said
    assert "Duties $" in said
    assert "Add what's inside" not in said
    assert {name: value_of(answer, name) for name in INSIDE if name != "item_1_origin"} == {
        name: value for name, value in INSIDE.items() if name != "item_1_origin"
    }
    assert '<option value="US" selected' in answer.content.decode()
    form = listed.get(f"/parcels/drafts/{Draft.objects.get().uuid}/")
    assert [value_of(form, name) for name in ("item_1_value", "receiver_postcode")] == ["28.00", "97205"]


def test_a_short_code_says_what_a_price_with_duties_needs(carrier: SandboxCarrier, listed: Client) -> None:
    said = text(check(listed, receiver_country="US", place="97205", **INSIDE | {"item_1_hs_code": "6109.10"}))
    assert "It needs a 10-digit HS code for each item." in said
    assert "guaranteed total" not in said


def test_from_the_united_states_a_place_in_australia_gets_prices(carrier: SandboxCarrier, ohio: Client) -> None:
    typed = {"weight_lb": "3", "length_in": "10", "width_in": "8", "height_in": "4"}
    answer = ohio.post("/prices/", {**typed, "receiver_country": "AU", "place": "3056"}, follow=True)
    assert "To Brunswick VIC 3056 Australia" in text(answer)
    assert NO_AMOUNT in text(answer)


def test_at_home_nothing_is_said_about_duties(carrier: SandboxCarrier, listed: Client) -> None:
    said = text(check(listed, receiver_country="AU", place="3056", **INSIDE))
    assert NO_AMOUNT not in said
    assert "Receiver may be asked" not in said


@pytest.mark.parametrize(
    ("changes", "name", "found"),
    [
        ({"receiver_country": "XX"}, "receiver_country", "Choose a country on the list."),
        (
            {"receiver_country": "NZ", "place": "Wellington"},
            "place",
            "Enter both the city and the postcode: there is no list of places to look in.",
        ),
        (
            {"receiver_country": "GB", "place": "M1 1AE"},
            "place",
            "Enter both the town or city and the postcode: there is no list of places to look in.",
        ),
        ({"receiver_country": "US", "place": "Nowhere"}, "place", UNKNOWN.replace("postcode", "ZIP code")),
        ({**INSIDE, "item_1_value": ""}, "item_1_value", "Enter the value of one, more than 0."),
        (
            {**INSIDE, "item_1_origin": "Atlantis"},
            "item_1_origin",
            "Enter the country it was made in, such as Italy or IT.",
        ),
    ],
)
def test_an_error_abroad_shows_at_its_field_and_the_text_is_kept(
    listed: Client, changes: dict[str, str], name: str, found: str
) -> None:
    typed = {"receiver_country": "US", "place": "97205", **changes}
    answer = check(listed, **typed)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [found]
    kept = {one: value for one, value in typed.items() if one != "receiver_country"}
    assert {one: value_of(answer, one) for one in kept} == kept


def test_a_refusal_of_the_carrier_shows_at_the_place(carrier: SandboxCarrier, listed: Client) -> None:
    known = Locality.objects.get(suburb="BRUNSWICK")
    Locality.objects.create(
        list=known.list, country="AU", suburb="OUTLAND", state="VIC", postcode="3999", normalised="outland"
    )
    answer = check(listed, place="Outland")
    assert answer.status_code == 422
    [found] = messages_at(answer, "place")
    assert found.startswith("Suburb or postcode: ")
    assert value_of(answer, "place") == "Outland"
